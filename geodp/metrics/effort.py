"""What tasks cost: workers asked, ways, radio hops and money."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from geodp.metrics import Measured, Metric, TaskMetric
from geodp.metrics.intervals import Z
from geodp.metrics.protocol import find_decided_tasks, first_offers, plans_regions
from geodp.public.events import Kind

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class Effort(Metric):
    """Metrics of what a task costs: less is better."""

    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "effort"


class NotifiedWorkers(Effort, TaskMetric):
    """Different workers who were asked, mean over offered tasks (ANW).

    In all rounds together. Without a maximum number of recipients everyone inside a circle or region is asked, the busy
    ones too; whoever is asked again in a wider one counts once. Tasks undecided when the run ends are left out. With
    `worker_selected` it counts those who looked at the posted task. The server never sees this number.

    Reference
    ---------
    To, Ghinita, Shahabi 2014, average number of notified workers.
    """

    kind: ClassVar[str] = "notified_workers"
    label: ClassVar[str] = "workers asked per task"
    unit: ClassVar[str] = "workers"

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return how many workers were asked about each offered task (0 where nobody was in the circle)."""
        settled = first_offers(run).index.intersection(find_decided_tasks(run).index)
        asked = run.notified.groupby("task").size()
        return asked.reindex(settled, fill_value=0).astype("float64")


class Messages(Effort, TaskMetric):
    """Times that somebody was asked, mean over offered tasks: whoever is asked again by a re-offer counts again."""

    kind: ClassVar[str] = "messages"
    label: ClassVar[str] = "messages per task"
    unit: ClassVar[str] = "messages"

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return how often people were asked about each offered task."""
        if run.scenario.server.mode == "worker_selected":
            return None
        settled = first_offers(run).index.intersection(find_decided_tasks(run).index)
        return run.answers.groupby("task").size().reindex(settled, fill_value=0).astype("float64")


class RoundsAsked(Effort, TaskMetric):
    """Rounds in which the first offer was made until somebody took the task or nobody was left, mean over tasks.

    Each takes `server.answer_window_s`. Undefined with `worker_selected`.
    """

    kind: ClassVar[str] = "rounds"
    label: ClassVar[str] = "rounds per task"
    unit: ClassVar[str] = "rounds"

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the rounds of each answered first offer."""
        server = run.scenario.server
        if server.mode == "worker_selected":
            return None
        offers = first_offers(run)
        waited_s = (offers["answered_s"] - offers["time_s"]).astype("float64").dropna()
        return (waited_s / server.answer_window_s).round().sort_index()


class NotifiedPerSuccess(Effort):
    """Workers asked about all decided tasks that were offered, for each of them that was taken.

    A ratio of two sums over tasks: what a success costs in disturbed people, failures included. Interval: delta method.
    Undefined where no task was taken; only for regions of cells.
    """

    kind: ClassVar[str] = "notified_per_success"
    label: ClassVar[str] = "workers asked per task taken"
    unit: ClassVar[str] = "workers"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Divide all who were asked by the tasks taken."""
        if not plans_regions(run):
            return {}
        asked = NotifiedWorkers().per_task(run)
        taken = (find_decided_tasks(run)["outcome"].reindex(asked.index) == "success").astype("float64")
        if taken.sum() == 0:
            return {self.kind: Measured(None, has_interval=True)}
        ratio = float(asked.sum() / taken.sum())
        half = Z * math.sqrt(float(((asked - ratio * taken) ** 2).sum())) / float(taken.sum())
        return {self.kind: Measured(ratio, ratio - half, ratio + half, has_interval=True)}


class Hop(Effort, TaskMetric):
    """Diagonal of the smallest box around the workers who were asked, in hops of two radio ranges, mean over tasks.

    The box lies along the axes. Tasks about which nobody was asked have none and are left out; so are those undecided
    when the run ends. Only for regions of cells.

    Reference
    ---------
    To, Ghinita and Shahabi 2014, hop count of the infrastructure-less mode.
    """

    kind: ClassVar[str] = "hop"
    label: ClassVar[str] = "spread of those asked"
    unit: ClassVar[str] = "hops"

    radio_range_m: float = Field(100.0, gt=0)
    """Range of a phone's own radio, metres."""

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the hops of each decided task about which somebody was asked."""
        if not plans_regions(run):
            return None
        asked = run.answers.groupby("task")[["x_m", "y_m"]]
        sides = asked.max() - asked.min()
        diagonal_m: pd.Series = (sides["x_m"] ** 2 + sides["y_m"] ** 2) ** 0.5
        return diagonal_m[diagonal_m.index.isin(find_decided_tasks(run).index)] / (2 * self.radio_range_m)


class TravelDistance(Effort, TaskMetric):
    """Distance from the chosen worker to the task when setting out, mean over tasks taken (WTD).

    Trips that are still under way when the run ends count: leaving them out would favour short ones.

    Reference
    ---------
    To, Ghinita, Shahabi 2014, worker travel distance.
    """

    kind: ClassVar[str] = "travel_distance_m"
    label: ClassVar[str] = "distance travelled"
    unit: ClassVar[str] = "m"

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return the distance travelled to each task that was taken."""
        import numpy as np
        import pandas as pd

        events = run.events
        start = events[events["kind"] == Kind.DEPARTURE].drop_duplicates("task", keep="last").set_index("task")
        place = run.tasks.loc[start.index]
        distance_m = np.hypot(start["x_m"] - place["x_m"], start["y_m"] - place["y_m"])
        return pd.Series(distance_m, index=start.index).sort_index()


class ExecutionCost(Effort, TaskMetric):
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
    label: ClassVar[str] = "total distance of all who were asked"
    unit: ClassVar[str] = "m"
    summed: ClassVar[bool] = True

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return each task's share of the cost."""
        cost_m = run.notified.groupby("task")["distance_m"].sum()
        return cost_m.reindex(run.tasks.index, fill_value=0.0).astype("float64")


class RewardSpent(Effort, TaskMetric):
    """Reward promised to chosen workers who set out, summed over tasks, and what is paid for tasks called off too late.

    An offer that nobody takes costs nothing. Interval: of the sum of as many independent tasks,
    n · mean ± t · sd · √n.
    """

    kind: ClassVar[str] = "reward_spent"
    label: ClassVar[str] = "reward spent"
    unit: ClassVar[str] = "reward"
    summed: ClassVar[bool] = True

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return what each task cost, 0 where nobody set out."""
        return run.tasks["reward"].astype("float64").fillna(0.0)


class RewardPerCompleted(Effort, TaskMetric):
    """Reward of a completed task, mean over the tasks that were completed."""

    kind: ClassVar[str] = "reward_per_completed"
    label: ClassVar[str] = "reward per completed task"
    unit: ClassVar[str] = "reward"

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return the reward of each completed task."""
        tasks = run.tasks
        return tasks.loc[tasks["completed_s"].notna(), "reward"].astype("float64")
