"""Lines with 95 % intervals: a column of axes per data set, a row per quantity."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.metrics.intervals import mean
from geodp.storage.files import write_whole
from geodp.sweeps.line_plots import COLOURS, MARKERS, as_words, with_unit
from geodp.sweeps.line_plots import STYLE as SWEEP_STYLE

if TYPE_CHECKING:
    import pandas as pd

    from geodp.figures.figure_file import FigureFile

STYLE: dict[Any, Any] = {**SWEEP_STYLE, "axes.titlesize": 11}
PANELS_ACROSS = 4
"""More data sets than this go on below: a page is only so wide."""


def lines_figure(file: FigureFile, points: Mapping[str, pd.DataFrame]) -> Any:
    """Draw every panel's lines through the means of their repetitions."""
    quantities = list(dict.fromkeys(name for own in points.values() for name in own["y_name"]))
    drawn, grid = panel_axes(file, len(quantities), list(points))
    lines = list(dict.fromkeys(line for own in points.values() for line in own["line"]))
    for column, own in enumerate(points.values()):
        for row, quantity in enumerate(quantities):
            axes = grid[row][column]
            part = own[own["y_name"] == quantity]
            for number, line in enumerate(lines):
                _line(axes, part[part["line"] == line], number, line, dashed=line in file.section.axes.dashed)
            label_axes(axes, file, quantity, first=column % PANELS_ACROSS == 0, last=row == len(quantities) - 1)
    handles, labels = grid[0][0].get_legend_handles_labels()
    if any(labels):
        place = "outside lower center"
        drawn.legend(
            handles, labels, loc=place, ncols=_columns(labels, 6.2 * min(len(points), PANELS_ACROSS)), frameon=False
        )
    return drawn


def panel_axes(file: FigureFile, rows: int, panels: list[str]) -> tuple[Any, Any]:
    """Return a figure and its axes, by row and panel: a column per panel, titled after it; many panels go on below."""
    import math

    import matplotlib as mpl
    import numpy as np

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    across = min(len(panels), PANELS_ACROSS)
    blocks = math.ceil(len(panels) / across)
    with plt.rc_context(STYLE):
        size = (max(6.2 * across, 6.4), 3.6 * rows * blocks + 1.2)
        drawn, places = plt.subplots(rows * blocks, across, figsize=size, layout="constrained", squeeze=False)
    grid = np.concatenate([places[block * rows : (block + 1) * rows] for block in range(blocks)], axis=1)
    for unused in grid[:, len(panels) :].flat:
        unused.remove()
    grid = grid[:, : len(panels)]
    title = f"{file.id}  {file.section.title}"
    drawn.suptitle(as_words(title), x=0.01, ha="left", fontsize=13, wrap=True)
    for column, name in enumerate(panels):
        shown = file.section.panels[name].title or name
        grid[0][column].set_title(as_words(shown), loc="left", fontsize=11)
    return drawn, grid


def label_axes(axes: Any, file: FigureFile, quantity: str, *, first: bool = True, last: bool = True) -> None:
    """Label the axes of one quantity and give them their scales."""
    settings = file.section.axes
    if last:
        axes.set_xlabel(as_words(settings.x or getattr(file.section.make, "x", "x")))
    if first:
        axes.set_ylabel(as_words(settings.y.get(quantity) or with_unit(quantity)))
    if settings.log_x:
        axes.set_xscale("log")
    if settings.log_y:
        axes.set_yscale("log")
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def save(drawn: Any, stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG."""
    import matplotlib.pyplot as plt

    written = []
    with plt.rc_context(STYLE):
        for suffix in ("png", "svg"):
            path = stem.with_name(f"{stem.name}.{suffix}")  # ids hold dots, so the suffix is added, not replaced
            write_whole(path, partial(drawn.savefig, dpi=130, metadata={"Date": None} if suffix == "svg" else None))
            written.append(path)
    plt.close(drawn)
    return written


def _line(axes: Any, own: pd.DataFrame, number: int, label: str, *, dashed: bool) -> None:
    places, middle, below, above = [], [], [], []
    numeric = not any(isinstance(place, str) for place in own["x"])
    for place, cell in own.groupby("x", sort=numeric):
        measured = mean(cell["y"].dropna())
        if measured.value is not None:
            places.append(place)
            middle.append(measured.value)
            below.append(measured.value - (measured.value if measured.low is None else measured.low))
            above.append((measured.value if measured.high is None else measured.high) - measured.value)
    if places:
        axes.errorbar(
            places,
            middle,
            yerr=(below, above),
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            linestyle=("--" if dashed else "-") if numeric else "none",
            capsize=3,
            markersize=5,
            label=as_words(label),
        )


def _columns(labels: list[str], width: float) -> int:
    """Return how many entries of a legend fit side by side."""
    longest = max(len(label) for label in labels)
    return max(1, min(len(labels), int(width / (0.09 * longest + 0.7))))
