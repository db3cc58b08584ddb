"""Figures of a sweep: means with 95 % intervals, readable, labelled, and safe for the colour-blind."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError
from geodp.metrics.intervals import mean
from geodp.registry import plugins
from geodp.storage.files import write_whole
from geodp.sweeps.sweep_file import LoadedSweep, Plot

if TYPE_CHECKING:
    import pandas as pd

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""Okabe and Ito's palette."""
MARKERS = "osD^vP*X"
STYLE: dict[Any, Any] = {
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "geodp",
}


def write_figures(sweep: LoadedSweep, runs: pd.DataFrame, folder: Path) -> list[Path]:
    """Draw every figure of a sweep as PNG and SVG; return the SVG files."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plots = sweep.sweep.plot or default_plots(runs, sweep.varied)
    folder.mkdir(exist_ok=True)
    written = []
    for plot in plots:
        drawn = figure(runs, plot, sweep.varied)
        across = (plot.x or x_path(runs, sweep.varied)).rsplit(".", 1)[-1]
        stem = re.sub(r"[^\w-]", "_", f"{plot.y}_by_{across}")
        with plt.rc_context(STYLE):
            for suffix in ("png", "svg"):
                save = partial(drawn.savefig, metadata={"Date": None} if suffix == "svg" else None)
                write_whole(folder / f"{stem}.{suffix}", save)
        plt.close(drawn)
        written.append(folder / f"{stem}.svg")
    return written


def default_plots(runs: pd.DataFrame, varied: list[str]) -> tuple[Plot, ...]:
    """Return the figures of a sweep that asks for none: success, and what it costs."""
    wanted = ("success_rate", "notified_workers", "travel_distance_m")
    return tuple(Plot(y=key) for key in wanted if key in runs and runs[key].notna().any()) if varied else ()


def figure(runs: pd.DataFrame, plot: Plot, varied: list[str]) -> Any:
    """Return a matplotlib figure of one metric against one varied path, with 95 % intervals over the seeds."""
    import matplotlib.pyplot as plt

    if plot.y not in runs:
        raise UsageError(f"no metric called '{plot.y}' in this sweep")
    x = plot.x or x_path(runs, varied)
    lines = plot.lines or next((path for path in varied if path != x and runs[path].nunique(dropna=False) > 1), None)
    good = runs[runs["status"] == "ok"]
    with plt.rc_context(STYLE):
        drawn, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
        groups = [(None, good)] if lines is None else list(good.groupby(lines, sort=True, dropna=False))
        for number, (value, own) in enumerate(groups):
            _line(axes, own, x, plot.y, number, None if value is None else _short(value))
        _label(axes, plot, x, lines)
    return drawn


def _line(axes: Any, own: pd.DataFrame, x: str, y: str, number: int, label: str | None) -> None:
    points = []
    for value, cell in own.groupby(x, sort=True, dropna=False):
        measured = mean(cell[y].dropna())
        if measured.value is not None:
            low = measured.value if measured.low is None else measured.low
            high = measured.value if measured.high is None else measured.high
            points.append((value, measured.value, measured.value - low, high - measured.value))
    if not points:
        return
    at, middle, below, above = zip(*points, strict=True)
    numeric = all(isinstance(value, int | float) for value in at)
    axes.errorbar(
        at if numeric else [_short(value) for value in at],
        middle,
        yerr=(below, above),
        color=COLOURS[number % len(COLOURS)],
        marker=MARKERS[number % len(MARKERS)],
        linestyle="-" if numeric else "none",
        capsize=3,
        label=label,
    )


def _label(axes: Any, plot: Plot, x: str, lines: str | None) -> None:
    axes.set_xlabel(as_words(plot.x_label or x))
    axes.set_ylabel(as_words(plot.y_label or with_unit(plot.y)))
    axes.set_title(as_words(plot.title or f"{plot.y} against {x.rsplit('.', 1)[-1]}"), loc="left", fontsize=12)
    if plot.log_x:
        axes.set_xscale("log")
    if plot.log_y:
        axes.set_yscale("log")
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    if lines is not None:
        axes.legend(title=as_words(lines.rsplit(".", 1)[-1]), frameon=False)


def with_unit(key: str) -> str:
    """Return a metric's name with its unit."""
    cls = plugins("metric").get(key)
    unit = getattr(cls, "unit", "") if cls is not None else ""
    return f"{key} ({unit})" if unit else key


def _short(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return as_words(text if len(text) <= 40 else text[:37] + "…")


def as_words(text: str) -> str:
    """Return a text that matplotlib shows as written: between two dollars it would read a formula."""
    return text.replace("$", r"\$")


def x_path(runs: pd.DataFrame, varied: list[str]) -> str:
    """Return the varied path that suits the horizontal axis: the first numeric one that varies."""
    import pandas as pd

    several = [path for path in varied if runs[path].nunique(dropna=False) > 1]
    numeric = [path for path in several if pd.api.types.is_numeric_dtype(runs[path])]
    return (numeric or several or varied)[0]
