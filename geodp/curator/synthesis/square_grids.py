"""Grids of equal cells over a region's box, and noisy counts on two of them that are made to agree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.consistency import fitted_rows, fitted_total
from geodp.geometry import Array, Grid, Region


def square_grid(region: Region, cells: int) -> Grid:
    """Return a grid with so many cells along the longer side of the box, as near to squares as whole numbers allow."""
    return Grid.fit(region, max(region.width_m, region.height_m) / cells)


def side_cells(worth: float, most: int, least: int = 3) -> int:
    """Return how many cells a side of a grid has that should have about `worth` cells."""
    return int(np.clip(round(float(np.sqrt(max(worth, 0.0)))), least, most))


def finer(grid: Grid, times: int) -> Grid:
    """Return the grid whose cells are so many times as small along either side."""
    return Grid(
        grid.west_m,
        grid.south_m,
        grid.cell_x_m / times,
        grid.cell_y_m / times,
        grid.columns * times,
        grid.rows * times,
    )


def in_blocks(fine: npt.NDArray[np.float64], coarse: Grid, times: int) -> Array:
    """Return fine cells as rows, one row for the cells of each coarse cell."""
    table = fine.reshape(coarse.rows, times, coarse.columns, times)
    return np.ascontiguousarray(table.transpose(0, 2, 1, 3)).reshape(coarse.size, times * times)


def from_blocks(rows: Array, coarse: Grid, times: int) -> Array:
    """Return rows of fine cells in the order of the fine grid again."""
    table = rows.reshape(coarse.rows, coarse.columns, times, times)
    return np.ascontiguousarray(table.transpose(0, 2, 1, 3)).reshape(-1)


def agreed(coarse: Array, fine: Array, coarse_scale: float, fine_scale: float) -> Array:
    """Return fine counts (rows, one per coarse cell) that agree with noisy counts of both grids.

    The coarse count and the sum of the fine ones are two measurements of the same number: their mean, weighted by how
    exact they are, is the best one (constrained inference). Fine counts are then fitted to it, none below 0.
    """
    children = fine.shape[1]
    exactness, of_sum = 1 / coarse_scale**2, 1 / (children * fine_scale**2)
    best = (coarse * exactness + fine.sum(axis=1) * of_sum) / (exactness + of_sum)
    best = fitted_total(best, max(float(best.sum()), 1.0))
    return fitted_rows(fine, best)
