"""How long a task waits until it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class WaitingTime(Metric):
    """Time from a task's arrival to its completion, mean over the tasks that were completed.

    Workers who set out before the run ends arrive after it, so that long trips are not left out.
    """

    kind: ClassVar[str] = "waiting_time_s"
    unit: ClassVar[str] = "s"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "tasks"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the waiting times."""
        return {self.kind: mean(self.per_task(run))}

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return the waiting time of each completed task."""
        return (run.tasks["completed_s"] - run.tasks["arrived_s"]).dropna()
