"""How many tasks there were."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class TasksArrived(Metric):
    """Number of tasks that arrived during the run."""

    kind: ClassVar[str] = "tasks_arrived"
    unit: ClassVar[str] = "tasks"
    topic: ClassVar[str] = "tasks"
    public: ClassVar[bool] = True

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count the tasks."""
        return {self.kind: Measured(len(run.tasks))}
