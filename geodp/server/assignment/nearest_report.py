"""Offers to those who seem to be nearest, from reports that may be noisy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.public.events import Note, Reason
from geodp.public.messages import Offer, Task
from geodp.public.release import Points
from geodp.server.assignment import Assignment
from geodp.server.expected_acceptance import blurred_willingness
from geodp.server.reward_shares import funded
from geodp.server.view import ServerView


class NearestReport(Assignment):
    """Ask the workers who reported nearest to a task, one more until somebody accepts with the target probability.

    Whom it asks it asks by name, wherever they truly are. A worker's willingness is averaged over where she may be,
    given her report and the public law of its noise (flat prior); answers are taken as independent. All tasks of a
    batch get the same reward.
    """

    kind: ClassVar[str] = "nearest_report"
    reads: ClassVar[frozenset[str]] = frozenset({"points"})
    plans_circles: ClassVar[bool] = False

    target_success: float = Field(0.9, gt=0, lt=1)
    """Probability that somebody accepts a task, to be reached by asking enough workers."""
    max_recipients: int = Field(200, ge=1)
    """At most so many workers are asked about a task in the first round, whether or not the target is reached."""
    widen: float = Field(1.5, ge=1)
    """Factor on the number of workers with every re-offer; those asked before are asked again."""

    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        """Decide whom to ask about every task of a batch."""
        if view.release is None:
            return [_no_offer(task, Reason.NO_RELEASE) for task in tasks]
        if not isinstance(view.release, Points):
            raise UsageError("server.assignment: 'nearest_report' reads points that phones report, set curator: null")
        minimum = max(view.minimum_reward, view.acceptance.minimum_reward or 0.0)
        pays = funded([task.arrived_s for task in tasks], view.purse, minimum)
        reward = min(view.uniform_reward, view.purse / max(int(pays.sum()), 1) * (1 - 1e-12))
        rich = [task for task, paid in zip(tasks, pays, strict=True) if paid]
        offers = iter(self._planned(rich, view, view.release, reward) if rich else [])
        return [
            next(offers) if paid else _no_offer(task, Reason.PURSE_EMPTY)
            for task, paid in zip(tasks, pays, strict=True)
        ]

    def _planned(self, tasks: list[Task], view: ServerView, points: Points, reward: float) -> list[Offer]:
        wider = self.widen**view.round
        most = min(math.ceil(self.max_recipients * wider), points.size)
        distance, report = nearest(points, tasks, most)
        law: Any = points.channel  # laws are values that can be hashed, which their protocol cannot say
        chance = blurred_willingness(view.acceptance, reward, law).at(distance)
        asked, success = self.enough(chance, wider)
        return [
            self._offer(task, reward, points.who[report[i, : asked[i]]], float(success[i]), points)
            for i, task in enumerate(tasks)
        ]

    def enough(self, chance: Array, wider: float = 1.0) -> tuple[npt.NDArray[np.int64], Array]:
        """Return how many of the nearest to ask about each task, and the success that this plans.

        `chance` has a row per task, nearest workers first; those who cannot accept are not asked.
        """
        if chance.shape[1] == 0:
            return np.zeros(len(chance), dtype=np.int64), np.zeros(len(chance))
        with np.errstate(divide="ignore"):
            nobody = np.cumsum(np.log1p(-chance), axis=1)  # ln of the probability that all of the first k decline
        missing = nobody > math.log1p(-self.target_success) * (1 - 1e-12)
        possible = (chance > 0).sum(axis=1)
        first_round = np.minimum(missing.sum(axis=1) + 1, self.max_recipients)
        asked = np.minimum(np.ceil(first_round * wider).astype(np.int64), possible)
        success = np.where(asked > 0, -np.expm1(nobody[np.arange(len(chance)), np.maximum(asked, 1) - 1]), 0.0)
        return asked, success

    def _offer(self, task: Task, reward: float, who: npt.NDArray[np.str_], success: float, points: Points) -> Offer:
        if who.size == 0:
            return _no_offer(task, Reason.BEYOND_REACH)
        short = success < self.target_success * (1 - 1e-9) and points.size > who.size
        return Offer(
            task=task.task,
            reward=reward,
            radius_m=math.nan,  # there is no circle
            uncapped_radius_m=math.nan,
            planned_success=success,
            density_per_m2=math.nan,
            expected_workers=float(who.size),
            notes=(Note.CAPPED,) if short else (),
            recipients=tuple(who.tolist()),
        )


def nearest(points: Points, tasks: Sequence[Task], count: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return distances and rows of the nearest reports of each task, nearest first."""
    if count == 0:
        return np.empty((len(tasks), 0)), np.empty((len(tasks), 0), dtype=np.int64)
    places = np.array([(task.x_m, task.y_m) for task in tasks])
    distance, report = _tree(points).query(places, k=count)
    return distance.reshape(len(tasks), count), report.reshape(len(tasks), count)


@lru_cache(maxsize=2)  # one set of reports serves the batches of offers until the next one
def _tree(points: Points) -> Any:
    from scipy.spatial import cKDTree

    return cKDTree(np.column_stack([points.x_m, points.y_m]))


def _no_offer(task: Task, reason: str) -> Offer:
    return Offer(task.task, 0.0, math.nan, math.nan, 0.0, math.nan, 0.0, unreachable=reason)
