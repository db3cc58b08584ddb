"""Circles that hold less than one expected worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.protocol import noted
from geodp.public.events import Note

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class UnderOneWorker(Metric):
    """Number of tasks offered to a circle in which the server itself expects less than one worker.

    1 - (1 - θ)^n with n < 1 promises what fractions of workers cannot keep: the printed model does so at high
    reward and density; a Poisson field needs n ≥ -ln(1 - target) whatever the reward.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, eq. (13.9).
    """

    kind: ClassVar[str] = "under_one_worker"
    unit: ClassVar[str] = "tasks"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "plan"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count tasks with such a circle in any round."""
        return {self.kind: Measured(int(noted(run, Note.UNDER_ONE_WORKER).sum()))}
