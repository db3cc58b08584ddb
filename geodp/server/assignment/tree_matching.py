"""Offers to those who reported nearest along a public tree, one named worker after another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.public.acceptance import Acceptance
from geodp.public.messages import Named, Offer, Task
from geodp.public.release import Cells, Points
from geodp.public.tree_metric import PublicTree, TreeChannel
from geodp.server.assignment import Assignment, ServerView
from geodp.server.named_workers import MOST_NAMED, offer_by_name, rows_named

Ids = npt.NDArray[np.int64]


class TreeMatching(Assignment):
    """Match each task, as it comes, to the unmatched worker whose reported leaf is nearest along the public tree.

    Tasks are matched in the order of their arrival and never again. Whoever is on the way to a task, has yet to answer,
    or was asked about this task before is passed over, so a re-offer goes to the next nearest: set `server.reoffers`.
    Of several at one distance the first by name is asked; names are random. All tasks of a batch get the same reward.
    What a plan expects is the worker's mean willingness over where she may be, given her leaf and the law of reports.

    Reference
    ---------
    [recalled] Tao, Tong, Zhou, Shi, Chen, Xu 2020, Differentially private online task assignment in spatial
    crowdsourcing: a tree-based approach (ICDE): greedy matching on the tree. Its workers never decline; here they may.
    """

    kind: ClassVar[str] = "tree_matching"
    reads: ClassVar[frozenset[str]] = frozenset({"leaves"})
    plans_circles: ClassVar[bool] = False

    recipients: int = Field(1, ge=1, le=1000)
    """Workers who are asked about a task at once, where no `target_success` says how many; 1 as in the source."""
    target_success: float | None = Field(None, gt=0, lt=1)
    """Probability that somebody accepts, to be reached by asking enough workers at once, 1,000 at most; null: as many
    as `recipients` are asked."""

    def idle_fields(self) -> dict[str, str]:
        """Return the number of recipients where a target says how many are asked."""
        return {} if self.target_success is None else {"recipients": "with a target_success"}

    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        """Decide whom to ask about every task of a batch."""
        return view.plan_funded(tasks, lambda rich, release: self._plan(rich, view, release))

    def _plan(self, tasks: list[Task], view: ServerView, points: Cells | Points) -> list[Offer]:
        if not isinstance(points, Points) or not isinstance(points.channel, TreeChannel):
            raise UsageError(
                "server.assignment: 'tree_matching' reads leaves of a tree that phones report: set curator: null and "
                "device.mechanism: tree_obfuscation"
            )
        reward, law = view.equal_reward(len(tasks)), points.channel
        reports = _reports(points)
        unmatched = Unmatched(reports, points.who, view.engaged)
        places = law.tree.locate([task.x_m for task in tasks], [task.y_m for task in tasks])
        offers = []
        for task, leaf in zip(tasks, places.tolist(), strict=True):
            most = self.recipients if self.target_success is None else MOST_NAMED
            chosen = unmatched.take(leaf, most, view.named.get(task.task, ()))
            chance = willingness(law, view.acceptance, reward, (task.x_m, task.y_m), reports.leaf[chosen])
            offer = offer_by_name(task, reward, points.who[chosen], chance, self.target_success)
            unmatched.give_back(chosen[len(offer.target.pseudonyms) if isinstance(offer.target, Named) else 0 :])
            offers.append(offer)
        return offers


@dataclass(frozen=True)
class Reports:
    """Reported leaves in the order of the tree, in which every square of it is one run."""

    tree: PublicTree
    leaf: Ids
    """Leaf of each report, in the order of names."""
    report: Ids
    """Reports in the order of the tree, and of names within a leaf."""
    code: Ids
    """Place of each of them in the order of the tree, ascending."""


@lru_cache(maxsize=2)  # one set of reports serves the batches of offers until the next one
def _reports(points: Points) -> Reports:
    channel = points.channel
    assert isinstance(channel, TreeChannel)  # noqa: S101 - for the type checker
    leaf = channel.tree.locate(points.x_m, points.y_m)
    code = channel.tree.in_order(leaf)
    order = np.argsort(code, kind="stable")
    return Reports(channel.tree, leaf, order, code[order])


@dataclass
class Unmatched:
    """The reports of workers who can still be matched."""

    reports: Reports
    who: npt.NDArray[np.str_]
    engaged: frozenset[str]
    _free: npt.NDArray[np.bool_] = field(init=False)
    """Whether each report can be matched, in the order of names."""

    def __post_init__(self) -> None:
        self._free = np.ones(self.who.size, dtype=np.bool_)
        self._free[rows_named(self.who, self.engaged)] = False

    def take(self, leaf: int, count: int, asked_before: Iterable[str]) -> Ids:
        """Match the reports nearest to a leaf, up to a maximum number, and return them.

        The squares around the leaf are looked through from the smallest on; each is one run of reports.
        """
        before = rows_named(self.who, asked_before)
        closed = before[self._free[before]]
        self._free[closed] = False
        code, chosen = int(self.reports.tree.in_order(np.array([leaf]))[0]), np.empty(0, dtype=np.int64)
        for level in range(self.reports.tree.levels + 1):
            first = (code >> (2 * level)) << (2 * level)
            run = slice(*np.searchsorted(self.reports.code, [first, first + 4**level]).tolist())
            inside = self.reports.report[run]
            inside = inside[self._free[inside]]
            few = count - chosen.size
            found = np.sort(inside if inside.size <= few else np.partition(inside, few - 1)[:few])
            self._free[found] = False
            chosen = np.concatenate([chosen, found])
            if chosen.size == count:
                break
        self._free[closed] = True
        return chosen

    def give_back(self, reports: Ids) -> None:
        """Let reports be matched again that were taken and are not needed."""
        self._free[reports] = True


def willingness(
    law: TreeChannel, acceptance: Acceptance, reward: float, place: tuple[float, float], leaf: Ids
) -> Array:
    """Return the mean willingness of those who reported some leaves to come to a place, over where they may be.

    With no prior, a worker's leaf lies about her report as her report does about her leaf. Each level of the tree adds
    the mean over a square without the quarter that was counted before.
    """
    if leaf.size == 0:
        return np.empty(0)
    tree = law.tree
    x, y = tree.grid.centres()
    distance = np.hypot(x - place[0], y[:, None] - place[1])
    total = np.asarray(acceptance.probability(reward, distance))
    column, row = leaf & (tree.grid.columns - 1), leaf >> tree.levels
    before, mean = np.zeros(leaf.size), np.zeros(leaf.size)
    for level, (chance, leaves) in enumerate(zip(law.level_law.tolist(), tree.ring.tolist(), strict=True)):
        square = total[row >> level, column >> level]
        mean += chance * (square - before) / leaves
        before = square
        if level < tree.levels:
            half = total.shape[0] // 2
            total = total.reshape(half, 2, half, 2).sum(axis=(1, 3))
    return mean
