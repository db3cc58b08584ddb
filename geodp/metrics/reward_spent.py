"""Reward promised to workers who set out."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import total

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class RewardSpent(Metric):
    """Reward promised to chosen workers who set out, summed over tasks.

    An offer that nobody takes costs nothing. Interval: of the sum of as many independent tasks,
    n · mean ± t · sd · √n.
    """

    kind: ClassVar[str] = "reward_spent"
    unit: ClassVar[str] = "reward"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "effort"
    summed: ClassVar[bool] = True

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Add up the rewards."""
        return {self.kind: total(self.per_task(run))}

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return what each task cost, 0 where nobody set out."""
        return run.tasks["reward"].astype("float64").fillna(0.0)
