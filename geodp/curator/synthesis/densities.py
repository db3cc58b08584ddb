"""Where points are: noisy counts per cell, to which one trip adds a bounded weight."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from geodp.curator.synthesis.epsilon_parts import EpsilonParts, round_down
from geodp.curator.synthesis.grids import Integers, refine_grid, side_cells, square_grid
from geodp.curator.synthesis.noisy_histograms import NoisyHistogram, count_histogram, fit_total, whole_edges
from geodp.curator.synthesis.shrinkage import shrink, shrink_map
from geodp.geometry import Array, Grid, Region
from geodp.tables.trajectories.table import Trajectories

POINTS, DENSITY = "points", "density"
FLOOR = 0.05
"""Share of a mean cell below which densities are taken to be alike."""
_BOUND_QUANTILE, _BOUND_QUANTILE_IN_NARROW_NOISE = 0.3, 0.8
_NARROW_NOISE = 2e-4
_CELLS_PER_WORTH = 0.3
_MOST_SIDE = 96
_LEAST_FINE_SIDE = 40
_BLOCKS = (8, 4, 2, 1)


@dataclass(frozen=True, eq=False)
class Density:
    """Shares of points in the cells of a grid, none below 0."""

    grid: Grid
    share: Array
    bound: int
    """Most points that one trip counted for."""
    noisy: Array
    """What the noise left, negative counts too."""
    scale: float
    """Scale of the noise on each count."""

    def worth(self, points: Integers) -> Array:
        """Return for how many points trips of so many count: no more than the bound, as when they were counted."""
        return np.minimum(points, self.bound).astype(np.float64)

    def flatten(self) -> Density:
        """Return a density that says nothing, on cells that are at least as fine as streets are."""
        times = max(1, -(-_LEAST_FINE_SIDE // max(self.grid.rows, self.grid.columns)))
        grid = refine_grid(self.grid, times)
        return replace(self, grid=grid, share=np.full(grid.size, 1 / grid.size))

    def sharpen(self, guess: Density) -> Density:
        """Return the density on the guess's finer cells: the guess, drawn towards the noisy counts where they say more.

        Ever smaller blocks of cells are looked at: the mass of each is a mean of the guess (corrected by the larger
        blocks) and of the noisy count, weighted by the noise (`shrinkage.shrink`).
        """
        total = max(float(self.noisy.sum()), 1.0)
        x_m, y_m = guess.grid.all_centres()
        cell = self.grid.locate(x_m, y_m)
        expected = guess.share / guess.share.sum() * total
        row, column = np.divmod(np.arange(self.grid.size), self.grid.columns)
        for times in _BLOCKS:
            block = row // times * self.grid.columns + column // times
            _, block = np.unique(block, return_inverse=True)
            cells = np.bincount(block)
            now = np.bincount(block[cell], expected, cells.size).astype(np.float64)
            better = shrink(np.bincount(block, self.noisy).astype(np.float64), now, self.scale * np.sqrt(cells), total)
            expected *= (better / np.maximum(now, 1e-12))[block[cell]]
        return Density(guess.grid, expected / expected.sum(), self.bound, self.noisy, self.scale)


def count_points(
    trajectories: Trajectories, parts: EpsilonParts, *, total: float, most_points: int, weights: Array | None = None
) -> NoisyHistogram:
    """Count each trip once, by its number of points."""
    counts = trajectories.counts.astype(np.float64)
    return count_histogram(POINTS, counts, whole_edges(most_points, 1.15), parts, weights=weights, total=total)


def count_density(
    trajectories: Trajectories,
    region: Region,
    parts: EpsilonParts,
    *,
    total: float,
    of_points: NoisyHistogram,
    weights: Array | None = None,
) -> Density:
    """Count points per cell; a trip of more points than most trips have counts less per point.

    The bound is a quantile of a noisy histogram, hence paid for. Cells are as many as the noise allows: with K cells
    the relative noise of a mean cell is K·b/(N·bound).
    """
    counts = trajectories.counts.astype(np.float64)
    reached = np.cumsum(of_points.shares())
    # Longer trips count for less than their points, and so do synthetic ones where they are held against this.
    narrow = of_points.scale < _NARROW_NOISE * total
    quantile = _BOUND_QUANTILE_IN_NARROW_NOISE if narrow else _BOUND_QUANTILE
    place = int(np.searchsorted(reached, quantile * reached[-1]))
    bound = int(of_points.edges[min(place + 1, of_points.edges.size - 1)])
    grid = square_grid(region, side_cells(_CELLS_PER_WORTH * total / parts.scale(DENSITY), _MOST_SIDE))
    per_point = np.minimum(1.0, bound / counts) * (1.0 if weights is None else weights)
    per_point = round_down(per_point, parts.scale(DENSITY, bound))
    cell = grid.locate(trajectories.x_m, trajectories.y_m)
    noisy = parts.add_noise(DENSITY, np.bincount(cell, per_point[trajectories.owner], grid.size), bound)
    smooth = shrink_map(noisy.reshape(grid.rows, grid.columns), parts.scale(DENSITY, bound)).ravel()
    fitted = fit_total(smooth, max(float(noisy.sum()), 1.0))
    return Density(grid, fitted / fitted.sum(), bound, noisy, parts.scale(DENSITY, bound))
