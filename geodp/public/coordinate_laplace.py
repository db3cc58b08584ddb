"""The law of reports with Laplace noise on either coordinate by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array, Grid
from geodp.public.channels import Box

_ENOUGH = 200


@dataclass(frozen=True)
class CoordinateLaplaceChannel:
    """Places at the centres of public cells, then Lap(scale) on either coordinate, then the box.

    Odds change by at most exp(|Δx|/scale_x + |Δy|/scale_y), hence by exp(ε·d) with ε = sqrt(1/scale_x² + 1/scale_y²).

    Parameters
    ----------
    scale_x_m, scale_y_m
        Scales of the noise, metres.
    places
        The public cells to whose centres places are rounded first.
    box_m
        The box that reports are clamped to.

    Examples
    --------
    >>> from geodp.geometry import Grid
    >>> from geodp.public.coordinate_laplace import CoordinateLaplaceChannel
    >>> law = CoordinateLaplaceChannel(300.0, 400.0, Grid(0.0, 0.0, 100.0, 100.0, 9, 9), (0.0, 0.0, 900.0, 900.0))
    >>> round(law.epsilon_per_m, 6)
    0.004167
    """

    scale_x_m: float
    scale_y_m: float
    places: Grid
    box_m: Box

    def __post_init__(self) -> None:
        if not (min(self.scale_x_m, self.scale_y_m) > 0 and math.isfinite(self.scale_x_m + self.scale_y_m)):
            raise UsageError(f"scales of noise must be finite and above 0, got {self.scale_x_m}, {self.scale_y_m}")

    @property
    def epsilon_per_m(self) -> float:
        """ε per metre between the centres of two cells, as the crow flies."""
        return math.hypot(1 / self.scale_x_m, 1 / self.scale_y_m)

    @property
    def variance_m2(self) -> float:
        """Variance of the noise, mean of both coordinates; rounding adds cell²/12 to each."""
        rounded = (self.places.cell_x_m**2 + self.places.cell_y_m**2) / 24
        return self.scale_x_m**2 + self.scale_y_m**2 + rounded

    def round_places(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> tuple[Array, Array]:
        """Return the centres of the cells that hold some places; places outside belong to the nearest cell."""
        west, south, east, north = self.box_m
        cell = self.places.locate(np.clip(x_m, west, east), np.clip(y_m, south, north))
        x, y = self.places.centres()
        return x[cell % self.places.columns], y[cell // self.places.columns]

    def likelihood(self, z_x_m: npt.ArrayLike, z_y_m: npt.ArrayLike, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Array:
        """Return f(z|x), a row per report and a column per place: densities, or probabilities on an edge of the box."""
        x, y = self.round_places(np.ravel(x_m), np.ravel(y_m))
        across = _density(np.ravel(z_x_m), x, self.scale_x_m, (self.box_m[0], self.box_m[2]))
        return across * _density(np.ravel(z_y_m), y, self.scale_y_m, (self.box_m[1], self.box_m[3]))

    def characteristic(self, wx: npt.ArrayLike, wy: npt.ArrayLike) -> Array:
        """Return E exp(i w·(z - x)) before clamping, for places spread evenly over their cell."""
        x, y = np.asarray(wx, dtype=np.float64), np.asarray(wy, dtype=np.float64)
        value = 1 / ((1 + (x * self.scale_x_m) ** 2) * (1 + (y * self.scale_y_m) ** 2))
        rounded = np.sinc(x * self.places.cell_x_m / (2 * np.pi)) * np.sinc(y * self.places.cell_y_m / (2 * np.pi))
        return np.asarray(value * rounded)

    def matrix(self, x_cells: Grid, z_cells: Grid) -> Array:
        """Return P(report in z cell | true place at the centre of x cell), a row per x cell."""
        x, y = self.round_places(*x_cells.all_centres())
        columns = z_cells.west_m + np.arange(z_cells.columns + 1, dtype=np.float64) * z_cells.cell_x_m
        rows = z_cells.south_m + np.arange(z_cells.rows + 1, dtype=np.float64) * z_cells.cell_y_m
        across = _between(columns, x, self.scale_x_m, (self.box_m[0], self.box_m[2]))
        along = _between(rows, y, self.scale_y_m, (self.box_m[1], self.box_m[3]))
        return np.asarray((along[:, :, None] * across[:, None, :]).reshape(x.size, -1))

    def displacement_quantiles(self, count: int) -> Array:
        """Return evenly weighted distances between place and report, before clamping."""
        level = (np.arange(_ENOUGH) + 0.5) / _ENOUGH
        half = -np.log1p(-level)  # |Lap(1)| is exponential
        far = np.sort(np.hypot(half[:, None] * self.scale_x_m, half * self.scale_y_m).ravel())
        return np.asarray(far[((np.arange(count) + 0.5) / count * far.size).astype(np.int64)])


def _density(z_m: Array, x_m: Array, scale_m: float, ends_m: tuple[float, float]) -> Array:
    """Return the density of a coordinate of each report from each place; on an edge all that lies beyond."""
    off = (z_m[:, None] - x_m) / scale_m
    inside = np.exp(-np.abs(off)) / (2 * scale_m)
    low, high = z_m[:, None] <= ends_m[0], z_m[:, None] >= ends_m[1]
    return np.where(low, _below(off), np.where(high, _below(-off), inside))


def _between(edges_m: Array, x_m: Array, scale_m: float, ends_m: tuple[float, float]) -> Array:
    """Return the probability of a coordinate between each two edges, a row per place."""
    slack = 1e-9 * (ends_m[1] - ends_m[0])
    edges = np.where(edges_m <= ends_m[0] + slack, -np.inf, np.where(edges_m >= ends_m[1] - slack, np.inf, edges_m))
    return np.diff(_below((edges - x_m[:, None]) / scale_m), axis=1)


def _below(off: Array) -> Array:
    """Return the distribution function of Lap(1)."""
    return np.where(off < 0, np.exp(np.minimum(off, 0.0)) / 2, 1 - np.exp(-np.maximum(off, 0.0)) / 2)
