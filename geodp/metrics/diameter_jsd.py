"""Divergence of the diameters of trajectories."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._trajectories import scored
from geodp.tables.trajectories.scores import diameter_jsd

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class DiameterJsd(Metric):
    """Divergence of the diameters of trajectories.

    The diameter is the greatest distance between two points. Jensen-Shannon divergence (natural logarithm, no root)
    over 20 bins up to the greatest true diameter and one bin beyond.
    """

    kind: ClassVar[str] = "diameter_jsd"
    topic: ClassVar[str] = "published"
    unit: ClassVar[str] = "nats"
    better: ClassVar[str] = "lower"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of trajectories."""
        return scored(run, diameter_jsd)
