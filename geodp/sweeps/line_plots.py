"""Plots of a sweep: means with 95 % intervals, readable, labelled, and safe for the colour-blind.

How a line, its axes and its files look is shared with the papers' figures.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError
from geodp.metrics import metric_of
from geodp.metrics.intervals import mean
from geodp.runs.equal_success import COLUMNS
from geodp.storage.files import write_whole

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
}
_LONGEST_LABEL = 40


def write_plots(sweep: LoadedSweep, runs: pd.DataFrame, folder: Path) -> list[Path]:
    """Draw every plot of a sweep as PNG and SVG; return the SVG files."""
    plots = sweep.sweep.plot or default_plots(runs, sweep.varied)
    folder.mkdir(exist_ok=True)
    written = []
    for plot in plots:
        across = (plot.x or x_path(runs, sweep.varied)).rsplit(".", 1)[-1]
        stem = re.sub(r"[^\w-]", "_", f"{plot.y}_by_{across}")
        written.append(save(draw_plot(runs, plot, sweep.varied), folder / stem)[1])
    return written


def default_plots(runs: pd.DataFrame, varied: list[str]) -> tuple[Plot, ...]:
    """Return the plots of a sweep that asks for none: success, and what it costs."""
    from geodp.sweeps.sweep_file import Plot

    wanted = ("success_rate", "notified_workers", "travel_distance_m")
    return tuple(Plot(y=key) for key in wanted if key in runs and runs[key].notna().any()) if varied else ()


def draw_plot(runs: pd.DataFrame, plot: Plot, varied: list[str]) -> Any:
    """Return a matplotlib figure of one metric against one varied path, with 95 % intervals over the seeds."""
    if plot.y not in runs:
        raise UsageError(f"no metric called '{plot.y}' in this sweep")
    x = plot.x or x_path(runs, varied)
    lines = plot.lines or next((path for path in varied if path != x and runs[path].nunique(dropna=False) > 1), None)
    good = runs[runs["status"] == "ok"]
    figure, ((axes,),) = empty_axes(1, 1, (6.4, 4.4))
    groups = [(None, good)] if lines is None else list(good.groupby(lines, sort=True, dropna=False))
    for number, (value, own) in enumerate(groups):
        draw_line(axes, own[x], own[plot.y], number, None if value is None else _short(value))
    axes.set_title(as_words(plot.title or f"{plot.y} against {x.rsplit('.', 1)[-1]}"), loc="left", fontsize=12)
    label_axes(axes, plot.x_label or x, plot.y_label or with_unit(plot.y), log_x=plot.log_x, log_y=plot.log_y)
    if lines is not None:
        axes.legend(title=as_words(lines.rsplit(".", 1)[-1]), frameon=False)
    return figure


def empty_axes(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return a figure and its axes, by row and column, in the usual style; no screen is needed."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        return plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)


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
        at if numeric else [_short(place) for place in at],
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


def save(figure: Any, stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG; the same figure gives the same bytes."""
    import matplotlib.pyplot as plt

    written = []
    with plt.rc_context(STYLE):
        for suffix in ("png", "svg"):
            path = stem.with_name(f"{stem.name}.{suffix}")  # names hold dots, so the suffix is added, not replaced
            write_whole(path, partial(figure.savefig, dpi=130, metadata={"Date": None} if suffix == "svg" else None))
            written.append(path)
    plt.close(figure)
    return written


def with_unit(key: str) -> str:
    """Return a metric's name with its unit."""
    cls = metric_of(key)
    unit = COLUMNS.get(key, "") if cls is None else cls.unit_of(key)
    return f"{key} ({unit})" if unit else key


def _short(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return as_words(text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 3] + "…")


def as_words(text: str) -> str:
    """Return a text that matplotlib shows as written: between two dollars it would read a formula."""
    return text.replace("$", r"\$")


def x_path(runs: pd.DataFrame, varied: list[str]) -> str:
    """Return the varied path that suits the horizontal axis: the first numeric one that varies."""
    import pandas as pd

    several = [path for path in varied if runs[path].nunique(dropna=False) > 1]
    numeric = [path for path in several if pd.api.types.is_numeric_dtype(runs[path])]
    return (numeric or several or varied)[0]
