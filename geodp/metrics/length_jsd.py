"""Divergence of the path lengths of trajectories."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._trajectories import scored
from geodp.tables.trajectories.scores import length_jsd

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class LengthJsd(Metric):
    """Divergence of the path lengths of trajectories.

    Jensen-Shannon divergence (natural logarithm, no root) over 20 bins up to the greatest true length and one bin
    beyond.
    """

    kind: ClassVar[str] = "length_jsd"
    topic: ClassVar[str] = "published"
    unit: ClassVar[str] = "nats"
    better: ClassVar[str] = "lower"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of trajectories."""
        return scored(run, length_jsd)
