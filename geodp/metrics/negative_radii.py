"""Radii that a solver got below zero."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.protocol import noted
from geodp.public.events import Note

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class NegativeRadii(Metric):
    """Number of tasks for which the solver returned a radius that is not positive.

    The Taylor solution does so wherever density times reward is high.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, eq. (13.16).
    """

    kind: ClassVar[str] = "negative_radii"
    unit: ClassVar[str] = "tasks"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "plan"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count tasks with such a radius in any round."""
        return {self.kind: Measured(int(noted(run, Note.NEGATIVE_RADIUS).sum()))}
