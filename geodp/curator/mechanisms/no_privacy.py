"""Exact counts, for comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.curator.contour_plot import ContourPlot
from geodp.curator.mechanisms import Snapshot
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours
from geodp.public.release import Contours


class NoPrivacy(ContourPlot):
    """Exact counts per grid cell: the yardstick that every private release is compared with.

    Guarantee
    ---------
    None: true counts are published.
    """

    kind: ClassVar[str] = "no_privacy"
    fixed_cells: ClassVar[bool] = False  # exact counts need no filter
    absent: ClassVar[Mapping[str, str]] = {"noise": "counts are exact"}

    sigma_cells: float = Field(default=0.0, ge=0, le=20)
    """Width of the Gaussian smoothing, in cells; 0 = none."""

    def release(self, snapshot: Snapshot, noise: Noise) -> Contours:  # noqa: ARG002
        """Publish the exact counts."""
        grid = self.fit_grid(snapshot)
        count = grid.count(snapshot.x_m, snapshot.y_m).astype(np.float64)
        return self._plot(snapshot, grid, count, 0.0)

    def guarantee(
        self,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,  # noqa: ARG002
        counts: str = "all",  # noqa: ARG002
    ) -> Guarantee:
        """Promise nothing."""
        return Guarantee.none("exact counts are published")

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:  # noqa: ARG002
        """Return 0: counts are exact."""
        return 0.0
