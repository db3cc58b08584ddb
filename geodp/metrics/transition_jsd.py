"""Divergence of moves from one cell to the next, 20 x 20 cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._trajectories import scored
from geodp.tables.trajectories.scores import transition_jsd

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class TransitionJsd(Metric):
    """Divergence of moves from one cell to the next, 20 x 20 cells.

    Jensen-Shannon divergence (natural logarithm, no root) of the moves to another cell, those included that straight
    lines between points make.
    """

    kind: ClassVar[str] = "transition_jsd"
    topic: ClassVar[str] = "published"
    unit: ClassVar[str] = "nats"
    better: ClassVar[str] = "lower"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of trajectories."""
        return scored(run, transition_jsd)
