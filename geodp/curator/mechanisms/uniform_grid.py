"""Noisy counts on a regular grid of the size that the guideline asks for."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.curator.decomposition import SizedDecomposition
from geodp.curator.mechanisms import Snapshot
from geodp.geometry import Grid
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Neighbours
from geodp.public.release import GridCells


class UniformGrid(SizedDecomposition):
    """Noisy counts on a regular grid whose cells are as large as noise and detail balance.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator.
    Cells are disjoint, so each count has noise Lap(S/ε), S = 1 for adding or removing one worker, 2 for replacing one.
    With `noise: gaussian`, ρ that is worth ε at delta: discrete Gaussian noise of σ = S₂/√(2ρ), S₂ = 1 and √2.
    The grid follows from the public number of workers, or from a noisy one that is paid for out of ε.

    Reference
    ---------
    Qardaji, Yang and Li 2013, Differentially private grids for geospatial data (UG): sqrt(N ε / 10) cells per side.
    """

    kind: ClassVar[str] = "uniform_grid"
    fixed_cells: ClassVar[bool] = True

    cell_m: float | None = Field(default=None, gt=0)
    """Side of a cell, metres. Default: the guideline, sqrt(N ε / 10) cells per side."""

    def release(self, snapshot: Snapshot, noise: Noise) -> GridCells:
        """Count, and add noise to every cell."""
        grid = Grid.fit(snapshot.region, self._size(snapshot, noise))
        scale = self._scale(snapshot.neighbours)
        return GridCells(
            count=self.add_noise(grid.count(snapshot.x_m, snapshot.y_m), scale, noise),
            noise_scale=np.full(grid.size, scale),
            noise_terms=self.list_terms(grid.size),
            grid=grid,
            **self.release_fields(snapshot, grid.edges()),
        )

    def fit_grid(self, snapshot: Snapshot) -> Grid:
        """Return the grid that follows from public settings."""
        return Grid.fit(snapshot.region, self.cell_m or self._guideline_size(self._public_facts(snapshot)))

    def _scale(self, neighbours: Neighbours) -> float:
        return self.find_scale(self.change(neighbours), neighbours, [self._counts_epsilon()], 0)

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return E|Lap(b)| = b, or the mean of Gaussian noise."""
        return self.mean_noise(self._scale(neighbours))
