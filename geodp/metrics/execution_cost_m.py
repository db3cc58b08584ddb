"""Total distance between tasks and the workers asked (EC)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import total

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class ExecutionCost(Metric):
    """Distances of all workers who were asked, summed over workers and tasks (EC).

    Each worker counts once per task, at the distance of the last time asked; `travel_distance_m` has the
    chosen workers only. A task that was not offered, or had nobody in its circle, adds nothing. The book
    uses EC without defining it; this is our definition. Interval: of the sum of as many independent tasks, n
    · mean ± t · sd · √n.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 13.3.4, figs. 13.10-13.11.
    """

    kind: ClassVar[str] = "execution_cost_m"
    unit: ClassVar[str] = "m"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "effort"
    summed: ClassVar[bool] = True

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Add up the distances."""
        return {self.kind: total(self.per_task(run))}

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return each task's share of the cost."""
        cost_m = run.notified.groupby("task")["distance_m"].sum()
        return cost_m.reindex(run.tasks.index, fill_value=0.0).astype("float64")
