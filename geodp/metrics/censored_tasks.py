"""Tasks still open when the run ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.protocol import decided

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class CensoredTasks(Metric):
    """Number of tasks undecided when the run ended; they are left out of `success_rate`."""

    kind: ClassVar[str] = "censored_tasks"
    unit: ClassVar[str] = "tasks"
    topic: ClassVar[str] = "tasks"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count tasks without a decision."""
        return {self.kind: Measured(len(run.tasks) - len(decided(run)))}
