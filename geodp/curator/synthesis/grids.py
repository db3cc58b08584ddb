"""Grids over a region: equal cells, and reference systems whose cells double in size from grid to grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.noisy_histograms import fit_rows, fit_total
from geodp.errors import UsageError
from geodp.geometry import Array, Grid, Region

Integers = npt.NDArray[np.int64]
MOST_CELLS = 4_000_000


@dataclass(frozen=True)
class ReferenceSystems:
    """Square grids over a box, finest first; a cell of one grid holds four of the next finer one.

    Cells of all grids are numbered through: those of grid m follow those of grid m - 1.
    """

    west_m: float
    south_m: float
    width_m: float
    height_m: float
    finest_m: float
    """Side of the finest cells (v_1)."""
    doublings: tuple[int, ...]
    """The grids that are used: grid r has cells of side finest_m · 2^doublings[r]."""

    @classmethod
    def over(cls, region: Region, finest_m: float, levels: int) -> ReferenceSystems:
        """Cover a region's box with grids of side v_m = v_1 · 2^(m-1), as many levels as there is room for."""
        widest = max(region.width_m, region.height_m)
        room = 1 + int(np.floor(np.log2(max(widest / finest_m, 1.0))))
        west, south, _, _ = region.box_m
        found = cls(
            west_m=west,
            south_m=south,
            width_m=region.width_m,
            height_m=region.height_m,
            finest_m=finest_m,
            doublings=tuple(range(max(1, min(levels, room)))),
        )
        if found.columns[0] * found.rows[0] > MOST_CELLS:
            raise UsageError(
                f"cells of {finest_m:g} m make {found.columns[0] * found.rows[0]:,} in this region, more than "
                f"{MOST_CELLS:,}: use a larger finest_m. Nothing was released or charged."
            )
        return found

    def keep(self, grids: list[int]) -> ReferenceSystems:
        """Return some of the grids, by number."""
        chosen = tuple(self.doublings[grid] for grid in sorted(grids))
        return ReferenceSystems(
            west_m=self.west_m,
            south_m=self.south_m,
            width_m=self.width_m,
            height_m=self.height_m,
            finest_m=self.finest_m,
            doublings=chosen,
        )

    @property
    def grids(self) -> int:
        """Number of grids."""
        return len(self.doublings)

    @cached_property
    def columns(self) -> Integers:
        """Columns of each grid."""
        return self._whole_cells(self.width_m)

    @cached_property
    def rows(self) -> Integers:
        """Rows of each grid."""
        return self._whole_cells(self.height_m)

    @cached_property
    def offsets(self) -> Integers:
        """Number of each grid's first cell; last the number of all cells."""
        return np.append(0, np.cumsum(self.columns * self.rows))

    @property
    def cells(self) -> int:
        """Number of cells of all grids."""
        return int(self.offsets[-1])

    @cached_property
    def side_m(self) -> Array:
        """Side of each grid's cells."""
        return self.finest_m * 2.0 ** np.array(self.doublings)

    def fine_indices(self, x_m: Array, y_m: Array) -> tuple[Integers, Integers]:
        """Return column and row of places in a grid of cells of side `finest_m`."""
        most_x, most_y = (max(1, int(np.ceil(side / self.finest_m - 1e-9))) for side in (self.width_m, self.height_m))
        column = np.clip(np.floor((x_m - self.west_m) / self.finest_m), 0, most_x - 1)
        row = np.clip(np.floor((y_m - self.south_m) / self.finest_m), 0, most_y - 1)
        return column.astype(np.int64), row.astype(np.int64)

    def cell(self, column: Integers, row: Integers, grid: Integers) -> Integers:
        """Return the cells in given grids of places whose fine indices are given."""
        shift = np.array(self.doublings)[grid]
        return self.number(column >> shift, row >> shift, grid)

    def number(self, column: Integers, row: Integers, grid: Integers) -> Integers:
        """Return the numbers of cells by column and row of their own grid."""
        return np.asarray(self.offsets[grid] + row * self.columns[grid] + column)

    def place(self, cell: Integers) -> tuple[Integers, Integers, Integers]:
        """Return grid, column and row of cells."""
        grid = np.searchsorted(self.offsets, cell, side="right") - 1
        row, column = np.divmod(cell - self.offsets[grid], self.columns[grid])
        return grid, column, row

    def box(self, cell: Integers) -> tuple[Array, Array, Array, Array]:
        """Return west, south, width and height of cells, cut at the box."""
        grid, column, row = self.place(cell)
        side = self.side_m[grid]
        west, south = column * side, row * side
        wide, high = np.minimum(side, self.width_m - west), np.minimum(side, self.height_m - south)
        return self.west_m + west, self.south_m + south, wide, high

    def _whole_cells(self, extent_m: float) -> Integers:
        fine = max(1, int(np.ceil(extent_m / self.finest_m - 1e-9)))
        return np.array([-(-fine // 2**doubling) for doubling in self.doublings], dtype=np.int64)


def square_grid(region: Region, cells: int) -> Grid:
    """Return a grid with so many cells along the longer side of the box, as near to squares as whole numbers allow."""
    return Grid.fit(region, max(region.width_m, region.height_m) / cells)


def side_cells(worth: float, most: int, least: int = 3) -> int:
    """Return how many cells a side of a grid has that should have about `worth` cells."""
    return int(np.clip(round(float(np.sqrt(max(worth, 0.0)))), least, most))


def refine_grid(grid: Grid, times: int) -> Grid:
    """Return the grid whose cells are so many times as small along either side."""
    return Grid(
        west_m=grid.west_m,
        south_m=grid.south_m,
        cell_x_m=grid.cell_x_m / times,
        cell_y_m=grid.cell_y_m / times,
        columns=grid.columns * times,
        rows=grid.rows * times,
    )


def to_blocks(fine: npt.NDArray[np.float64], coarse: Grid, times: int) -> Array:
    """Return fine cells as rows, one row for the cells of each coarse cell."""
    table = fine.reshape(coarse.rows, times, coarse.columns, times)
    return np.ascontiguousarray(table.transpose(0, 2, 1, 3)).reshape(coarse.size, times * times)


def from_blocks(rows: Array, coarse: Grid, times: int) -> Array:
    """Return rows of fine cells in the order of the fine grid again."""
    table = rows.reshape(coarse.rows, coarse.columns, times, times)
    return np.ascontiguousarray(table.transpose(0, 2, 1, 3)).reshape(-1)


def reconcile_counts(coarse: Array, fine: Array, coarse_scale: float, fine_scale: float) -> Array:
    """Return fine counts (rows, one per coarse cell) that agree with noisy counts of both grids.

    The coarse count and the sum of the fine ones are two measurements of the same number: their mean, weighted by how
    exact they are, is the best one (constrained inference). Fine counts are then fitted to it, none below 0.
    """
    children = fine.shape[1]
    exactness, of_sum = 1 / coarse_scale**2, 1 / (children * fine_scale**2)
    best = (coarse * exactness + fine.sum(axis=1) * of_sum) / (exactness + of_sum)
    best = fit_total(best, max(float(best.sum()), 1.0))
    return fit_rows(fine, best)
