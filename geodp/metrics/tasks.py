"""What became of the tasks: how many there were, were taken, waited, could not be offered, and why they failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric, TaskMetric, TaskShare
from geodp.metrics.intervals import share
from geodp.metrics.protocol import find_decided_tasks, first_offers, first_plans, plans_regions
from geodp.public.events import REGION_FAILURES

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class Fate(Metric):
    """Metrics of what became of tasks."""

    topic: ClassVar[str] = "tasks"


class SuccessRate(Fate, TaskShare):
    """Share of tasks that a worker took (ASR): taken / (arrived - censored).

    Tasks that the server found unreachable or gave up count as failures. Tasks still undecided when the run
    ends are censored: counted in `censored_tasks` and left out here. Interval: Wilson.

    Reference
    ---------
    To, Ghinita, Shahabi 2014, "A Framework for Protecting Worker Location Privacy in Spatial Crowdsourcing",
    assignment success rate.
    """

    kind: ClassVar[str] = "success_rate"
    label: ClassVar[str] = "tasks taken"
    better: ClassVar[str] = "higher"

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return 1 for a task that was taken, 0 for one that was not; censored tasks are left out."""
        return (find_decided_tasks(run)["outcome"] == "success").astype("float64")


class UnreachableShare(Fate, TaskShare):
    """Share of tasks that the server never offered to anyone, among all it came to plan.

    The reason of each is in the event log. Tasks that arrive after the last planning round are not counted.
    Interval: Wilson.
    """

    kind: ClassVar[str] = "unreachable_share"
    label: ClassVar[str] = "tasks never offered"
    better: ClassVar[str] = "lower"

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return 1 for a planned task that was never offered, else 0."""
        import pandas as pd

        planned = first_plans(run).index
        return pd.Series(~planned.isin(first_offers(run).index), index=planned).astype("float64")


class WaitingTime(Fate, TaskMetric):
    """Time from a task's arrival to its completion, mean over the tasks that were completed.

    Workers who set out before the run ends arrive after it, so that long trips are not left out.
    """

    kind: ClassVar[str] = "waiting_time_s"
    label: ClassVar[str] = "time until a task is done"
    unit: ClassVar[str] = "s"
    better: ClassVar[str] = "lower"

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return the waiting time of each completed task."""
        return (run.tasks["completed_s"] - run.tasks["arrived_s"]).dropna()


class FailureReasons(Fate):
    """Share of the decided tasks that failed for each reason (`failed_<reason>`), the event log's own words.

    Every reason for which a task offered to a region can fail has a key, 0 where it did not happen; each task's own
    reason is in the event log. Interval: Wilson. Only for regions of cells.
    """

    kind: ClassVar[str] = "failure_reasons"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"

    @classmethod
    def key_starts(cls) -> tuple[str, ...]:
        """Return how the key of any reason begins."""
        return ("failed_",)

    @classmethod
    def label_of(cls, key: str) -> str:
        """Return the words for one reason."""
        return f"tasks that failed: {key.removeprefix('failed_').replace('_', ' ')}"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count the failures by reason."""
        if not plans_regions(run):
            return {}
        tasks = find_decided_tasks(run)
        reasons = tasks.loc[tasks["outcome"] == "failure", "reason"]
        return {f"failed_{why}": share(int((reasons == str(why)).sum()), len(tasks)) for why in REGION_FAILURES}


class TasksArrived(Fate):
    """Number of tasks that arrived during the run."""

    kind: ClassVar[str] = "tasks_arrived"
    label: ClassVar[str] = "tasks arrived"
    unit: ClassVar[str] = "tasks"
    public: ClassVar[bool] = True

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count the tasks."""
        return {self.kind: Measured(len(run.tasks))}


class CensoredTasks(Fate):
    """Number of tasks undecided when the run ended; they are left out of `success_rate`."""

    kind: ClassVar[str] = "censored_tasks"
    label: ClassVar[str] = "tasks undecided at the end"
    unit: ClassVar[str] = "tasks"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count tasks without a decision."""
        return {self.kind: Measured(len(run.tasks) - len(find_decided_tasks(run)))}
