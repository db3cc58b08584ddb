"""Offers to those who can probably reach a task, from where they reported to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.public.channels import Channel
from geodp.public.coordinate_laplace import CoordinateLaplaceChannel
from geodp.public.messages import Offer, Task
from geodp.public.policy_graph import GraphChannel
from geodp.public.release import Cells, Points
from geodp.public.tree_metric import TreeChannel
from geodp.server.assignment import Assignment, ServerView
from geodp.server.assignment.nearest_report import expected_acceptance, nearest, split_by_law
from geodp.server.named_workers import MOST_NAMED, offer_by_name, rows_named


class Reachability(Assignment):
    """Ask the workers who can most probably reach a task, given their noisy reports; their phones know for certain.

    The server filters: of each worker it works out the probability that her true place lies within the maximum travel
    distance of the task, given her report (and the blurred place of the task, where requesters blur it) and the public
    laws of the noise, with no prior. It asks those above the threshold by name, the likeliest first, and passes over
    whoever is on the way, has yet to answer, or was asked before: a re-offer goes to the next likeliest. The phone
    filters again: a worker who is truly too far declines. All tasks of a batch get the same reward.

    Reference
    ---------
    [recalled] To, Shahabi, Xiong 2018, Privacy-preserving online task assignment in spatial crowdsourcing with
    untrusted server (ICDE): reachability from two uncertain places, then from one, then exactly. Its workers accept
    whatever they reach, and are asked one after another.
    """

    kind: ClassVar[str] = "reachability"
    reads: ClassVar[frozenset[str]] = frozenset({"points"})
    plans_circles: ClassVar[bool] = False

    threshold: float = Field(0.5, gt=0, le=1)
    """Least probability of reaching a task with which a worker is asked about it."""
    max_recipients: int = Field(20, ge=1, le=10_000)
    """Maximum number of workers who are asked about a task at once, where no `target_success` says how many."""
    target_success: float | None = Field(None, gt=0, lt=1)
    """Probability that somebody accepts, to be reached by asking enough workers at once, 1,000 at most; null: as many
    as `max_recipients` are asked."""

    def idle_fields(self) -> dict[str, str]:
        """Return the maximum number where a target says how many are asked."""
        return {} if self.target_success is None else {"max_recipients": "with a target_success"}

    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        """Decide whom to ask about every task of a batch."""
        return view.plan_funded(tasks, lambda rich, release: self._plan(rich, view, release))

    def _plan(self, tasks: list[Task], view: ServerView, points: Cells | Points) -> list[Offer]:
        if not isinstance(points, Points):
            raise UsageError("server.assignment: 'reachability' reads points that phones report, set curator: null")
        reward = view.equal_reward(len(tasks))
        free = np.ones(points.size, dtype=np.bool_)
        free[rows_named(points.who, view.engaged)] = False
        found = [self._judge(tasks, view, points, free, rows) for rows in range(len(split_by_law(points)))]
        offers = []
        for task, *each in zip(tasks, *found, strict=True):
            within, willing, row = (np.concatenate(column) for column in zip(*each, strict=True))
            if len(each) > 1:  # the likeliest of all groups first
                order = np.argsort(-within, kind="stable")[: self._most]
                within, willing, row = within[order], willing[order], row[order]
            asked = within >= self.threshold
            offers.append(offer_by_name(task, reward, points.who[row[asked]], willing[asked], self.target_success))
        return offers

    @property
    def _most(self) -> int:
        """Maximum number of workers who are asked about a task."""
        return self.max_recipients if self.target_success is None else MOST_NAMED

    def _judge(
        self, tasks: list[Task], view: ServerView, points: Points, free: npt.NDArray[np.bool_], which: int
    ) -> list[tuple[Array, Array, npt.NDArray[np.int64]]]:
        """Return for each task the chances to be within reach and to accept, by their own law, and the rows."""
        part, rows = split_by_law(points)[which]
        law = _as_key(part.channel)
        within = reach_probability(law, view.acceptance.max_travel_m, view.task_epsilon_per_m)
        willing = expected_acceptance(view.acceptance, view.equal_reward(len(tasks)), law)
        likeliest = self._likeliest(tasks, view, part, free[rows])
        return [(within.at(far), willing.at(far), rows[row]) for _, far, row in likeliest]

    def _likeliest(
        self, tasks: list[Task], view: ServerView, points: Points, free: npt.NDArray[np.bool_]
    ) -> Iterator[tuple[Task, Array, npt.NDArray[np.int64]]]:
        """Yield the nearest reports of workers who can be asked, as many as may be, with how far off they are.

        Those who cannot be asked are few: a task that finds too many of them among its nearest looks twice as far.
        """
        most = self._most
        many = min(2 * most, points.size)
        for task, near, rows in zip(tasks, *nearest(points, tasks, many), strict=True):
            before = rows_named(points.who, view.named.get(task.task, ()))
            far, row = near, rows
            while True:
                can = free[row] & ~np.isin(row, before)
                if can.sum() >= most or row.size == points.size:
                    break
                far, row = (found[0] for found in nearest(points, [task], min(2 * row.size, points.size)))
            yield task, far[can][:most], row[can][:most]


def _as_key(channel: Channel | None) -> Any:
    return channel  # laws are values that can be hashed, which their protocol cannot say


_DISTANCES = 400  # entries of the table
_RADII = 128  # nodes over the distance between place and report
_TASK_RADII, _TASK_ANGLES = 32, 32  # nodes over the noise of a task's place
_TAIL = 40.0  # in 1/ε: e^-40 is beyond what doubles can tell


@dataclass(frozen=True, eq=False)
class ReachProbability:
    """Probability of reaching a task against the distance between the reports."""

    distance_m: Array
    probability: Array

    def at(self, distance_m: npt.ArrayLike) -> Array:
        """Return the probability at reported distances; beyond the table it is zero."""
        return np.interp(np.asarray(distance_m, dtype=np.float64), self.distance_m, self.probability, right=0.0)


@lru_cache(maxsize=64)
def reach_probability(channel: Any, reach_m: float, task_epsilon_per_m: float | None = None) -> ReachProbability:
    """Tabulate P(|x - t| ≤ reach) against |z - t|, or |z - t'| where the task's place t' is blurred as well.

    Parameters
    ----------
    channel
        The law of a report z given the place x (a `Channel`); None: reports are exact.
    reach_m
        How far a worker travels at most, metres.
    task_epsilon_per_m
        ε of the planar Laplace noise on the place of a task; None: it is known.
    """
    rates = [rate for rate in (None if channel is None else channel.epsilon_per_m, task_epsilon_per_m) if rate]
    noise_m = sum(_TAIL / rate for rate in rates)
    steps = np.linspace(0, 1, _DISTANCES)
    out_m = min(noise_m, 12 * reach_m)
    # entries lie densest about the reach, where the probability falls
    distance = np.unique(np.concatenate([reach_m * (1 - (1 - steps) ** 2), reach_m + out_m * steps**2, [reach_m]]))
    known = ReachProbability(distance, reach_share(channel, reach_m, distance))
    if task_epsilon_per_m is None:
        return known
    nodes, weights = _gamma_nodes()
    turn = np.cos((np.arange(_TASK_ANGLES) + 0.5) * np.pi / _TASK_ANGLES)
    radius = nodes / task_epsilon_per_m
    square = distance[:, None, None] ** 2 + radius[:, None] ** 2 - 2 * distance[:, None, None] * radius[:, None] * turn
    share = known.at(np.sqrt(np.maximum(square, 0.0)))  # given how far the task truly is from the report
    return ReachProbability(distance, share.mean(axis=2) @ weights)


def reach_share(channel: Channel | None, reach_m: float, distance_m: Array) -> Array:
    """Return the probability that a place lies within reach, given how far off its report is.

    About the report, a circle of radius r has a share acos((d² + r² - R²) / 2dr)/π of its turn within reach R. Planar
    Laplace radii have the density ε²r·exp(-εr); with r = middle - half·cos(φ) over the radii where the share is
    neither 0 nor 1, the integrand has no roots at its ends, and Gauss' nodes over φ give nearly all digits.
    """
    if channel is None:
        return np.asarray(distance_m <= reach_m, dtype=np.float64)
    if isinstance(channel, TreeChannel | GraphChannel | CoordinateLaplaceChannel):
        radius = channel.displacement_quantiles(4 * _RADII)
        return np.array([_turn_share(radius, far, reach_m).mean() for far in distance_m.tolist()])
    rate, far = channel.epsilon_per_m, distance_m[:, None]
    low = np.abs(reach_m - far)
    high = np.minimum(reach_m + far, low + _TAIL / rate)
    nodes, weights = np.polynomial.legendre.leggauss(_RADII)
    angle = (nodes + 1) * np.pi / 2
    half = (high - low) / 2
    radius = (low + high) / 2 - half * np.cos(angle)
    slope = half * np.sin(angle) * np.pi / 2
    partly = (rate**2 * radius * np.exp(-rate * radius) * _turn_share(radius, far, reach_m) * slope) @ weights
    wholly = np.where(distance_m < reach_m, 1 - (1 + rate * low[:, 0]) * np.exp(-rate * low[:, 0]), 0.0)
    return np.asarray(np.clip(wholly + partly, 0.0, 1.0))


def _turn_share(radius: Array, far_m: Any, reach_m: float) -> Array:
    """Return the share of a circle about a point so far away that lies within reach."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = (far_m**2 + radius**2 - reach_m**2) / (2 * far_m * radius)
    whole = np.where(radius <= reach_m, -1.0, 1.0)  # about the centre itself
    cosine = np.where(np.isfinite(cosine), cosine, whole)
    return np.asarray(np.arccos(np.clip(cosine, -1.0, 1.0)) / np.pi)


def _gamma_nodes() -> tuple[Array, Array]:
    """Return nodes and weights of the mean over Gamma(2), the radius of planar Laplace noise in units of 1/ε."""
    from scipy.special import roots_genlaguerre

    nodes, weights = roots_genlaguerre(_TASK_RADII, 1.0)
    return np.asarray(nodes), np.asarray(weights / weights.sum())
