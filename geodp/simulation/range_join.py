"""Which points lie in which circles or rectangles: one pass over moving points, with no index to keep up to date.

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
CANDIDATES_AT_ONCE = 64_000  # temporary arrays of half a megabyte stay in the processor's cache
ROUNDING_M = 1e-3  # circles read this much further than they reach: no point is lost to rounding at a cell's edge


def range_join(x_m: Array, y_m: Array, centre_x_m: Array, centre_y_m: Array, radius_m: Array) -> tuple[Ids, Ids, Array]:
    """Return all pairs (circle, point, distance) with distance <= radius, ordered by circle."""
    if x_m.size == 0 or centre_x_m.size == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    return DiscBins(x_m, y_m, centre_x_m, centre_y_m, radius_m).all_pairs()


def rectangle_join(x_m: Array, y_m: Array, rectangles: Array) -> tuple[Ids, Ids]:
    """Return all pairs (rectangle, point) with the point inside or on an edge, ordered by rectangle.

    `rectangles` has the columns west, south, east and north.
    """
    if x_m.size == 0 or len(rectangles) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return _RectangleBins(x_m, y_m, rectangles).all_pairs()[:2]


class DiscBins:
    """Points sorted by grid cell, and the runs of cells that the circles touch."""

    def __init__(self, x_m: Array, y_m: Array, centre_x_m: Array, centre_y_m: Array, radius_m: Array) -> None:
        self.centre_x_m, self.centre_y_m, self.radius_m = centre_x_m, centre_y_m, radius_m
        self._set_up(x_m, y_m, float(np.median(radius_m)))

    def _set_up(self, x_m: Array, y_m: Array, usual_reach_m: float) -> None:
        self.west, self.south = float(x_m.min()), float(y_m.min())
        width, height = float(x_m.max()) - self.west, float(y_m.max()) - self.south
        # Cells of a quarter of the usual radius keep both the runs per circle and the points read in vain few.
        wanted = max(usual_reach_m / 4, np.sqrt(width * height / x_m.size), 1e-9)
        self.columns = int(np.clip(width / wanted, 1, MOST_CELLS_PER_SIDE))
        self.rows = int(np.clip(height / wanted, 1, MOST_CELLS_PER_SIDE))
        self.per_m_x = self.columns / max(width, 1e-9)
        self.per_m_y = self.rows / max(height, 1e-9)
        self._plan_runs()
        self._sort_points(x_m, y_m)

    def _row(self, y_m: Array) -> Ids:
        return np.clip((y_m - self.south) * self.per_m_y, 0, self.rows - 1).astype(np.int64)

    def _column(self, x_m: Array) -> Ids:
        return np.clip((x_m - self.west) * self.per_m_x, 0, self.columns - 1).astype(np.int64)

    def _plan_runs(self) -> None:
        """List, for every circle and grid row it touches, the first and last column it can reach there."""
        reach = self.radius_m + ROUNDING_M
        row = self._rows_between(self.centre_y_m - reach, self.centre_y_m + reach)
        x, y, reach = self.centre_x_m[self.circle], self.centre_y_m[self.circle], reach[self.circle]
        bottom, top = self.south + row / self.per_m_y, self.south + (row + 1) / self.per_m_y
        across = np.sqrt(np.maximum(reach**2 - (np.clip(y, bottom, top) - y) ** 2, 0))
        self.first_cell = row * self.columns + self._column(x - across)
        self.last_cell = row * self.columns + self._column(x + across)

    def _rows_between(self, low_m: Array, high_m: Array) -> Ids:
        """Return the grid rows that each circle touches, and remember whose they are."""
        low, high = self._row(low_m), self._row(high_m)
        rows_of = high - low + 1
        self.circle = np.repeat(np.arange(rows_of.size), rows_of)
        return np.asarray(np.arange(self.circle.size) + np.repeat(low - (np.cumsum(rows_of) - rows_of), rows_of))

    def _sort_points(self, x_m: Array, y_m: Array) -> None:
        # The product and the sum fit: at most 255 * 256 + 255 = 2^16 - 1.
        key = ((y_m - self.south) * self.per_m_y).astype(np.uint16)
        np.minimum(key, np.uint16(self.rows - 1), out=key)
        key *= np.uint16(self.columns)
        column = ((x_m - self.west) * self.per_m_x).astype(np.uint16)
        key += np.minimum(column, np.uint16(self.columns - 1))
        cells = self.rows * self.columns
        begins = np.bincount(self.first_cell, minlength=cells + 1)
        ends = np.bincount(self.last_cell + 1, minlength=cells + 1)
        touched = np.cumsum(begins - ends)[:-1] > 0
        if touched.mean() < 0.5:
            chosen = np.flatnonzero(touched[key])
            key = key[chosen]
            self.point = chosen[np.argsort(key, kind="stable")]
        else:
            self.point = np.argsort(key, kind="stable")
        self.x_m, self.y_m = x_m[self.point], y_m[self.point]
        offset = np.append(0, np.cumsum(np.bincount(key, minlength=cells)))
        self.begin, self.end = offset[self.first_cell], offset[self.last_cell + 1]

    def all_pairs(self) -> tuple[Ids, Ids, Array]:
        """Return the pairs, piece by piece into columns with room for every candidate; unused room is never touched."""
        room = int(np.sum(self.end - self.begin))
        circle, point, distance = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
        filled = 0
        for runs in self.chunks():
            some_circle, some_point, some_distance = self.pairs(runs)
            here = slice(filled, filled + some_circle.size)
            circle[here], point[here], distance[here] = some_circle, some_point, some_distance
            filled = here.stop
        return circle[:filled], point[:filled], distance[:filled]

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
        circle, begin = self.circle[runs], self.begin[runs]
        length = self.end[runs] - begin
        after = np.cumsum(length)
        place = np.arange(int(after[-1]))
        place += np.repeat(begin - (after - length), length)
        kept, distance = self._inside(circle, length, place)
        return np.repeat(circle, length)[kept], self.point[place[kept]], distance

    def _inside(self, circle: Ids, length: Ids, place: Ids) -> tuple[Ids, Array]:
        """Return which of the points at some places lie in their circle, and how far from its centre."""
        square = self.x_m[place]
        square -= np.repeat(self.centre_x_m[circle], length)
        square *= square
        along = self.y_m[place]
        along -= np.repeat(self.centre_y_m[circle], length)
        along *= along
        square += along
        kept = np.flatnonzero(square <= np.repeat(self.radius_m[circle] ** 2, length))
        return kept, np.sqrt(square[kept])


class _RectangleBins(DiscBins):
    """The same for rectangles; `circle` then numbers them."""

    def __init__(self, x_m: Array, y_m: Array, rectangles: Array) -> None:
        self.edges = rectangles
        sides = rectangles[:, 2:] - rectangles[:, :2]
        self._set_up(x_m, y_m, float(np.median(np.sqrt(sides[:, 0] * sides[:, 1]))) / 2)

    def _plan_runs(self) -> None:
        west, south, east, north = self.edges.T
        row = self._rows_between(south - ROUNDING_M, north + ROUNDING_M)
        self.first_cell = row * self.columns + self._column(west - ROUNDING_M)[self.circle]
        self.last_cell = row * self.columns + self._column(east + ROUNDING_M)[self.circle]

    def _inside(self, circle: Ids, length: Ids, place: Ids) -> tuple[Ids, Array]:
        west, south, east, north = (np.repeat(edge[circle], length) for edge in self.edges.T)
        x, y = self.x_m[place], self.y_m[place]
        kept = np.flatnonzero((x >= west) & (x <= east) & (y >= south) & (y <= north))
        return kept, np.zeros(kept.size)
