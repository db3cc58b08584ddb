"""Contour plot of noisy counts."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.curator.contour_plot import ContourPlot
from geodp.curator.count_noise import CountNoise
from geodp.curator.mechanisms import Snapshot
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours, Unit
from geodp.public.release import Contours


class Contour(ContourPlot, CountNoise):
    """Contour plot of worker density: Laplace noise on every grid cell, smoothed, with contour lines.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator.
    Cells are disjoint, so each count has noise Lap(S/ε) with S = 1 when one worker is added or removed, S = 2 when one
    worker's position is replaced (it leaves one cell and enters another). k releases cost k·ε.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 13.3.2, eq. (13.1). "Connecting the cells with
    the same noisy count" has no solution for real-valued noise; lines are drawn by marching squares instead. Densities
    are counts divided by the cell's area (the text takes the count itself, a factor 11.1 at 300 m cells). The width of
    smoothing is chosen by an unbiased estimate of the risk (Mallows 1973, Some comments on C_p; Stein 1981); the text
    has none, and plots of earlier versions are those of `sigma_cells: 1`.
    """

    kind: ClassVar[str] = "contour"

    epsilon: float = Field(default=0.3, gt=0)
    """ε of one release."""

    def release(self, snapshot: Snapshot, noise: Noise) -> Contours:
        """Count, add noise to every cell, smooth and choose the lines."""
        grid = self.fit_grid(snapshot)
        scale = self._scale(snapshot.neighbours)
        count = self.add_noise(grid.count(snapshot.x_m, snapshot.y_m), scale, noise)
        return self.show_counts(snapshot, grid, count, np.full(grid.size, scale), self.list_terms(grid.size))

    def _scale(self, neighbours: Neighbours) -> float:
        return self.find_scale(self.change(neighbours), neighbours, [self.epsilon], 0)

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Promise ε for one snapshot position."""
        return self.make_promise(Unit.SNAPSHOT, neighbours, counts)

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return E|Lap(b)| = b, or the mean of Gaussian noise."""
        return self.mean_noise(self._scale(neighbours))
