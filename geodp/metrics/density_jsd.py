"""Divergence of where the points are: published trajectories against true ones, 20 x 20 cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._trajectories import scored
from geodp.tables.trajectories.scores import density_jsd

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class DensityJsd(Metric):
    """Divergence of where the points are: published trajectories against true ones, 20 x 20 cells.

    Jensen-Shannon divergence (natural logarithm, no root: 0 to 0.693) of the shares of points in 20 x 20 cells of the
    region's box. 0 is equal.
    """

    kind: ClassVar[str] = "density_jsd"
    topic: ClassVar[str] = "published"
    unit: ClassVar[str] = "nats"
    better: ClassVar[str] = "lower"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of trajectories."""
        return scored(run, density_jsd)
