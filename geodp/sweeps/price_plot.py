"""Utility and price against epsilon, side by side: what a fixed target shows, and what equal success costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geodp.sweeps.line_plots import COLOURS, as_words, empty_axes, label_axes

if TYPE_CHECKING:
    from geodp.metrics.intervals import Measured
    from geodp.sweeps.advise_within import PriceAdvice

_GOOD, _ANSWER = "#009E73", "#000000"
_RATIOS = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5, 1.75, 2, 2.5, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100)
_LABELS = 9  # on an axis, at most


def draw_price(advice: PriceAdvice) -> Any:
    """Return a figure of two panels: success (at a fixed target, and equal), and the ratio of workers asked."""
    figure, ((left, right),) = empty_axes(1, 2, (10.4, 4.6))
    _draw_success(left, advice)
    _draw_ratio(right, advice)
    for axes in (left, right):
        _set_epsilons(axes, advice)
        if advice.answer is not None:
            axes.axvline(advice.answer.value, color=_ANSWER, linewidth=1, linestyle=":")
    return figure


def _draw_success(axes: Any, advice: PriceAdvice) -> None:
    fixed = [(one.value, one.average("fixed_success")) for one in advice.tried]
    equal = [(one.value, one.average("expected_at_success")) for one in advice.tried if not one.missed]
    _draw_means(axes, fixed, 1, f"at a fixed target of {advice.success:g}", dashed=True)
    _draw_means(axes, equal, 0, "target moved until it is equal")
    axes.set_title("Utility: expected success", loc="left", fontsize=12)
    label_axes(axes, advice.path, "expected success (share)", log_x=False, log_y=False)
    axes.legend(frameon=False, fontsize=9)


def _draw_ratio(axes: Any, advice: PriceAdvice) -> None:
    shown = [one for one in advice.tried if not one.missed]
    ends = [1.0, (1 + advice.within) ** 2, *(end for one in shown for end in one.ratio.ends())]
    low, high = min(ends) / 1.05, max(ends) * 1.15
    bound = f"within {100 * advice.within:g} % of exact counts"
    axes.axhspan(low, 1 + advice.within, color=_GOOD, alpha=0.12, linewidth=0)
    axes.axhline(1 + advice.within, color=_GOOD, linewidth=1, label=as_words(bound))
    _draw_means(axes, [(one.value, one.ratio) for one in shown], 0, "price, with its 95 % interval")
    label_axes(axes, advice.path, f"ratio at expected success {advice.success:g}", log_x=False, log_y=True)
    axes.set_ylim(low, high)
    _set_ticks(axes.yaxis, [ratio for ratio in _RATIOS if low <= ratio <= high])
    for one in advice.tried:
        if one.missed:
            axes.annotate("∞", (one.value, high), xytext=(0, -4), textcoords="offset points", ha="center", va="top")
    if advice.answer is not None:
        axes.annotate(
            f"{advice.answer.value:.3g}",
            (advice.answer.value, low),
            xytext=(5, 8),
            textcoords="offset points",
            fontweight="bold",
        )
    axes.set_title("Price: workers asked, exact counts = 1", loc="left", fontsize=12)
    axes.legend(frameon=False, fontsize=9, loc="upper right")


def _draw_means(
    axes: Any, points: list[tuple[float, Measured]], number: int, label: str, *, dashed: bool = False
) -> None:
    known = [(at, measured.value, *measured.ends()) for at, measured in points if measured.value is not None]
    if not known:
        return
    at, middle, low, high = zip(*known, strict=True)
    below = [value - end for value, end in zip(middle, low, strict=True)]
    above = [end - value for value, end in zip(middle, high, strict=True)]
    axes.errorbar(
        at,
        middle,
        yerr=(below, above),
        color=COLOURS[number],
        marker="os"[number],
        linestyle="--" if dashed else "-",
        capsize=3,
        markersize=5,
        label=as_words(label),
    )


def _set_epsilons(axes: Any, advice: PriceAdvice) -> None:
    """Give both panels the same values across, written as people write them."""
    low, high = advice.tried[0].value, advice.tried[-1].value
    if low <= 0:
        return
    axes.set_xscale("log")
    axes.set_xlim(low / (high / low) ** 0.05, high * (high / low) ** 0.05)
    steps = [digit * 10.0**power for power in range(-9, 6) for digit in (1, 2, 3, 5)]
    inside = [step for step in steps if low * 0.999 <= step <= high * 1.001]
    if len(inside) > _LABELS:
        inside = [step for step in inside if f"{step:e}"[0] in "13"]
    _set_ticks(axes.xaxis, inside)


def _set_ticks(axis: Any, places: list[float]) -> None:
    """Label these places of a logarithmic axis, thinned out, and no others."""
    from matplotlib.ticker import NullFormatter, NullLocator

    every = -(-len(places) // _LABELS)
    axis.set_ticks(places[::every] if 1 not in places else places[places.index(1) % every :: every])
    axis.set_ticklabels([f"{place:g}" for place in axis.get_ticklocs()])
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
