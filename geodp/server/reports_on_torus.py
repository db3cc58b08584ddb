"""Reports counted on a torus of cells, and the law of their noise in Fourier space.

The plane is taken as a torus larger than the region, and reports beyond it are wrapped around. That is exact, no
approximation: wrapping a sum of place and noise is wrapping each, and places do not leave the region. Two things that
phones may do after the noise need care:

- *Rounding to a lattice.* Lattice points and cells would beat against each other, so every report is spread over its
  lattice cell again (by an even sequence, no draw), and the law is widened by as much.
- *Clamping to a box.* What lies on an edge came from beyond it. It is put back there in proportion to what an estimate
  of the density predicts beyond that very place of the edge.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Grid, Region
from geodp.public.channels import Channel, PlanarGeometricChannel
from geodp.public.release import Points

_MARGIN = 4.74  # in 1/ε: 95 % of reports lie nearer to their place, the rest wrap around
_LEAST_MARGIN = 0.1  # of the region's longer side: smoothing must not reach from one edge to the other
_EVEN_X, _EVEN_Y = 0.7548776662466927, 0.5698402909980532  # multiples of these fill a square evenly (R2 sequence)
_EDGE_M = 1e-6  # what is clamped lies on the edge up to rounding

Indices = npt.NDArray[np.int64]


@dataclass(eq=False)
class ReportsOnTorus:
    """Counts of reports per cell; the region is the corner of `grid.rows` by `grid.columns` cells."""

    points: Points
    grid: Grid
    rows: int
    columns: int
    inside: Array = field(init=False)
    """Counts of the reports that were not clamped."""
    law: Array = field(init=False)
    """Characteristic function of a report's displacement, at the frequencies of `rfft2`."""
    frequency: Array = field(init=False)
    """|ω| of each frequency, radians per metre."""

    @classmethod
    def of(cls, points: Points, grid: Grid, region: Region) -> ReportsOnTorus:
        """Count reports on a torus with room for the noise around the region."""
        from scipy.fft import next_fast_len

        side = max(region.width_m, region.height_m)
        reach_m = 0.0 if points.channel is None else _MARGIN / points.channel.epsilon_per_m
        margin_m = min(max(reach_m, _LEAST_MARGIN * side), side)
        columns = next_fast_len(grid.columns + 2 * int(np.ceil(margin_m / grid.cell_x_m)), real=True)
        rows = next_fast_len(grid.rows + 2 * int(np.ceil(margin_m / grid.cell_y_m)), real=True)
        return cls(points, grid, rows, columns)

    def __post_init__(self) -> None:
        across: Array = np.asarray(2 * np.pi * np.fft.rfftfreq(self.columns, self.grid.cell_x_m))[None, :]
        along: Array = np.asarray(2 * np.pi * np.fft.fftfreq(self.rows, self.grid.cell_y_m))[:, None]
        self.frequency = np.hypot(across, along)
        self.law = _finished_law(self.points.channel, across, along)
        x, y = _spread_over_lattice(self.points)
        self._column = np.floor((x - self.grid.west_m) / self.grid.cell_x_m).astype(np.int64) % self.columns
        self._row = np.floor((y - self.grid.south_m) / self.grid.cell_y_m).astype(np.int64) % self.rows
        self._side_x, self._side_y = _sides(self.points)
        self.inside = self._counted((self._side_x == 0) & (self._side_y == 0))

    @property
    def clamped(self) -> bool:
        """Whether some reports lie on an edge to which they were moved."""
        return bool(self._side_x.any() or self._side_y.any())

    def counts(self, predicted: Array) -> Array:
        """Return all reports per cell of the torus, clamped ones put back beyond the edge as predicted."""
        total = self.inside.copy()
        predicted = np.maximum(predicted, 1e-12 * predicted.max())
        for side_x in (-1, 0, 1):
            for side_y in (-1, 0, 1):
                mine = (self._side_x == side_x) & (self._side_y == side_y)
                if (side_x or side_y) and mine.any():
                    self._put_back(total, predicted, mine, side_x, side_y)
        return total

    def _put_back(self, total: Array, predicted: Array, mine: npt.NDArray[np.bool_], side_x: int, side_y: int) -> None:
        beyond_x = _beyond(side_x, self.grid.columns, self.columns)
        beyond_y = _beyond(side_y, self.grid.rows, self.rows)
        axis: tuple[int, ...]
        if side_y == 0:
            number = np.bincount(self._row[mine], minlength=self.rows)[:, None]
            part, axis = np.ix_(np.arange(self.rows), beyond_x), (1,)
        elif side_x == 0:
            number = np.bincount(self._column[mine], minlength=self.columns)[None, :]
            part, axis = np.ix_(beyond_y, np.arange(self.columns)), (0,)
        else:
            number, part, axis = np.full((1, 1), mine.sum()), np.ix_(beyond_y, beyond_x), (0, 1)
        total[part] += number * predicted[part] / predicted[part].sum(axis=axis, keepdims=True)

    def _counted(self, mine: npt.NDArray[np.bool_]) -> Array:
        cell = self._row[mine] * self.columns + self._column[mine]
        return np.bincount(cell, minlength=self.rows * self.columns).reshape(self.rows, self.columns).astype(np.float64)


def _beyond(side: int, inside: int, total: int) -> Indices:
    """Return the cells of the margin on one side: the far one follows the region, the near one wraps around."""
    half = inside + (total - inside) // 2
    return np.arange(inside, half) if side > 0 else np.arange(half, total)


def _sides(points: Points) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Return -1, 0 or 1 for reports on the lower edge, on none, or on the upper edge of the box they are clamped to."""
    box = getattr(points.channel, "box_m", None)
    if box is None:
        return np.zeros(points.size, dtype=np.int8), np.zeros(points.size, dtype=np.int8)
    # on a lattice the outermost points hold what was clamped to them
    edge = (getattr(points.channel, "cell_m", None) or 0.0) * (1 - 1e-9) + _EDGE_M
    low_x, low_y, high_x, high_y = box
    x, y = points.x_m, points.y_m
    return (
        (x > high_x - edge).astype(np.int8) - (x < low_x + edge).astype(np.int8),
        (y > high_y - edge).astype(np.int8) - (y < low_y + edge).astype(np.int8),
    )


def _spread_over_lattice(points: Points) -> tuple[Array, Array]:
    cell_m = getattr(points.channel, "cell_m", None)
    if cell_m is None:
        return points.x_m, points.y_m
    number = np.arange(points.size)
    x = points.x_m + cell_m * ((number * _EVEN_X) % 1.0 - 0.5)
    y = points.y_m + cell_m * ((number * _EVEN_Y) % 1.0 - 0.5)
    return x, y


def _finished_law(channel: Channel | None, across: Array, along: Array) -> Array:
    """Return the law of place to spread-out report; each rounding, and the spreading, is a factor sinc·sinc."""
    if channel is None:
        return np.ones((along.size, across.size))
    law = channel.characteristic(across, along)
    cell_m = getattr(channel, "cell_m", None)
    if cell_m is None:
        return law
    cell = np.sinc(across * cell_m / (2 * np.pi)) * np.sinc(along * cell_m / (2 * np.pi))
    # planar geometric noise starts from a rounded place, which its own law does not count
    return np.asarray(law * cell * (cell if isinstance(channel, PlanarGeometricChannel) else 1.0))
