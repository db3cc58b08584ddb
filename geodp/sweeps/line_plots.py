"""Plots of a sweep: means with 95 % intervals, readable, labelled, and safe for the colour-blind.

How a line, its axes and its files look is shared with the papers' figures.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError
from geodp.metrics.intervals import Measured, mean
from geodp.pages.labels import NOT_SET, capitalise, find_label, find_labels
from geodp.storage.files import write_whole
from geodp.sweeps.series import PlottedData, PlottedLine, PlottedPanel, choose_x, find_panels

if TYPE_CHECKING:
    import pandas as pd

    from geodp.sweeps.sweep_file import LoadedSweep, Plot

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""Okabe and Ito's palette."""
MARKERS = "osD^vP*X"
STYLE: dict[Any, Any] = {
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "geodp",
    "pdf.fonttype": 42,
}
FORMATS = ("png", "svg", "pdf")
_LONGEST_LABEL = 40
_LEVEL_COLOUR = "#555555"
_MOST_TICKS = 9


@dataclass(frozen=True)
class PlotSize:
    """How large a plot is, and its letters."""

    width: float
    """Of the whole plot, inches; on a screen of one panel."""
    height: float
    """Of one row of panels, inches."""
    across: int
    """Panels side by side, at most."""
    points: float
    """Size of letters; ticks and legends are one smaller."""
    dots_per_inch: int
    grows: bool
    """Whether several panels make it wider."""


SIZES = {
    "screen": PlotSize(6.4, 4.3, across=3, points=11, dots_per_inch=130, grows=True),
    "column": PlotSize(3.39, 2.45, across=1, points=8, dots_per_inch=300, grows=False),
    "page": PlotSize(7.09, 2.7, across=3, points=8, dots_per_inch=300, grows=False),
}
"""A screen, and the column and the page of a two-column paper (86 and 180 mm)."""
_SERIF: dict[Any, Any] = {"font.family": "STIXGeneral", "mathtext.fontset": "stix"}


@dataclass(frozen=True)
class DrawnPlot:
    """A plot of a sweep as it was drawn."""

    svg: bytes
    """For a page: as large as a screen's, on no ground."""
    caption: str
    files: tuple[Path, ...]
    is_wide: bool
    """Whether it has several panels side by side."""


def write_plots(sweep: LoadedSweep, runs: pd.DataFrame, folder: Path) -> list[DrawnPlot]:
    """Draw every plot of a sweep into files of the formats it asks for."""
    folder.mkdir(exist_ok=True)
    plots: list[DrawnPlot] = []
    stems: set[str] = set()
    for plot in list_plots(sweep, runs):
        across = (plot.x or choose_x(runs, sweep.varied)).rsplit(".", 1)[-1]
        stem = re.sub(r"[^\w-]", "_", f"{plot.y}_by_{across}")
        while stem in stems:
            stem += "_more"
        stems.add(stem)
        figure = draw_plot(runs, plot, sweep.varied)
        files = save(figure, folder / stem, plot.formats)
        shown = figure if plot.size == "screen" else draw_plot(runs, plot.model_copy(update=_ON_SCREEN), sweep.varied)
        wide = len({axes.get_position().x0 for axes in shown.axes}) > 1
        plots.append(DrawnPlot(draw_svg(shown), _describe(runs, plot, sweep.varied), tuple(files), wide))
    return plots


_ON_SCREEN = {"size": "screen", "font": "sans"}


def _describe(runs: pd.DataFrame, plot: Plot, varied: list[str]) -> str:
    """Say what a plot shows, for those who cannot see it, too."""
    x = plot.x or choose_x(runs, varied)
    labels = find_labels([x, plot.y])
    text = f"{labels[plot.y].words} against {labels[x].words}"
    whole = "each point is a cell, with 95 % intervals in both directions" if x not in varied else "95 % intervals"
    return f"{capitalise(text)}; means over seeds, {whole}."


def list_plots(sweep: LoadedSweep, runs: pd.DataFrame) -> tuple[Plot, ...]:
    """Return the plots that a sweep asks for and has numbers for, or the usual ones."""
    asked = sweep.sweep.plot or default_plots(runs, sweep.varied)
    names = set(runs.columns)
    return tuple(plot for plot in asked if plot.y in names and (plot.x is None or plot.x in names))


def default_plots(runs: pd.DataFrame, varied: list[str]) -> tuple[Plot, ...]:
    """Return the plots of a sweep that asks for none: success, and what it costs, apart and against each other."""
    from geodp.sweeps.sweep_file import Plot

    def has(key: str) -> bool:
        return key in runs and bool(runs[key].notna().any())

    wanted = ("success_rate", "notified_workers", "cost_at_success", "travel_distance_m", "attack_error_m")
    plots = [Plot(y=key) for key in wanted if has(key)]
    cost = "cost_at_success" if has("cost_at_success") else "notified_workers"
    gain = "attack_error_m" if has("attack_error_m") else "success_rate"
    if has(cost) and has(gain):
        plots.append(Plot(y=gain, x=cost))
    return tuple(plots) if varied else ()


def draw_plot(runs: pd.DataFrame, plot: Plot, varied: list[str]) -> Any:
    """Return a matplotlib figure of a metric against a varied path or a metric, with 95 % intervals over the seeds."""
    data = find_panels(runs, varied, x=plot.x, y=plot.y, lines=plot.lines, along=plot.along)
    size = SIZES[plot.size]
    rows, columns = _arrange(len(data.panels), size)
    width = size.width if columns == 1 or not size.grows else 4.6 * columns
    with use_style(plot.size, plot.font):
        figure = make_figure((width, size.height * rows), dots_per_inch=size.dots_per_inch, look=(plot.size, plot.font))
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        order = list(dict.fromkeys(line.label for panel in data.panels for line in panel.lines if not line.level))
        levels = list(dict.fromkeys(line.label for panel in data.panels for line in panel.lines if line.level))
        for place, panel in enumerate(data.panels):
            axes = grid[place // columns][place % columns]
            _draw_panel(axes, panel, order, levels, size)
            last = place + columns >= len(data.panels)
            _finish_axes(axes, data, plot, across=last, up=place % columns == 0)
        for place in range(len(data.panels), rows * columns):
            grid[place // columns][place % columns].remove()
        _place_legend(figure, data, plot, size, width)
    return figure


def _arrange(panels: int, size: PlotSize) -> tuple[int, int]:
    columns = max(1, min(panels, size.across, 2 if panels == 4 else panels))
    return math.ceil(max(panels, 1) / columns), columns


def _draw_panel(axes: Any, panel: PlottedPanel, order: list[str], levels: list[str], size: PlotSize) -> None:
    if panel.title:
        axes.set_title(as_words(panel.title), loc="left", fontsize=size.points)
    for line in panel.lines:
        if line.level:
            _draw_level(axes, line, levels.index(line.label))
        else:
            _draw_points(axes, line, order.index(line.label), size)


def _draw_points(axes: Any, line: PlottedLine, number: int, size: PlotSize) -> None:
    words = any(isinstance(point.x, str) for point in line.points)
    across = [point.x if isinstance(point.x, str) else point.x.value for point in line.points]
    places = [point.x for point in line.points if isinstance(point.x, Measured)]
    axes.errorbar(
        [shorten(place) if isinstance(place, str) else place for place in across],
        [point.y.value for point in line.points],
        xerr=None if words or all(place.low is None for place in places) else _reach(places),
        yerr=_reach([point.y for point in line.points]),
        color=COLOURS[number % len(COLOURS)],
        marker=MARKERS[number % len(MARKERS)],
        linestyle="none" if words else "-",
        capsize=2 if size.points < 10 else 3,
        markersize=3.5 if size.points < 10 else 5,
        linewidth=1 if size.points < 10 else 1.4,
        label=as_words(line.label) or None,
    )
    for point in line.points:
        if point.name and point.name != NOT_SET and not words:
            axes.annotate(
                as_words(shorten(point.name)),
                (point.x.value if isinstance(point.x, Measured) else point.x, point.y.value),
                xytext=(4, 4),
                textcoords="offset points",
                fontsize=size.points - 2,
                color=COLOURS[number % len(COLOURS)],
            )


def _reach(measured: Sequence[Measured]) -> tuple[list[float], list[float]]:
    """Return how far intervals reach below and above their values."""
    ends = [(float(one.value or 0.0), *one.ends()) for one in measured]
    return [value - low for value, low, _ in ends], [high - value for value, _, high in ends]


def _draw_level(axes: Any, line: PlottedLine, number: int) -> None:
    """Draw what has no place across from side to side, with its interval as a band."""
    measured = line.points[0].y
    low, high = measured.ends()
    axes.axhspan(low, high, color=_LEVEL_COLOUR, alpha=0.13, linewidth=0)
    style = ("--", ":", "-.")[number % 3]
    axes.axhline(measured.value, color=_LEVEL_COLOUR, linestyle=style, linewidth=1.2, label=as_words(line.label))


def _finish_axes(axes: Any, data: PlottedData, plot: Plot, *, across: bool, up: bool) -> None:
    label_axes(
        axes,
        (plot.x_label or _axis_label(data.x)) if across else "",
        (plot.y_label or _axis_label(data.y)) if up else "",
        log_x=plot.log_x,
        log_y=plot.log_y,
    )
    if across:
        axes.tick_params(labelbottom=True)
    points = [point for panel in data.panels for line in panel.lines if not line.level for point in line.points]
    places = sorted({point.x.value for point in points if isinstance(point.x, Measured) and point.x.value is not None})
    if (
        plot.log_x
        and data.x not in (None, data.y)
        and all(p.x.low is None for p in points if isinstance(p.x, Measured))
    ):
        _set_ticks(axes.xaxis, places)
    for axis, name, log in ((axes.xaxis, data.x, plot.log_x), (axes.yaxis, data.y, plot.log_y)):
        if find_label(name).unit == "share" and not log and _has_shares(axis):
            from matplotlib.ticker import PercentFormatter

            axis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    words = [point.x for point in points if isinstance(point.x, str)]
    if words and max(map(len, words)) * len(set(words)) > 40:
        axes.tick_params(axis="x", rotation=30)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")


def _has_shares(axis: Any) -> bool:
    from matplotlib.ticker import ScalarFormatter

    return isinstance(axis.get_major_formatter(), ScalarFormatter)


def _axis_label(name: str) -> str:
    label = find_label(name)
    return label.words if label.unit == "share" else str(label)


def _set_ticks(axis: Any, places: list[float]) -> None:
    """Write the values that were tried on a logarithmic axis, and no others."""
    from matplotlib.ticker import NullFormatter, NullLocator

    every = -(-len(places) // _MOST_TICKS)
    shown = places[::every]
    axis.set_ticks(shown)
    axis.set_ticklabels([f"{place:g}" for place in shown])
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def _write_title(data: PlottedData, plot: Plot, size: PlotSize, width: float) -> str:
    """Return the title of a plot, in lines that fit; on paper the caption says it."""
    text = plot.title
    if not text and size.grows:
        words = find_labels([data.x, data.y])
        text = f"{words[data.y].words} against {words[data.x].words}"
        text = capitalise(text)
    if data.pooled:
        over = ", ".join(label.words for label in find_labels(data.pooled).values())
        text = f"{text}\nmean over all values of: {over}" if text else f"Mean over all values of: {over}"
    return _wrap(text, size.points + 1, width)


def _wrap(text: str, points: float, width: float) -> str:
    """Break lines so that letters of this size fit into a width in inches."""
    signs = max(12, int(width / (points / 72 * 0.56)))
    return "\n".join(part for line in text.splitlines() for part in textwrap.wrap(line, signs))


def _place_legend(figure: Any, data: PlottedData, plot: Plot, size: PlotSize, width: float) -> None:
    """Put title and legend above the axes, one under the other, where they hide nothing."""
    found: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    title = _write_title(data, plot, size, width)
    if not found:
        if title:
            figure.suptitle(as_words(title), x=0.01, ha="left", fontsize=size.points + 1)
        return
    names = list(find_labels(data.lines).values())
    head = " · ".join(label.words for label in names)
    if data.along is not None:
        head = f"{head}; numbers at points: {find_label(data.along).words}".removeprefix("; ")
    head = _wrap(head, size.points, width)
    longest = max(len(label) for label in found)
    columns = max(1, min(len(found), int(width / (size.points / 72 * (0.55 * longest + 4)))))
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        title=as_words("\n".join(part for part in (title, head) if part)) or None,
        fontsize=size.points - 1,
        title_fontsize=size.points if title else size.points - 1,
        alignment="left",
    )


def use_style(size: str = "screen", font: str = "sans") -> AbstractContextManager[None]:
    """Return a context in which matplotlib has our letters and lines; it changes nothing outside."""
    import matplotlib as mpl

    points = SIZES[size].points
    small = {"xtick.labelsize": points - 1, "ytick.labelsize": points - 1} if points < 10 else {}
    thin = {"axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6} if points < 10 else {}
    return mpl.rc_context(STYLE | {"font.size": points} | small | thin | (_SERIF if font == "serif" else {}))


def make_figure(
    size: tuple[float, float], *, dots_per_inch: int = 130, look: tuple[str, str] = ("screen", "sans")
) -> Any:
    """Return an empty figure that saves itself in our style, shows itself in notebooks, and needs no screen."""
    from geodp.sweeps.paper_figure import PaperFigure

    figure = PaperFigure(figsize=size, layout="constrained", dpi=dots_per_inch)
    figure.look = look
    return figure


def empty_axes(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return a figure and its axes, by row and column, in the usual style; no screen is needed."""
    with use_style():
        figure = make_figure(size)
        return figure, figure.subplots(rows, columns, squeeze=False)


def draw_line(
    axes: Any, x: pd.Series[Any], y: pd.Series[Any], number: int, label: str | None, *, dashed: bool = False
) -> None:
    """Draw the mean of y at every x, with its 95 % interval; places that are no numbers stay unconnected."""
    numeric = not any(isinstance(place, str) for place in x)
    points = []
    for place, own in y.groupby(x, sort=numeric, dropna=False):
        measured = mean(own.dropna())
        if measured.value is not None:
            low, high = measured.ends()
            points.append((place, measured.value, measured.value - low, high - measured.value))
    if not points:
        return
    at, middle, below, above = zip(*points, strict=True)
    axes.errorbar(
        at if numeric else [shorten(place) for place in at],
        middle,
        yerr=(below, above),
        color=COLOURS[number % len(COLOURS)],
        marker=MARKERS[number % len(MARKERS)],
        linestyle=("--" if dashed else "-") if numeric else "none",
        capsize=3,
        markersize=5,
        label=label,
    )


def label_axes(axes: Any, x: str, y: str, *, log_x: bool, log_y: bool) -> None:
    """Label the axes ('': no label) and give them their scales and a grid."""
    axes.set_xlabel(as_words(x))
    axes.set_ylabel(as_words(y))
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def save(figure: Any, stem: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write a figure in some formats; the same figure gives the same bytes."""
    written = []
    for suffix in formats:
        path = stem.with_name(f"{stem.name}.{suffix}")  # names hold dots, so the suffix is added, not replaced
        write_whole(path, partial(figure.savefig, format=suffix))
        written.append(path)
    return written


def save_as(figure: Any, path: str | Path) -> list[Path]:
    """Write a figure to the file that is named, or, where it names no format, to PNG, SVG and PDF files."""
    path = Path(path)
    suffix = path.suffix.removeprefix(".").lower()
    if suffix in FORMATS:
        return save(figure, path.with_suffix(""), (suffix,))
    if suffix and re.fullmatch(r"[a-z]{2,4}", suffix):
        raise UsageError(
            f"{path}: a plot is saved as {', '.join(FORMATS)}, not .{suffix}; without an ending: as all three"
        )
    return save(figure, path, FORMATS)


def draw_svg(figure: Any) -> bytes:
    """Return a figure as SVG, on no ground."""
    held = io.BytesIO()
    figure.savefig(held, format="svg", transparent=True)
    return held.getvalue()


def with_unit(key: str) -> str:
    """Return a metric's words with its unit."""
    return str(find_label(key))


def shorten(value: Any) -> str:
    """Return a value that leaves room for others on an axis."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return as_words(text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 3] + "…")


def as_words(text: str) -> str:
    """Return a text that matplotlib shows as written: between two dollars it would read a formula."""
    return text.replace("$", r"\$")
