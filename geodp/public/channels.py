"""The public laws f(z|x) of mechanisms on the phone: what anyone may know, for de-biasing and for attacks.

A channel knows how its mechanism ends a report: `cell_m` is the lattice it snaps to (points i·cell about the centre of
the projection; None: no lattice) and `box_m` the box it clamps to (None: no clamping). Likelihoods and matrices are
those of the finished report: what is clamped lies on the edge with all the probability from beyond it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array, Grid
from geodp.public.lattice import Lattice
from geodp.public.planar_laws import PlanarGeometricLaw, far_rectangle, half_line, rectangle, rectangles_outer

Box = tuple[float, float, float, float]
"""West, south, east and north edge in metres."""
_FEW_PLACES = 2_000_000
_FAR = 2.0  # in units of 1/epsilon: from here on four nodes a side integrate the density over a cell


class Channel(Protocol):
    """The law of a report given the true place."""

    @property
    def epsilon_per_m(self) -> float:
        """Epsilon per metre of the report."""

    @property
    def variance_m2(self) -> float:
        """Variance of the noise in each coordinate, before clamping."""

    def likelihood(self, z_x_m: npt.ArrayLike, z_y_m: npt.ArrayLike, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Array:
        """Return f(z|x) with a row per report z and a column per place x.

        For a fixed report the values of a row compare; between reports they may be densities, line densities (on an
        edge) or probabilities (on a lattice, in a corner).
        """

    def characteristic(self, wx: npt.ArrayLike, wy: npt.ArrayLike) -> Array:
        """Return E exp(i w·(z - x)) before clamping; it is real, because the noise is symmetric."""

    def matrix(self, x_cells: Grid, z_cells: Grid) -> Array:
        """Return P(report in z cell | true place at the centre of x cell), a row per x cell."""


@dataclass(frozen=True)
class PlanarLaplaceChannel:
    """Planar Laplace noise: density ε²/(2π)·exp(-ε|z - x|), then the lattice, then the box."""

    epsilon_per_m: float
    cell_m: float | None = None
    box_m: Box | None = None

    def __post_init__(self) -> None:
        _require_positive(self.epsilon_per_m, self.cell_m)

    @property
    def variance_m2(self) -> float:
        """Variance of each coordinate: E R² = 6/ε² is shared by two, and snapping adds cell²/12 to each."""
        return 3 / self.epsilon_per_m**2 + (self.cell_m or 0.0) ** 2 / 12

    def characteristic(self, wx: npt.ArrayLike, wy: npt.ArrayLike) -> Array:
        """Return (1 + |w|²/ε²)^(-3/2), w in radians per metre; on a lattice the snapping's sinc is a factor."""
        x, y = np.asarray(wx, dtype=np.float64), np.asarray(wy, dtype=np.float64)
        value = (1 + (x**2 + y**2) / self.epsilon_per_m**2) ** -1.5
        if self.cell_m is not None:  # for places spread evenly over their cell
            value = value * np.sinc(x * self.cell_m / (2 * np.pi)) * np.sinc(y * self.cell_m / (2 * np.pi))
        return np.asarray(value)

    def likelihood(self, z_x_m: npt.ArrayLike, z_y_m: npt.ArrayLike, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Array:
        """Return f(z|x), a row per report and a column per place (see `Channel`)."""
        west, east = self._interval(_row(z_x_m), 0)
        south, north = self._interval(_row(z_y_m), 1)
        x, y = _row(x_m) * self.epsilon_per_m, _row(y_m) * self.epsilon_per_m
        rows = np.empty((west.size, x.size))
        step = max(1, _FEW_PLACES // max(x.size, 1))
        for start in range(0, west.size, step):
            part = slice(start, start + step)
            edges = (west[part, None] - x, south[part, None] - y, east[part, None] - x, north[part, None] - y)
            rows[part] = self._cell(*edges) if self.cell_m is not None else self._place(*edges)
        return rows

    def matrix(self, x_cells: Grid, z_cells: Grid) -> Array:
        """Return P(report in z cell | true place at the centre of x cell), exactly, a row per x cell.

        Clamping is exact when `box_m` is the box of the z cells; a row sums to 1 when they cover every possible report.
        """
        x, y = x_cells.centres()
        columns, rows = self._boundaries(z_cells)
        low_x, high_x = _differences(columns, x, self.epsilon_per_m)
        low_y, high_y = _differences(rows, y, self.epsilon_per_m)
        table = rectangles_outer(low_x, high_x, low_y, high_y)
        return _as_channel(table, x_cells, z_cells)

    def _interval(self, z_m: Array, axis: int) -> tuple[Array, Array]:
        """Return the ends, in units of 1/ε, of what becomes z: a point, a cell, or everything beyond an edge."""
        low, high = z_m, z_m
        if self.cell_m is not None:
            lattice = Lattice(self.cell_m, self.box_m)
            low, high = (edge * self.cell_m for edge in lattice.index_origins(z_m, axis))
            return low * self.epsilon_per_m, high * self.epsilon_per_m
        if self.box_m is not None:
            low = np.where(z_m <= self.box_m[axis], -np.inf, z_m)
            high = np.where(z_m >= self.box_m[axis + 2], np.inf, z_m)
        return low * self.epsilon_per_m, high * self.epsilon_per_m

    def _boundaries(self, cells: Grid) -> tuple[Array, Array]:
        """Return where noise must fall, per axis, to be reported on either side of each edge between z cells."""
        across, along = _edges(cells)
        if self.cell_m is not None:
            lattice = Lattice(self.cell_m, self.box_m)
            return lattice.index_boundaries(across, 0) * self.cell_m, lattice.index_boundaries(along, 1) * self.cell_m
        if self.box_m is not None:
            return _beyond(across, self.box_m[0], self.box_m[2]), _beyond(along, self.box_m[1], self.box_m[3])
        return across, along

    def _place(self, west: Array, south: Array, east: Array, north: Array) -> Array:
        """Return the density at a point, along an edge of the box, or the probability of its corner."""
        x, y = np.where(np.isfinite(west), west, east), np.where(np.isfinite(south), south, north)
        on_x, on_y = west != east, south != north
        value = np.exp(-np.hypot(x, y)) * (self.epsilon_per_m**2 / (2 * np.pi))
        beyond_x = np.where(np.isinf(east), x, -x)  # the side of the edge that was clamped, turned to the right
        beyond_y = np.where(np.isinf(north), y, -y)
        side, top, corner = on_x & ~on_y, on_y & ~on_x, on_x & on_y
        value[side] = half_line(beyond_x[side], y[side]) * self.epsilon_per_m
        value[top] = half_line(beyond_y[top], x[top]) * self.epsilon_per_m
        value[corner] = rectangle(west[corner], south[corner], east[corner], north[corner])
        return value

    def _cell(self, west: Array, south: Array, east: Array, north: Array) -> Array:
        """Return the probability of a lattice cell: far from the centre by cubature, else exactly."""
        with np.errstate(invalid="ignore"):
            near_x = np.maximum(np.maximum(west, -east), 0.0)
            near_y = np.maximum(np.maximum(south, -north), 0.0)
            far = (np.hypot(near_x, near_y) > _FAR) & np.isfinite(east - west) & np.isfinite(north - south)
        value = np.empty(west.shape)
        value[~far] = rectangle(west[~far], south[~far], east[~far], north[~far])
        value[far] = far_rectangle(west[far], south[far], east[far], north[far])
        return value


@dataclass(frozen=True)
class PlanarGeometricChannel:
    """Planar geometric noise on a lattice: P(i, j) ∝ exp(-ε·cell·sqrt(i² + j²)) from the place's lattice point."""

    epsilon_per_m: float
    cell_m: float
    box_m: Box | None = None

    def __post_init__(self) -> None:
        _require_positive(self.epsilon_per_m, self.cell_m)

    @cached_property
    def law(self) -> PlanarGeometricLaw:
        """The law of the steps."""
        return PlanarGeometricLaw(self.epsilon_per_m * self.cell_m)

    @property
    def variance_m2(self) -> float:
        """Variance of each coordinate of the noise."""
        return self.law.variance * self.cell_m**2

    def probability(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Array:
        """Return the probability of a displacement by i cells east and j cells north."""
        return self.law.probability(i, j)

    def characteristic(self, wx: npt.ArrayLike, wy: npt.ArrayLike) -> Array:
        """Return E exp(i w·(z - x)) for places on the lattice, w in radians per metre."""
        return self.law.characteristic(np.asarray(wx) * self.cell_m, np.asarray(wy) * self.cell_m)

    def likelihood(self, z_x_m: npt.ArrayLike, z_y_m: npt.ArrayLike, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Array:
        """Return P(z|x), a row per report and a column per place (see `Channel`)."""
        lattice = Lattice(self.cell_m, self.box_m)
        i, j = lattice.index(_row(x_m), 0), lattice.index(_row(y_m), 1)
        west, east = lattice.index_origins(_row(z_x_m), 0)
        south, north = lattice.index_origins(_row(z_y_m), 1)
        return self.law.rectangle(west[:, None] - i, south[:, None] - j, east[:, None] - i, north[:, None] - j)

    def matrix(self, x_cells: Grid, z_cells: Grid) -> Array:
        """Return P(report in z cell | true place at the centre of x cell), a row per x cell."""
        lattice = Lattice(self.cell_m, self.box_m)
        x, y = x_cells.centres()
        across, along = _edges(z_cells)
        low_x, high_x = _differences(lattice.index_boundaries(across, 0), lattice.index(x, 0), 1.0)
        low_y, high_y = _differences(lattice.index_boundaries(along, 1), lattice.index(y, 1), 1.0)
        table = self.law.rectangles_outer(low_x, high_x, low_y, high_y)
        return _as_channel(table, x_cells, z_cells)


@dataclass(frozen=True, eq=False)
class FiniteChannel:
    """A channel given by its matrix: a row of probabilities per cell of true places, a column per reported cell."""

    epsilon_per_m: float
    cells: Grid
    table: Array

    @cached_property
    def variance_m2(self) -> float:
        """Mean square displacement per coordinate over evenly spread places."""
        x, y = self.cells.all_centres()
        square = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2
        return float(np.mean(np.sum(self.table * square, axis=1)) / 2)

    def likelihood(self, z_x_m: npt.ArrayLike, z_y_m: npt.ArrayLike, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Array:
        """Return P(z|x), a row per report and a column per place; 0 for reports that cannot occur."""
        z, x = self.cells.locate(_row(z_x_m), _row(z_y_m)), self.cells.locate(_row(x_m), _row(y_m))
        found = self.table[np.ix_(np.maximum(x, 0), np.maximum(z, 0))].T
        return np.asarray(np.where((z >= 0)[:, None], found, 0.0))

    def characteristic(self, wx: npt.ArrayLike, wy: npt.ArrayLike) -> Array:  # noqa: ARG002
        """Refuse: what is reported depends on the place, so no one noise can be taken off again."""
        raise UsageError("this mechanism's noise differs from place to place: it has no characteristic function")

    def matrix(self, x_cells: Grid, z_cells: Grid) -> Array:
        """Return P(report in z cell | true place at the centre of x cell), a row per x cell."""
        x, y = x_cells.all_centres()
        target = z_cells.locate(*self.cells.all_centres())
        gather = np.zeros((self.cells.size, z_cells.size))
        known = target >= 0
        gather[np.flatnonzero(known), target[known]] = 1.0
        place = self.cells.locate(x, y)
        return np.asarray(self.table[np.maximum(place, 0)] @ gather)


def _require_positive(epsilon_per_m: float, cell_m: float | None) -> None:
    for name, value in (("epsilon_per_m", epsilon_per_m), ("cell_m", 1.0 if cell_m is None else cell_m)):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"{name} must be a finite number greater than 0, got {value}")


def _row(values: npt.ArrayLike) -> Array:
    return np.atleast_1d(np.asarray(values, dtype=np.float64))


def _edges(cells: Grid) -> tuple[Array, Array]:
    """Return the x of every edge between columns and the y of every edge between rows, the outer ones included."""
    columns = np.arange(cells.columns + 1, dtype=np.float64)
    rows = np.arange(cells.rows + 1, dtype=np.float64)
    return cells.west_m + columns * cells.cell_x_m, cells.south_m + rows * cells.cell_y_m


def _beyond(edges: Array, low: float, high: float) -> Array:
    """Send edges at or outside the box to infinity, so that outer cells take what is clamped into them."""
    slack = 1e-9 * (high - low)
    return np.where(edges <= low + slack, -np.inf, np.where(edges >= high - slack, np.inf, edges))


def _differences(edges: Array, centres: Array, unit: float) -> tuple[Array, Array]:
    """Return the ends of every interval between edges as seen from every centre (centre-major)."""
    seen = (edges[None, :] - centres[:, None]) * unit
    return seen[:, :-1].ravel(), seen[:, 1:].ravel()


def _as_channel(table: Array, x_cells: Grid, z_cells: Grid) -> Array:
    """Reorder [(x column, z column), (x row, z row)] to [x cell, z cell]."""
    shape = (x_cells.columns, z_cells.columns, x_cells.rows, z_cells.rows)
    return table.reshape(shape).transpose(2, 0, 3, 1).reshape(x_cells.size, z_cells.size)
