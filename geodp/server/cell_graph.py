"""Which released cells touch, and how many workers each is said to hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.messages import Rectangle
from geodp.public.release import Cells, Contours, DensityEstimate

Ids = npt.NDArray[np.int64]
TOUCH_M = 1e-3
"""Edges nearer than this are one edge: cells of a decomposition may differ by a rounding error."""


@dataclass(frozen=True, eq=False)
class CellGraph:
    """Cells of one release with their neighbours; index = the release's own."""

    release: Cells
    rectangle: list[Rectangle]
    area_m2: list[float]
    noise_variance: list[float]
    """Variance of the noise in each cell's count."""
    first: list[int]
    """Cell i touches `neighbour[first[i]:first[i + 1]]`."""
    neighbour: list[int]

    def cells_of(self, x_m: Array, y_m: Array) -> list[int]:
        """Return the cell of each place; one outside all cells belongs to the nearest."""
        release = self.release
        found = release.locate(x_m, y_m)
        for place in np.flatnonzero(found < 0):
            x, y = float(x_m[place]), float(y_m[place])
            across = np.maximum(np.maximum(release.west_m - x, x - release.east_m), 0)
            along = np.maximum(np.maximum(release.south_m - y, y - release.north_m), 0)
            found[place] = int(np.argmin(across**2 + along**2))
        return [int(cell) for cell in found]


@lru_cache(maxsize=4)  # one release serves the batches of offers until the next one
def cell_graph(release: Cells) -> CellGraph:
    """Return the graph of a release's cells."""
    edges = (release.west_m, release.south_m, release.east_m, release.north_m)
    first, neighbour = find_touching(*edges)
    return CellGraph(
        release=release,
        rectangle=list(zip(*(edge.tolist() for edge in edges), strict=True)),
        area_m2=release.area_m2.tolist(),
        noise_variance=counts_and_noise(release)[1].tolist(),
        first=first.tolist(),
        neighbour=neighbour.tolist(),
    )


def counts_and_noise(release: Cells) -> tuple[Array, Array]:
    """Return the workers in each cell as the release tells them, and the variance of the noise in that number.

    Contour plots and estimates from reports are read as densities in the middle of each cell, smoothed as they are.
    """
    if isinstance(release, Contours | DensityEstimate):
        area = release.area_m2
        x_m, y_m = (release.west_m + release.east_m) / 2, (release.south_m + release.north_m) / 2
        law = release.density_law(x_m, y_m)
        return law.estimate_per_m2 * area, law.variance * area**2
    return np.asarray(release.count, dtype=np.float64), 2 * np.asarray(release.noise_scale, dtype=np.float64) ** 2


def find_touching(west: Array, south: Array, east: Array, north: Array) -> tuple[Ids, Ids]:
    """Return which rectangles share a piece of an edge, as rows of a compressed matrix; corners do not count.

    The rectangles must not overlap: then those that begin on one line lie one after the other along it, and the ones
    that touch a given rectangle there are a run, found by bisection.
    """
    beside = _contacts(west, east, south, north)
    above = _contacts(south, north, west, east)
    one = np.concatenate([beside[0], beside[1], above[0], above[1]])
    other = np.concatenate([beside[1], beside[0], above[1], above[0]])
    order = np.lexsort((other, one))
    one, other = one[order], other[order]
    return np.searchsorted(one, np.arange(west.size + 1)), other


def _contacts(begin: Array, end: Array, low: Array, high: Array) -> tuple[Ids, Ids]:
    """Return pairs (i, j) where i ends on the line on which j begins, and both share a piece of it."""
    line_begin, line_end = _lines(begin, end)
    length = float(high.max() - low.min()) + 1.0
    base = float(low.min())
    order = np.lexsort((low, line_begin))
    from_key = line_begin[order] * length + (low[order] - base)
    upto_key = line_begin[order] * length + (high[order] - base)
    start = np.searchsorted(upto_key, line_end * length + (low - base) + TOUCH_M, side="right")
    stop = np.searchsorted(from_key, line_end * length + (high - base) - TOUCH_M, side="left")
    many = np.maximum(stop - start, 0)
    one = np.repeat(np.arange(begin.size), many)
    place = np.arange(one.size) - np.repeat(np.cumsum(many) - many, many) + np.repeat(start, many)
    return one, order[place]


def _lines(begin: Array, end: Array) -> tuple[Ids, Ids]:
    """Give numbers to the lines on which rectangles begin and end; what differs by a rounding error is one line."""
    both = np.concatenate([begin, end])
    order = np.argsort(both, kind="stable")
    fresh = np.append(0, np.cumsum(np.diff(both[order]) > TOUCH_M))
    line = np.empty(both.size, dtype=np.int64)
    line[order] = fresh
    return line[: begin.size], line[begin.size :]
