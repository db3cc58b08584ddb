"""Where points are: noisy numbers of points per cell, with a bound on what one trip adds that is itself paid for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.consistency import fitted_total
from geodp.curator.synthesis.epsilon_parts import Purse, floored
from geodp.curator.synthesis.noisy_histogram import noisy_histogram, whole_edges
from geodp.curator.synthesis.square_grids import side_cells, square_grid
from geodp.geometry import Array, Grid, Region
from geodp.tables.trajectories.table import Trajectories

POINTS, DENSITY = "points", "density"
_BOUND_QUANTILE = 0.8
_CELLS_PER_WORTH = 0.3
_MOST_SIDE = 96


@dataclass(frozen=True, eq=False)
class Density:
    """Shares of points in the cells of a grid, none below 0."""

    grid: Grid
    share: Array
    bound: int
    """Most points that one trip counted for."""


def noisy_density(
    trajectories: Trajectories, region: Region, purse: Purse, *, total: float, most_points: int
) -> Density:
    """Count points per cell; a trip of more points than most trips have counts less per point.

    The bound is a quantile of a noisy histogram, hence paid for. Cells are as many as the noise allows: with K cells
    the relative noise of a mean cell is K·b/(N·bound).
    """
    lengths = noisy_histogram(POINTS, trajectories.counts.astype(np.float64), whole_edges(most_points, 1.15), purse)
    reached = np.cumsum(lengths.shares())
    place = int(np.searchsorted(reached, _BOUND_QUANTILE * reached[-1]))
    bound = int(lengths.edges[min(place + 1, lengths.edges.size - 1)])
    grid = square_grid(region, side_cells(_CELLS_PER_WORTH * total / purse.scale(DENSITY), _MOST_SIDE))
    weights = floored(np.minimum(1.0, bound / trajectories.counts), purse.scale(DENSITY, bound))
    cell = grid.locate(trajectories.x_m, trajectories.y_m)
    noisy = purse.counts(DENSITY, np.bincount(cell, weights[trajectories.owner], grid.size), bound)
    fitted = fitted_total(noisy, max(float(noisy.sum()), 1.0))
    return Density(grid, fitted / fitted.sum(), bound)
