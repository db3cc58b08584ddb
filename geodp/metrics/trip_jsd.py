"""Divergence of start and end cells of trajectories, 6 x 6 cells each."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._trajectories import scored
from geodp.tables.trajectories.scores import trip_jsd

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class TripJsd(Metric):
    """Divergence of start and end cells of trajectories, 6 x 6 cells each.

    Jensen-Shannon divergence (natural logarithm, no root) of the pairs of first and last cell. 0 is equal.
    """

    kind: ClassVar[str] = "trip_jsd"
    topic: ClassVar[str] = "published"
    unit: ClassVar[str] = "nats"
    better: ClassVar[str] = "lower"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of trajectories."""
        return scored(run, trip_jsd)
