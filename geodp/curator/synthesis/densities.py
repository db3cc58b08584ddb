"""Where points are: noisy counts per cell, to which one trip adds a bounded weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.epsilon_parts import EpsilonParts, round_down
from geodp.curator.synthesis.grids import side_cells, square_grid
from geodp.curator.synthesis.noisy_histograms import count_histogram, fit_total, whole_edges
from geodp.geometry import Array, Grid, Region
from geodp.tables.trajectories.table import Trajectories

POINTS, DENSITY = "points", "density"
FLOOR = 0.05
"""Share of a mean cell below which densities are taken to be alike."""
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


def count_density(
    trajectories: Trajectories, region: Region, parts: EpsilonParts, *, total: float, most_points: int
) -> Density:
    """Count points per cell; a trip of more points than most trips have counts less per point.

    The bound is a quantile of a noisy histogram, hence paid for. Cells are as many as the noise allows: with K cells
    the relative noise of a mean cell is K·b/(N·bound).
    """
    lengths = count_histogram(POINTS, trajectories.counts.astype(np.float64), whole_edges(most_points, 1.15), parts)
    reached = np.cumsum(lengths.shares())
    place = int(np.searchsorted(reached, _BOUND_QUANTILE * reached[-1]))
    bound = int(lengths.edges[min(place + 1, lengths.edges.size - 1)])
    grid = square_grid(region, side_cells(_CELLS_PER_WORTH * total / parts.scale(DENSITY), _MOST_SIDE))
    weights = round_down(np.minimum(1.0, bound / trajectories.counts), parts.scale(DENSITY, bound))
    cell = grid.locate(trajectories.x_m, trajectories.y_m)
    noisy = parts.add_noise(DENSITY, np.bincount(cell, weights[trajectories.owner], grid.size), bound)
    fitted = fit_total(noisy, max(float(noisy.sum()), 1.0))
    return Density(grid, fitted / fitted.sum(), bound)
