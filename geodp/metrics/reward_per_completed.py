"""What a completed task costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class RewardPerCompleted(Metric):
    """Reward of a completed task, mean over the tasks that were completed."""

    kind: ClassVar[str] = "reward_per_completed"
    unit: ClassVar[str] = "reward"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "effort"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the rewards of completed tasks."""
        return {self.kind: mean(self.per_task(run))}

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return the reward of each completed task."""
        tasks = run.tasks
        return tasks.loc[tasks["completed_s"].notna(), "reward"].astype("float64")
