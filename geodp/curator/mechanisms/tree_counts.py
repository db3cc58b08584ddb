"""Counts over time from a tree of noisy partial sums: noise grows with the logarithm of the number of releases."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.curator.continual_counts import ContinualCounts, CountSeries
from geodp.curator.count_noise import CountNoise
from geodp.curator.mechanisms import Snapshot
from geodp.curator.series import Pay, charge_nobody
from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.zcdp import gaussian_scale
from geodp.public.guarantee import Guarantee, Neighbours, Unit
from geodp.public.release import Cells

Ids = npt.NDArray[np.int64]
Law = tuple[float, float]
"""Σw² and Σw⁴ over the Laplace variables in a number."""


class TreeCounts(CountNoise, ContinualCounts):
    """Counts over time as running totals of people who came less those who went, in a tree of noisy partial sums.

    Guarantee
    ---------
    ε-differential privacy for one stay of one worker in one cell, however long, over the whole series (event), against
    everyone but the curator. With a `cap`, ε for everything that one person does in the run (user): only the first so
    many stays of anyone are counted, and who has used them up is missing from later counts. The stream is y_t = c_t -
    c_(t-1) per cell: one stay enters and leaves, which changes it by 2 at most on every level, m stays by 2m. Of T
    releases every dyadic interval gets Lap(b) once, when it is complete, b = 2m·h/ε with h = ⌊log₂ T⌋ + 1 levels (twice
    that where a person is replaced). Charged once, before the first release: ε with a cap; without one a person may
    make a stay at every release, T·ε. `stream: events` counts every presence as an event of its own (b = h/ε; with a
    cap, the first so many presences of anyone).

    Reference
    ---------
    Chan, Shi and Song 2011, Private and continual release of statistics, and Dwork et al. 2010 (p-sums; Zhu et al.
    2017, section 4.3); stays and their cap are ours. `honaker`: Honaker 2015, Efficient use of differentially private
    binary trees (recalled): a node is the inverse-variance mean of itself and of its children's estimates, which is
    least squares on what is past.
    """

    kind: ClassVar[str] = "tree_counts"

    cap: int | None = Field(default=None, ge=1)
    """Only the first so many stays of a person are counted (with `stream: events`, presences): a public number.
    Default: all are, and the promise is about one stay."""
    variant: Literal["plain", "honaker"] = "honaker"
    """`plain`: sum the largest complete intervals; `honaker`: combine all noisy sums that are known best."""
    stream: Literal["stays", "events"] = "stays"
    """`stays`: a running total of those who came less those who went; `events`: every presence by itself."""

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Promise ε for one stay, or with a cap for one person, over the series."""
        unit = Unit.EVENT if self.stream == "stays" else Unit.SNAPSHOT
        whole = unit if self.cap is None else Unit.USER
        return self.make_promise(whole, neighbours, counts)

    def series_guarantee(
        self,
        releases: int,  # noqa: ARG002 - noise follows from it, the promise does not
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        counts: str = "all",
    ) -> Guarantee:
        """Promise the same about all releases together."""
        return self.guarantee(neighbours, counts)

    def fewest_releases(self) -> int:
        """Return the cap: nobody can make more stays than there are releases."""
        return self.cap or 1

    def begin_series(self, releases: int | None = None) -> TreeSeries:
        """Begin a series; its length must be known."""
        if releases is None:
            raise UsageError(f"{self.kind} needs to know how many releases there will be: its noise follows from it")
        if self.cap is not None and self.cap > releases:
            raise UsageError(
                f"cap: nobody can make {self.cap} stays in {releases} releases: a cap of at most {releases} has less "
                "noise and counts the same. Nothing was released or charged."
            )
        return TreeSeries(self, releases)

    def release(self, snapshot: Snapshot, noise: Noise) -> Cells:
        """Publish the only release of a series of one, in which nobody makes more than one stay."""
        alone = snapshot if snapshot.who is not None else replace(snapshot, who=np.arange(snapshot.x_m.size))
        series = TreeSeries(self.model_copy(update={"cap": self.cap and 1}), 1)
        return series.make(alone, noise, number=0, pay=charge_nobody)

    def node_scale(self, releases: int, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return the Laplace scale b of every noisy partial sum, or the one with the variance of its Gaussian."""
        cap, levels = self.cap or 1, count_levels(releases)
        if self.noise == "gaussian":
            return gaussian_scale(self.rho, self.find_node_l2(levels, neighbours)) / math.sqrt(2)
        change = (2 if self.stream == "stays" else 1) * cap * self.change(neighbours)
        return change * levels / self.epsilon

    def find_node_l2(self, levels: int, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return by how much all partial sums change, as the root of the sum of squares.

        Stays of one person in one cell begin and end in turn, so a partial sum changes by 1 at most: 2m of a level do,
        of m stays. Presences may all be in one partial sum. Of two persons both change: presences, which only add, by
        the root of both squares, stays by up to twice as much.

        Parameters
        ----------
        levels
            Levels of the tree.
        neighbours
            What changes.
        """
        cap, replaced = self.cap or 1, neighbours is Neighbours.REPLACE
        if self.stream == "stays":
            return self.household * math.sqrt(2 * cap * levels) * (2.0 if replaced else 1.0)
        return self.household * cap * math.sqrt(levels) * (math.sqrt(2) if replaced else 1.0)

    def count_epsilon(self, releases: int) -> float:
        """Return ε of a single Laplace count with the noise of a node."""
        return 1 / self.node_scale(releases)

    def series_noise(self, releases: int, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return the mean scale of a released count."""
        laws = [self.law(time) for time in range(1, releases + 1)]
        mean = self.node_scale(releases, neighbours) * float(np.mean([math.sqrt(second) for second, _ in laws]))
        return self.mean_noise(mean)

    def law(self, time: int) -> Law:
        """Return Σw² and Σw⁴ of the nodes in release number `time` (1, 2, …), in units of one node."""
        if self.stream == "events":
            trailing = count_trailing_zeros(time)
            return leaf_law(trailing) if self.variant == "honaker" else (1.0 + trailing, 1.0 + trailing)
        bits = [bit for bit in range(time.bit_length()) if time >> bit & 1]
        parts = [node_law(bit) if self.variant == "honaker" else (1.0, 1.0) for bit in bits]
        return sum(second for second, _ in parts), sum(fourth for _, fourth in parts)


def count_levels(releases: int) -> int:
    """Return how many levels the tree of so many releases has: ⌊log₂ T⌋ + 1."""
    return releases.bit_length()


def count_trailing_zeros(time: int) -> int:
    """Return the level of the largest dyadic interval that ends at a time (1, 2, …)."""
    return (time & -time).bit_length() - 1


@cache
def node_law(level: int) -> Law:
    """Return the law of the best estimate of a node from itself and all below it: Σw² = 2^j/(2^(j+1) - 1)."""
    if level == 0:
        return 1.0, 1.0
    second, fourth = node_law(level - 1)
    own = node_weight(level)
    return own**2 + (1 - own) ** 2 * 2 * second, own**4 + (1 - own) ** 4 * 2 * fourth


@cache
def node_weight(level: int) -> float:
    """Return the weight of a node's own noisy sum beside the sum of its children's estimates."""
    children = 2 * node_law(level - 1)[0]
    return children / (1 + children)


@cache
def leaf_law(top: int, level: int = 0) -> Law:
    """Return the law of the last node of a level, from all that is known when the intervals up to level `top` end."""
    if level == top:
        return 1.0, 1.0
    outside, weight = _outside_law(top, level), leaf_weight(top, level)
    return weight**2 + (1 - weight) ** 2 * outside[0], weight**4 + (1 - weight) ** 4 * outside[1]


@cache
def leaf_weight(top: int, level: int) -> float:
    """Return the weight of the last node's own noisy sum beside its parent less its sibling."""
    outside = _outside_law(top, level)[0]
    return outside / (1 + outside)


def _outside_law(top: int, level: int) -> Law:
    parent, sibling = leaf_law(top, level + 1), node_law(level)
    return parent[0] + sibling[0], parent[1] + sibling[1]


class TreeSeries(CountSeries):
    """One run of a tree: exact totals where open intervals began (private), and estimates of those that are closed."""

    mechanism: TreeCounts

    def __init__(self, mechanism: TreeCounts, length: int) -> None:
        super().__init__(mechanism, length)
        self._done = 0
        self._capped = CappedStays(mechanism.cap, every_presence=mechanism.stream == "events")
        self._total: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._begun: list[npt.NDArray[np.int64]] = []
        """The exact total where the open interval of each level began."""
        self._closed: dict[int, Array] = {}
        """Estimates of the closed intervals that make up all that is past, by level."""

    def make(self, snapshot: Snapshot, noise: Noise, *, number: int, pay: Pay) -> Cells:  # noqa: ARG002 - paid before
        """Count, close the intervals that end now, and add up."""
        grid = self.fit_grid(snapshot)
        count = self._capped.count(snapshot, grid.locate(snapshot.x_m, snapshot.y_m), grid.size)
        levels = count_levels(self.length or 1)
        if not self._begun:
            self._total = np.zeros(grid.size, dtype=np.int64)
            self._begun = [self._total] * levels
        scale = self.mechanism.node_scale(self.length or 1, snapshot.neighbours)
        while self._done < number:  # releases that were left out: nobody is known to have come or gone
            self._step(self._total, scale, noise)
        total = self._total + count if self.mechanism.stream == "events" else count
        found = self._step(total, scale, noise)
        second, fourth = self.mechanism.law(self._done)
        terms = second**2 / fourth * self.mechanism.terms
        return self.show(snapshot, found, scale=scale * math.sqrt(second), terms=terms)

    def _step(self, total: npt.NDArray[np.int64], scale: float, noise: Noise) -> Array:
        """Close the intervals that end with the next release; return what is to be published."""
        self._done, self._total = self._done + 1, total
        top = count_trailing_zeros(self._done)
        begun = np.stack([total - self._begun[level] for level in range(top + 1)])
        own = self.mechanism.add_noise(begun, scale, noise)
        for level in range(top + 1):
            self._begun[level] = total
        best = self.mechanism.variant == "honaker"
        siblings = [self._closed.pop(level) for level in range(top)]
        nodes = [own[0]]
        for level in range(1, top + 1):
            weight = node_weight(level)
            below = siblings[level - 1] + nodes[-1]
            nodes.append(weight * own[level] + (1 - weight) * below if best else own[level])
        self._closed[top] = nodes[-1]
        if self.mechanism.stream == "stays":
            return np.asarray(np.sum(list(self._closed.values()), axis=0))
        leaf = own[top]
        for level in range(top - 1, -1, -1):
            weight = leaf_weight(top, level) if best else 0.0
            leaf = weight * own[level] + (1 - weight) * (leaf - siblings[level])
        return np.asarray(leaf)


class CappedStays:
    """Whom to count where only the first stays of a person are (or presences): depends on her own record alone."""

    def __init__(self, cap: int | None, *, every_presence: bool = False) -> None:
        self._cap, self._every = cap, every_presence
        self._cell: Ids = np.empty(0, dtype=np.int64)
        self._stays: Ids = np.empty(0, dtype=np.int64)

    def count(self, snapshot: Snapshot, cell: Ids, cells: int) -> Ids:
        """Count people per cell; cells are -1 outside."""
        there = cell >= 0
        if self._cap is not None:
            there &= self._count_stays(snapshot, cell) <= self._cap
        return np.bincount(cell[there], minlength=cells)

    def _count_stays(self, snapshot: Snapshot, cell: Ids) -> Ids:
        """Return the how-manieth stay of everyone this is."""
        who = snapshot.who
        if who is None:
            raise UsageError("a cap on the stays of a person needs to know who is who: give Snapshot.who")
        most = int(who.max(initial=-1)) + 1
        if who.shape != cell.shape or (who.size and who.min() < 0) or _count_different(who, most) != who.size:
            raise UsageError("Snapshot.who needs one number from 0 for every row, and nobody in two rows")
        if most > self._cell.size:
            more = (0, most - self._cell.size)
            self._cell = np.pad(self._cell, more, constant_values=-1)
            self._stays = np.pad(self._stays, more)
        now = np.full(self._cell.size, -1, dtype=np.int64)
        now[who] = cell
        self._stays += (now >= 0) & (self._every | (now != self._cell))
        self._cell = now
        return np.asarray(self._stays[who])


def _count_different(who: Ids, most: int) -> int:
    seen = np.zeros(most, dtype=np.bool_)  # sorting takes fifty times as long
    seen[who] = True
    return int(np.count_nonzero(seen))
