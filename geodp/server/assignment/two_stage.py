"""Offers to those whose reported area is nearest on average; their phones, which know the true distance, decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.public.acceptance import Acceptance
from geodp.public.messages import Offer, Task
from geodp.public.place_sets import PlaceSets
from geodp.public.release import Cells, Points
from geodp.server.assignment import Assignment, ServerView
from geodp.server.assignment.nearest_report import expected_acceptance, nearest
from geodp.server.named_workers import offer_by_name, rows_named

Rows = npt.NDArray[np.int64]


class TwoStage(Assignment):
    """Ask those with the least expected distance over what they reported; who is truly too far declines.

    First stage, on the server: workers are ranked by the mean distance of the task to the places of their report (a
    rectangle, several places, or the report itself where it follows a law of noise), and asked by name, the nearest
    first, until somebody accepts with the target probability, places being alike. It passes over whoever is on the way,
    has yet to answer, or was asked before. Second stage, on the phone: a worker who is truly further away than she
    travels declines, and all others decide by their true distance. All tasks of a batch get the same reward.

    Reference
    ---------
    [recalled] Pournajaf, Xiong, Sunderam, Goryczka 2014, Spatial task assignment for crowd sensing with cloaked
    locations (MDM). Theirs covers as many of all tasks as possible at once; ours is asked task by task.
    """

    kind: ClassVar[str] = "two_stage"
    reads: ClassVar[frozenset[str]] = frozenset({"points", "cloaks", "candidates"})
    plans_circles: ClassVar[bool] = False

    target_success: float = Field(0.9, gt=0, lt=1)
    """Probability that somebody accepts a task, to be reached by asking enough workers."""
    max_recipients: int = Field(200, ge=1, le=10_000)
    """Maximum number of workers asked about a task at once, whether or not the target is reached."""

    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        """Decide whom to ask about every task of a batch."""
        return view.plan_funded(tasks, lambda rich, release: self._plan(rich, view, release))

    def _plan(self, tasks: list[Task], view: ServerView, points: Cells | Points) -> list[Offer]:
        if not isinstance(points, Points):
            raise UsageError(
                "server.assignment: 'two_stage' reads what people report (mechanism 'cloak', or a device with "
                "curator: null), not counts"
            )
        reward = view.equal_reward(len(tasks))
        free = np.ones(points.size, dtype=np.bool_)
        free[rows_named(points.who, view.engaged)] = False
        offers = []
        for task in tasks:
            can = free.copy()
            can[rows_named(points.who, view.named.get(task.task, ()))] = False
            rows, far = rank_expected(points, task, can, self.max_recipients)
            chance = _chances(points, task, rows, far_m=far, reward=reward, acceptance=view.acceptance)
            able = chance > 0  # whoever cannot reach the task from anywhere is not asked
            offers.append(offer_by_name(task, reward, points.who[rows[able]], chance[able], self.target_success))
        return offers


def rank_expected(points: Points, task: Task, can: npt.NDArray[np.bool_], most: int) -> tuple[Rows, Array]:
    """Return the rows with the least expected distance to a task, least first, of those that can be asked.

    The mean distance to a set is never less than the distance to its mean (Jensen), so once the next nearest mean lies
    beyond the last of those found, no other set can be nearer.
    """
    if not isinstance(points, PlaceSets):
        many = min(most + int(np.count_nonzero(~can)), points.size)
        far, rows = (found[0] for found in nearest(points, [task], many))
        keep = can[rows]
        return rows[keep][:most], far[keep][:most]
    many = min(2 * most, points.size)
    while True:
        centre_far, rows = (found[0] for found in nearest(points, [task], many))
        reached = float(centre_far[-1]) if many else np.inf
        rows = rows[can[rows]]
        far = points.expected_distance_m(task.x_m, task.y_m, rows)
        order = np.argsort(far, kind="stable")[:most]
        if many == points.size or (order.size == most and far[order[-1]] <= reached):
            return rows[order], far[order]
        many = min(2 * many, points.size)


def _chances(points: Points, task: Task, rows: Rows, far_m: Array, reward: float, acceptance: Acceptance) -> Array:
    """Return the mean probability with which each of some people accepts, over where she may be."""
    if not isinstance(points, PlaceSets):
        law: Any = points.channel  # laws are values that can be hashed, which their protocol cannot say
        return expected_acceptance(acceptance, reward, law).at(far_m)
    x_m, y_m = points.list_places(rows)
    distance = np.hypot(x_m - task.x_m, y_m - task.y_m)
    chance = acceptance.probability(reward, distance)
    return np.asarray(np.where(distance <= acceptance.max_travel_m, chance, 0.0).mean(axis=1)) if rows.size else far_m
