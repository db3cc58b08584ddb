"""Which points lie in which circles: one pass over moving points, with no index to keep up to date.

Workers move, so an index would be rebuilt for every batch of offers, and building dominates. Instead the points
are binned on a grid of at most 65,536 cells (16-bit keys sort by radix, in linear time), points in cells that
no circle touches are dropped before sorting, and each circle reads whole runs of cells row by row.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array

Ids = npt.NDArray[np.int64]
MOST_CELLS_PER_SIDE = 256  # 256 * 256 keys fit 16 bits
CANDIDATES_AT_ONCE = 4_000_000  # bounds memory; about 200 MB of temporary arrays


def range_join(x_m: Array, y_m: Array, centre_x_m: Array, centre_y_m: Array, radius_m: Array) -> tuple[Ids, Ids, Array]:
    """Return all pairs (circle, point, distance) with distance <= radius, ordered by circle."""
    empty = np.empty(0, dtype=np.int64)
    if x_m.size == 0 or centre_x_m.size == 0:
        return empty, empty, np.empty(0)
    bins = _Bins(x_m, y_m, centre_x_m, centre_y_m, radius_m)
    found = [bins.pairs(runs) for runs in bins.chunks()]
    circle, point, distance = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return circle, point, distance


class _Bins:
    """Points sorted by grid cell, and the runs of cells that the circles touch."""

    def __init__(self, x_m: Array, y_m: Array, centre_x_m: Array, centre_y_m: Array, radius_m: Array) -> None:
        self.centre_x_m, self.centre_y_m, self.radius_m = centre_x_m, centre_y_m, radius_m
        self.west, self.south = float(x_m.min()), float(y_m.min())
        width, height = float(x_m.max()) - self.west, float(y_m.max()) - self.south
        # Cells near the usual radius keep both the runs per circle and the points read in vain few.
        wanted = max(float(np.median(radius_m)) / 2, np.sqrt(width * height / x_m.size), 1e-9)
        self.columns = int(np.clip(width / wanted, 1, MOST_CELLS_PER_SIDE))
        self.rows = int(np.clip(height / wanted, 1, MOST_CELLS_PER_SIDE))
        self.cell_x = max(width / self.columns, 1e-9) * (1 + 1e-12)
        self.cell_y = max(height / self.rows, 1e-9) * (1 + 1e-12)
        self._plan_runs()
        self._sort_points(x_m, y_m)

    def _plan_runs(self) -> None:
        """List, for every circle and grid row it touches, the first and last column it can reach there."""
        low = np.clip((self.centre_y_m - self.radius_m - self.south) // self.cell_y, 0, self.rows - 1)
        high = np.clip((self.centre_y_m + self.radius_m - self.south) // self.cell_y, 0, self.rows - 1)
        rows_of = (high - low).astype(np.int64) + 1
        self.circle = np.repeat(np.arange(rows_of.size), rows_of)
        row = np.arange(self.circle.size) - np.repeat(np.cumsum(rows_of) - rows_of, rows_of)
        row += np.repeat(low.astype(np.int64), rows_of)
        bottom = self.south + row * self.cell_y
        y = self.centre_y_m[self.circle]
        nearest = np.clip(y, bottom, bottom + self.cell_y)
        half = np.sqrt(np.maximum(self.radius_m[self.circle] ** 2 - (nearest - y) ** 2, 0))
        x = self.centre_x_m[self.circle] - self.west
        first = np.clip((x - half) // self.cell_x, 0, self.columns - 1).astype(np.int64)
        last = np.clip((x + half) // self.cell_x, 0, self.columns - 1).astype(np.int64)
        self.first_cell, self.last_cell = row * self.columns + first, row * self.columns + last

    def _sort_points(self, x_m: Array, y_m: Array) -> None:
        key = ((y_m - self.south) * (1 / self.cell_y)).astype(np.uint16)
        np.minimum(key, np.uint16(self.rows - 1), out=key)
        key *= np.uint16(self.columns) if self.columns < 2**16 else np.uint16(0)
        column = ((x_m - self.west) * (1 / self.cell_x)).astype(np.uint16)
        key += np.minimum(column, np.uint16(self.columns - 1))
        cells = self.rows * self.columns
        steps = np.zeros(cells + 1, dtype=np.int64)
        np.add.at(steps, self.first_cell, 1)
        np.add.at(steps, self.last_cell + 1, -1)
        touched = np.cumsum(steps)[:-1] > 0
        if touched.mean() < 0.5:
            chosen = np.flatnonzero(touched[key])
            key = key[chosen]
            self.point = chosen[np.argsort(key, kind="stable")]
        else:
            self.point = np.argsort(key, kind="stable")
        self.x_m, self.y_m = x_m[self.point], y_m[self.point]
        offset = np.concatenate([[0], np.cumsum(np.bincount(key, minlength=cells))])
        self.begin, self.end = offset[self.first_cell], offset[self.last_cell + 1]

    def chunks(self) -> list[slice]:
        """Cut the runs, whole circles at a time, so that each piece reads a bounded number of points."""
        total = np.cumsum(self.end - self.begin)
        cuts = [0]
        while cuts[-1] < self.circle.size:
            base = total[cuts[-1] - 1] if cuts[-1] else 0
            upto = int(np.searchsorted(total, base + CANDIDATES_AT_ONCE, side="right"))
            if upto < self.circle.size:  # back to a border between circles, but always at least one circle
                back = int(np.searchsorted(self.circle, self.circle[upto], side="left"))
                upto = back if back > cuts[-1] else int(np.searchsorted(self.circle, self.circle[upto], side="right"))
            cuts.append(max(upto, cuts[-1] + 1))
        return [slice(first, last) for first, last in pairwise(cuts)]

    def pairs(self, runs: slice) -> tuple[Ids, Ids, Array]:
        """Read the points of some runs and keep those inside their circle."""
        begin, length = self.begin[runs], self.end[runs] - self.begin[runs]
        run = np.repeat(np.arange(length.size), length)
        place = np.arange(run.size) + (begin - (np.cumsum(length) - length))[run]
        circle = self.circle[runs]
        across = self.x_m[place] - self.centre_x_m[circle][run]
        along = self.y_m[place] - self.centre_y_m[circle][run]
        across *= across
        along *= along
        across += along
        inside = np.flatnonzero(across <= (self.radius_m[circle] ** 2)[run])
        return circle[run[inside]], self.point[place[inside]], np.sqrt(across[inside])
