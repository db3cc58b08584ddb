"""Square windows of cells around what is known about a person, and the best guess in each.

The best guess minimises Σ d(guess, x)·P(x) over the cells of a window (Shokri et al. 2011). Windows have the same
number of cells whatever their size, and d scales with it, so one matrix of distances serves them all: the expected
distances of every guess in every window are one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Region
from geodp.public.channels import Channel, PlanarLaplaceChannel

_AT_ONCE = 512  # windows per product: 10 MB of expected distances


@dataclass(frozen=True, eq=False)
class Windows:
    """Squares of side × side cells, each with a centre and a cell size of its own; cells row by row from the south."""

    centre_x_m: Array
    centre_y_m: Array
    cell_m: Array
    side: int

    def places(self) -> tuple[Array, Array]:
        """Return x and y of all cells, a row per window."""
        step = np.arange(self.side) - (self.side - 1) / 2
        x = self.centre_x_m[:, None] + self.cell_m[:, None] * np.tile(step, self.side)
        y = self.centre_y_m[:, None] + self.cell_m[:, None] * np.repeat(step, self.side)
        return x, y

    def pick(self, cell: npt.NDArray[np.int64]) -> tuple[Array, Array]:
        """Return the place of one cell of each window."""
        middle = (self.side - 1) / 2
        x = self.centre_x_m + (cell % self.side - middle) * self.cell_m
        y = self.centre_y_m + (cell // self.side - middle) * self.cell_m
        return x, y


def around(x_m: Array, y_m: Array, half_m: npt.ArrayLike, region: Region, side: int) -> Windows:
    """Return windows about places, no wider than the region needs, moved to where they meet it."""
    half = np.minimum(np.full(x_m.shape, half_m), max(region.width_m, region.height_m))
    centre_x, centre_y = region.clamp(x_m, y_m)
    return Windows(centre_x, centre_y, 2 * half / side, side)


def best_cells(weight: Array, side: int) -> npt.NDArray[np.int64]:
    """Return the cell with the least expected distance in each window; `weight` has a row of cells per window."""
    distances = _unit_distances(side)
    best = np.empty(len(weight), dtype=np.int64)
    for start in range(0, len(weight), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        best[part] = np.argmin(weight[part].astype(np.float32) @ distances, axis=1)
    return best


def nearest_to_all(x_m: Array, y_m: Array, weight: Array) -> int:
    """Return which of some places has the least weighted mean distance to all of them."""
    least, best = np.inf, 0
    for start in range(0, x_m.size, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        expected = np.hypot(x_m[part, None] - x_m, y_m[part, None] - y_m) @ weight
        if expected.min() < least:
            least, best = float(expected.min()), start + int(np.argmin(expected))
    return best


@lru_cache(maxsize=2)
def _unit_distances(side: int) -> npt.NDArray[np.float32]:
    step = np.arange(side, dtype=np.float32)
    x, y = np.tile(step, side), np.repeat(step, side)
    return np.asarray(np.hypot(x[:, None] - x, y[:, None] - y), dtype=np.float32)


def likelihood_of(channel: Channel, z_x_m: Array, z_y_m: Array, x_m: Array, y_m: Array) -> Array:
    """Return f(z|x) of each report from the cells of its own window, the largest of each row being 1.

    Reports are rows; `x_m` and `y_m` have a row of cells for each.
    """
    table = np.empty(x_m.shape)
    plain = _with_a_density(channel, z_x_m, z_y_m)
    nearness = np.hypot(x_m[plain] - z_x_m[plain, None], y_m[plain] - z_y_m[plain, None])
    nearness -= nearness.min(axis=1, keepdims=True)
    table[plain] = np.exp(-channel.epsilon_per_m * nearness)
    for row in np.flatnonzero(~plain):  # on an edge or a lattice: the law knows what became this report
        own = channel.likelihood(z_x_m[row], z_y_m[row], x_m[row], y_m[row])[0]
        table[row] = own / max(float(own.max()), np.finfo(np.float64).tiny)
    return table


def _with_a_density(channel: Channel, x_m: Array, y_m: Array) -> npt.NDArray[np.bool_]:
    """Tell which reports are planar Laplace noise as drawn, neither rounded nor clamped: f ∝ exp(-ε·distance)."""
    if not isinstance(channel, PlanarLaplaceChannel) or channel.cell_m is not None:
        return np.zeros(x_m.shape, dtype=np.bool_)
    if channel.box_m is None:
        return np.ones(x_m.shape, dtype=np.bool_)
    west, south, east, north = channel.box_m
    return np.asarray((x_m > west) & (x_m < east) & (y_m > south) & (y_m < north))
