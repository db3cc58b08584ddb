"""Lines with 95 % intervals: a column of axes per data set, a row per quantity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from geodp.figures.figure_file import FigureFile

PANELS_ACROSS = 4
"""More data sets than this go on below: a page is only so wide."""


def lines_figure(file: FigureFile, points: Mapping[str, pd.DataFrame]) -> Any:
    """Draw every panel's lines through the means of their repetitions."""
    from geodp.sweeps.line_plots import as_words, draw_line, label_axes, with_unit

    quantities = list(dict.fromkeys(name for own in points.values() for name in own["y_name"]))
    figure, grid = panel_axes(file, len(quantities), list(points))
    lines = list(dict.fromkeys(line for own in points.values() for line in own["line"]))
    look = file.section.axes
    for column, own in enumerate(points.values()):
        for row, quantity in enumerate(quantities):
            for number, line in enumerate(lines):
                part = own[(own["y_name"] == quantity) & (own["line"] == line)]
                draw_line(grid[row][column], part["x"], part["y"], number, as_words(line), dashed=line in look.dashed)
            across = look.x or getattr(file.section.make, "x", "x") if row == len(quantities) - 1 else ""
            along = look.y.get(quantity) or with_unit(quantity) if column % PANELS_ACROSS == 0 else ""
            label_axes(grid[row][column], across, along, log_x=look.log_x, log_y=look.log_y)
            if look.log_y and (own.loc[own["y_name"] == quantity, "y"] == 0).any():
                grid[row][column].set_yscale("symlog", linthresh=1)  # a count of nothing is a value, too
    named = {
        label: handle
        for axes in grid.flat
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        if label
    }
    if named:
        columns = _columns(list(named), 6.2 * min(len(points), PANELS_ACROSS))
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=columns, frameon=False)
    return figure


def panel_axes(file: FigureFile, rows: int, panels: list[str]) -> tuple[Any, Any]:
    """Return a figure and its axes, by row and panel: a column per panel, titled after it; many panels go on below."""
    import numpy as np

    from geodp.sweeps.line_plots import as_words, empty_axes

    across = min(len(panels), PANELS_ACROSS)
    blocks = math.ceil(len(panels) / across)
    figure, places = empty_axes(rows * blocks, across, (max(6.2 * across, 6.4), 3.6 * rows * blocks + 1.2))
    grid = np.concatenate([places[block * rows : (block + 1) * rows] for block in range(blocks)], axis=1)
    for unused in grid[:, len(panels) :].flat:
        unused.remove()
    grid = grid[:, : len(panels)]
    title_figure(figure, file)
    for column, name in enumerate(panels):
        shown = file.section.panels[name].title or name
        grid[0][column].set_title(as_words(shown), loc="left", fontsize=11)
    return figure, grid


def each_panel(file: FigureFile, points: Mapping[str, pd.DataFrame]) -> tuple[Any, Iterator[tuple[Any, pd.DataFrame]]]:
    """Return a figure with one row of axes, and the axes and points of each panel."""
    figure, grid = panel_axes(file, 1, list(points))
    return figure, zip(grid[0], points.values(), strict=True)


def title_figure(figure: Any, file: FigureFile) -> None:
    """Write the figure's id and title above it."""
    from geodp.sweeps.line_plots import as_words

    title = f"{file.id}  {file.section.title}"
    figure.suptitle(as_words(title), x=0.01, ha="left", fontsize=13, wrap=True)


def _columns(labels: list[str], width: float) -> int:
    """Return how many entries of a legend fit side by side."""
    longest = max(len(label) for label in labels)
    return max(1, min(len(labels), int(width / (0.09 * longest + 0.7))))
