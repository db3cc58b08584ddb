"""Noisy counts on a regular grid of the size that the guideline asks for."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from pydantic import Field

from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms._decomposition import Decomposition, guideline_cell_m, sensitivity
from geodp.geometry import Grid
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import with_laplace
from geodp.public.guarantee import Neighbours
from geodp.public.release import GridCells
from geodp.registry import PublicFacts


class UniformGrid(Decomposition):
    """Noisy counts on a regular grid whose cells are as large as noise and detail balance.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator.
    Cells are disjoint, so each count has noise Lap(S/ε), S = 1 for adding or removing one worker, 2 for replacing one.
    The grid follows from the public number of workers, or from a noisy one that is paid for out of ε.

    Reference
    ---------
    Qardaji, Yang and Li 2013, Differentially private grids for geospatial data (UG): sqrt(N ε / 10) cells per side.
    """

    kind: ClassVar[str] = "uniform_grid"
    fixed_cells: ClassVar[bool] = True

    cell_m: float | None = Field(default=None, gt=0)
    """Side of a cell, metres. Default: the guideline, sqrt(N ε / 10) cells per side."""

    def resolve(self, facts: PublicFacts) -> Self:
        """Write out the guideline's cell size, where it follows from public facts."""
        if self.cell_m is not None or self.count_share > 0:
            return self
        return self.model_copy(update={"cell_m": guideline_cell_m(facts, self._counts_epsilon())})

    def release(self, snapshot: Snapshot, noise: Noise) -> GridCells:
        """Count, and add noise to every cell."""
        cell_m = self.cell_m or guideline_cell_m(self._facts(snapshot, noise), self._counts_epsilon())
        grid = Grid.fit(snapshot.region, cell_m)
        scale = self.expected_noise(snapshot.neighbours)
        west_m, south_m, east_m, north_m = grid.edges()
        return GridCells(
            west_m=west_m,
            south_m=south_m,
            east_m=east_m,
            north_m=north_m,
            count=with_laplace(grid.count(snapshot.x_m, snapshot.y_m), scale, noise),
            noise_scale=np.full(grid.size, scale),
            grid=grid,
            **self._release_facts(snapshot),
        )

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return E|Lap(b)| = b."""
        return sensitivity(neighbours) / self._counts_epsilon()
