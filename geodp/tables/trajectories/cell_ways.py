"""Which cells of a grid a trajectory passes, in order: the straight lines between its points count, too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Grid
from geodp.tables.trajectories.table import Integers, Trajectories

_STEPS_AT_ONCE = 1 << 17


def cell_ways(trajectories: Trajectories, grid: Grid) -> tuple[Integers, Integers]:
    """Return offsets and the cells of every trajectory, in order, without immediate repeats.

    A step to another cell passes through all cells that its straight line crosses. Points beyond the grid count as
    those on its nearest edge.
    """
    x = np.clip((trajectories.x_m - grid.west_m) / grid.cell_x_m, 0, grid.columns)
    y = np.clip((trajectories.y_m - grid.south_m) / grid.cell_y_m, 0, grid.rows)
    column = np.minimum(np.floor(x), grid.columns - 1).astype(np.int64)
    row = np.minimum(np.floor(y), grid.rows - 1).astype(np.int64)
    cell = row * grid.columns + column
    changes = np.flatnonzero((np.diff(cell) != 0) & ~trajectories.starts[1:]) if cell.size else np.empty(0, np.int64)
    steps, cells = [trajectories.first[:-1]], [cell[trajectories.first[:-1]]]
    for begin in range(0, changes.size, _STEPS_AT_ONCE):
        step = changes[begin : begin + _STEPS_AT_ONCE]
        which, passed = _find_entered(x=x, y=y, column=column, row=row, step=step, grid=grid)
        steps.append(step[which])
        cells.append(passed)
    step, passed = np.concatenate(steps), np.concatenate(cells)
    # A trajectory's first cell stands at its first point's number: stable, so before the steps from that point.
    order = np.argsort(step, kind="stable")
    step, passed = step[order], passed[order]
    owner = np.searchsorted(trajectories.first, step, side="right") - 1
    new = np.append(True, (np.diff(passed) != 0) | (np.diff(owner) != 0)) if passed.size else np.empty(0, np.bool_)
    counts = np.bincount(owner[new], minlength=trajectories.size)
    return np.append(0, np.cumsum(counts)), passed[new]


def windows(first: Integers, cells: Integers, length: int, base: int) -> Integers:
    """Return the code of every run of `length` cells within a trajectory: its cells as digits to a base."""
    room = np.repeat(first[1:], np.diff(first)) - np.arange(cells.size)
    begin = np.flatnonzero(room >= length)
    code = np.zeros(begin.size, dtype=np.int64)
    for offset in range(length):
        code = code * base + cells[begin + offset]
    return code


def _find_entered(
    x: Array, y: Array, column: Integers, row: Integers, step: Integers, grid: Grid
) -> tuple[npt.NDArray[np.intp], Integers]:
    """Return, for steps from one point to the next, the cells entered on the way, in order (by number of the step)."""
    following = step + 1
    crossed = np.concatenate(
        [
            _crossings(x[step], x[following], column[step], column[following]),
            _crossings(y[step], y[following], row[step], row[following]),
        ],
        axis=1,
    )
    crossed.sort(axis=1)
    until = np.append(crossed[:, 1:], np.full((step.size, 1), np.inf), axis=1)
    final = (crossed < np.inf) & ~(until < np.inf)  # leads into the next point's own cell, however late
    until[final] = 1.0
    which, turn = np.nonzero(final | ((crossed < np.inf) & (until > crossed)))
    middle = (crossed[which, turn] + until[which, turn]) / 2
    begin, end = step[which], following[which]
    at_column = np.floor(x[begin] + middle * (x[end] - x[begin]))
    at_row = np.floor(y[begin] + middle * (y[end] - y[begin]))
    at_column = np.clip(at_column, 0, grid.columns - 1).astype(np.int64)
    at_row = np.clip(at_row, 0, grid.rows - 1).astype(np.int64)
    # The last cell is the one of the point itself, also where the point lies exactly on a line.
    last = np.append(which[1:] != which[:-1], True) if which.size else np.empty(0, np.bool_)
    at_column[last], at_row[last] = column[end[last]], row[end[last]]
    return which, at_row * grid.columns + at_column


def _crossings(begin: Array, end: Array, low: Integers, high: Integers) -> Array:
    """Return at which share of a step it crosses each grid line; infinite for lines it does not cross."""
    from_line, to_line = np.minimum(low, high) + 1, np.maximum(low, high)
    most = int(np.max(to_line - from_line, initial=-1)) + 1
    line = from_line[:, None] + np.arange(most)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (line - begin[:, None]) / (end - begin)[:, None]
    return np.where(line <= to_line[:, None], np.clip(share, 0.0, 1.0), np.inf)
