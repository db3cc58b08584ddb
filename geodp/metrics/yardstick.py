"""What an omniscient server would have needed: yardsticks beside what a run did need."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import TaskMetric, TaskShare

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder

_FILE = "truth/yardstick.parquet"


def _column(run: RunFolder, name: str) -> pd.Series | None:
    """Return one value per offered task, in order of tasks (None: the run has no yardstick)."""
    return run.table(_FILE).set_index("task")[name].sort_index() if run.has(_FILE) else None


class OmniscientWorkersAsked(TaskMetric):
    """Fewest nearest idle workers of whom one accepts with the target probability, mean over offered tasks (truth).

    At a task's first offer, with its reward, by true places and the true willingness; the target is the assignment's
    own, or 0.9. Tasks for which not even all within reach suffice are left out. No method can ask fewer at that
    success without knowing who will accept; compare `notified_workers`.
    """

    kind: ClassVar[str] = "omniscient_workers_asked"
    label: ClassVar[str] = "workers asked if all were known"
    unit: ClassVar[str] = "workers"
    topic: ClassVar[str] = "effort"

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return how many would be asked about each task."""
        fewest = _column(run, "workers_needed")
        return None if fewest is None else fewest.dropna()


class OmniscientTravel(TaskMetric):
    """Distance that workers travel when each batch is matched to those who will accept, mean over tasks (truth).

    At the first offers of a batch, among the idle workers whom the run itself has left idle: as many tasks as possible,
    with the least travel in all (exactly, for up to 32 tasks a batch; beyond that each has its 32 nearest to choose
    from). Tasks that nobody would accept are left out. Compare `travel_distance_m`.
    """

    kind: ClassVar[str] = "omniscient_travel_m"
    label: ClassVar[str] = "distance travelled if all were known"
    unit: ClassVar[str] = "m"
    topic: ClassVar[str] = "effort"

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return how far the worker travels to each task that is matched."""
        matched = _column(run, "matched_m")
        return None if matched is None else matched.dropna()


class OmniscientSuccess(TaskShare):
    """Share of offered tasks that the same matching finds a worker for, at their first offer (truth).

    A method that offers a task again, while people move, may do better; compare `success_rate`.
    """

    kind: ClassVar[str] = "omniscient_success_rate"
    label: ClassVar[str] = "tasks taken if all were known"
    topic: ClassVar[str] = "tasks"

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return 1 for each task that is matched."""
        matched = _column(run, "matched_m")
        return None if matched is None else matched.notna().astype("float64")
