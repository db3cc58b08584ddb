"""The lattice on which reports are rounded: points i·cell about the centre of the projection, clamped to a box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError, OldMethod
from geodp.geometry import Array

_SLACK = 1e-9  # in cells: a line on an edge lies on it, whatever rounding says


@dataclass(frozen=True)
class Lattice:
    """Square lattice of step `cell_m` with a point at (0, 0); with a box, only the points inside it are reported.

    Axis 0 is east, axis 1 north.
    """

    cell_m: float
    box_m: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.box_m is None:
            return
        west, south, east, north = self.box_m
        if min(east - west, north - south) < self.cell_m:
            raise DataError(
                f"the region ({east - west:,.0f} m × {north - south:,.0f} m) is smaller than a cell of "
                f"{self.cell_m:g} m: use a smaller cell_m or a larger region"
            )

    def index(self, place_m: npt.ArrayLike, axis: int) -> Array:
        """Return the whole number of the nearest lattice line (as doubles), inside the box when there is one."""
        return self.clamp(self.nearest(place_m), axis)

    def nearest(self, place_m: npt.ArrayLike) -> Array:
        """Return the number of the nearest line; half is rounded up, since half to even makes cells uneven."""
        return np.floor(np.asarray(place_m, dtype=np.float64) / self.cell_m + 0.5)

    def clamp(self, index: npt.ArrayLike, axis: int) -> Array:
        """Move line numbers outside the box to its outermost line."""
        lowest, highest = self.limits(axis)
        return np.clip(np.asarray(index, dtype=np.float64), lowest, highest)

    clamped = OldMethod("clamp")

    def limits(self, axis: int) -> tuple[float, float]:
        """Return the first and the last line inside the box."""
        if self.box_m is None:
            return -np.inf, np.inf
        lowest = np.ceil(self.box_m[axis] / self.cell_m - _SLACK)
        highest = np.floor(self.box_m[axis + 2] / self.cell_m + _SLACK)
        return float(lowest), float(highest)

    def index_origins(self, place_m: npt.ArrayLike, axis: int) -> tuple[Array, Array]:
        """Return the half-line numbers between which noise is reported as each place."""
        index = self.nearest(place_m)
        lowest, highest = self.limits(axis)
        low = np.where(index <= lowest, -np.inf, index - 0.5)
        return low, np.where(index >= highest, np.inf, index + 0.5)

    def index_boundaries(self, edge_m: npt.ArrayLike, axis: int) -> Array:
        """Return the half-line numbers that separate the lattice lines on either side of each edge, in ascending order.

        A line on an edge belongs to the cell beyond it; on the last edge, to the last cell.
        """
        edges = np.asarray(edge_m, dtype=np.float64) / self.cell_m
        first = np.ceil(edges - _SLACK)  # first line at or beyond the edge
        first[-1] = np.floor(edges[-1] + _SLACK) + 1
        lowest, highest = self.limits(axis)
        return np.where(first <= lowest, -np.inf, np.where(first > highest, np.inf, first - 0.5))
