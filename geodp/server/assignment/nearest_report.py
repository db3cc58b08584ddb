"""Offers to those who seem to be nearest, from reports that may be noisy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.public.acceptance import Acceptance
from geodp.public.channels import Channel
from geodp.public.coordinate_laplace import CoordinateLaplaceChannel
from geodp.public.events import Note, Reason
from geodp.public.messages import Named, Offer, Task
from geodp.public.policy_graph import GraphChannel
from geodp.public.release import Cells, Points
from geodp.public.tree_metric import TreeChannel
from geodp.server.assignment import Assignment, ServerView


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
    """Maximum number of workers asked about a task in the first round, whether or not the target is reached."""
    widen: float = Field(1.5, ge=1)
    """Factor on the number of workers with every re-offer; those asked before are asked again."""

    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        """Decide whom to ask about every task of a batch."""
        return view.plan_funded(tasks, lambda rich, release: self._plan(rich, view, release))

    def _plan(self, tasks: list[Task], view: ServerView, points: Cells | Points) -> list[Offer]:
        if not isinstance(points, Points):
            raise UsageError("server.assignment: 'nearest_report' reads points that phones report, set curator: null")
        wider, reward = self.widen**view.round, view.equal_reward(len(tasks))
        most = min(math.ceil(self.max_recipients * wider), points.size)
        chance, report = self._likeliest(points, tasks, most, view, reward)
        asked, success = self.enough(chance, wider)
        return [
            self._offer(task, reward, points.who[report[i, : asked[i]]], float(success[i]), points)
            for i, task in enumerate(tasks)
        ]

    def _likeliest(
        self, points: Points, tasks: list[Task], most: int, view: ServerView, reward: float
    ) -> tuple[Array, npt.NDArray[np.int64]]:
        """Return expected acceptance and rows of the nearest reports of each task, the likeliest first.

        Where all reports have one law the nearest are the likeliest. Where groups have laws of their own, those of
        each are looked through, and everyone is judged by her own: a near report says less when its noise is wide.
        """
        chances, reports = [], []
        for part, rows in split_by_law(points):
            distance, row = nearest(part, tasks, min(most, part.size))
            law: Any = part.channel  # laws are values that can be hashed, which their protocol cannot say
            chances.append(expected_acceptance(view.acceptance, reward, law).at(distance))
            reports.append(rows[row])
        if len(chances) == 1:
            return chances[0], reports[0]
        chance, report = np.concatenate(chances, axis=1), np.concatenate(reports, axis=1)
        order = np.argsort(-chance, axis=1, kind="stable")[:, :most]
        return np.take_along_axis(chance, order, axis=1), np.take_along_axis(report, order, axis=1)

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
            return Offer.refuse(task, Reason.BEYOND_REACH)
        short = success < self.target_success * (1 - 1e-9) and points.size > who.size
        return Offer(
            task=task.task,
            reward=reward,
            target=Named(tuple(who.tolist())),
            planned_success=success,
            expected_workers=float(who.size),
            notes=(Note.CAPPED,) if short else (),
        )


@lru_cache(maxsize=2)  # one set of reports serves the batches of offers until the next one
def split_by_law(points: Points) -> list[tuple[Points, npt.NDArray[np.int64]]]:
    """Return the reports of each law by themselves, and their rows among all."""
    if points.group is None:
        return [(points, np.arange(points.size))]
    parts = zip(points.of_each_law(), points.by_law(), strict=True)
    return [(part, rows) for part, (_, rows) in parts]


def nearest(points: Points, tasks: Sequence[Task], count: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return distances and rows of the nearest reports of each task, nearest first."""
    if count == 0:
        return np.empty((len(tasks), 0)), np.empty((len(tasks), 0), dtype=np.int64)
    places = np.array([(task.x_m, task.y_m) for task in tasks])
    distance, report = _tree(points).query(places, k=count)
    return distance.reshape(len(tasks), count), report.reshape(len(tasks), count)


@lru_cache(maxsize=64)  # one set of reports, of some groups, serves the batches of offers until the next one
def _tree(points: Points) -> Any:
    from scipy.spatial import cKDTree

    return cKDTree(np.column_stack([points.x_m, points.y_m]))


_DISTANCES = 240  # entries of the table
_RADII = 160  # quantiles of the displacement
_ANGLES = 48  # over half a turn; the other half mirrors it
_FURTHEST = 9.23  # in 1/ε: 99.9 % of displacements are shorter


@dataclass(frozen=True, eq=False)
class ExpectedAcceptance:
    """Mean probability of acceptance against reported distance, for one reward."""

    distance_m: Array
    probability: Array

    def at(self, distance_m: npt.ArrayLike) -> Array:
        """Return the mean probability at reported distances; beyond the table it is zero."""
        return np.interp(np.asarray(distance_m, dtype=np.float64), self.distance_m, self.probability, right=0.0)


@lru_cache(maxsize=256)
def expected_acceptance(acceptance: Acceptance, reward: float, channel: Any) -> ExpectedAcceptance:
    """Tabulate the mean willingness for a reward under a `Channel`; None: reports are taken as they are."""
    if channel is None:
        distance = np.linspace(0.0, acceptance.max_travel_m, 10 * _DISTANCES)
        return ExpectedAcceptance(distance, acceptance.probability(reward, distance))
    radius = _displacements(channel)
    distance = np.linspace(0.0, acceptance.max_travel_m + _furthest(channel), _DISTANCES)
    turn = np.cos((np.arange(_ANGLES) + 0.5) * np.pi / _ANGLES)
    probability = np.empty(_DISTANCES)
    for place, reported in enumerate(distance):
        square = reported**2 + radius[:, None] ** 2 - 2 * reported * radius[:, None] * turn  # law of cosines
        probability[place] = acceptance.probability(reward, np.sqrt(np.maximum(square, 0.0))).mean()
    # θ falls with distance and f is symmetric about its peak, so the mean falls too: only the sum's steps do not
    return ExpectedAcceptance(distance, np.minimum.accumulate(probability))


def _displacements(channel: Channel) -> Array:
    """Return evenly weighted distances between place and report; a planar Laplace's radius is Gamma(2, 1/ε)."""
    from scipy.special import gammaincinv

    if isinstance(channel, TreeChannel | GraphChannel | CoordinateLaplaceChannel):
        return channel.displacement_quantiles(_RADII)
    level = (np.arange(_RADII) + 0.5) / _RADII
    return np.asarray(gammaincinv(2.0, level) / channel.epsilon_per_m)


def _furthest(channel: Channel) -> float:
    """Return how far nearly all reports lie from their places at most."""
    if isinstance(channel, TreeChannel | GraphChannel | CoordinateLaplaceChannel):
        return float(_displacements(channel)[-1])
    return _FURTHEST / channel.epsilon_per_m
