"""The shared half of tree mechanisms: levels, their budgets, noisy counts, the best counts that agree, pruning.

Every node has children on the next level (one that cannot be cut has itself as its only child), so every path from the
root to a leaf passes through as many noisy counts as there are levels, and spends the same.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.curator.decomposition import (
    GUIDELINE,
    Boxes,
    LatticeTable,
    SizedDecomposition,
    Whole,
    equal_noise,
)
from geodp.curator.mechanisms import Snapshot
from geodp.geometry import Array, Grid, Region
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Neighbours
from geodp.public.release import LatticeCells
from geodp.registry import PublicFacts

MAX_HEIGHT = 10
_GROWTH = 2 ** (1 / 3)  # a range query touches twice as many nodes a level deeper: least error for ε ∝ its cube root


class TreeMechanism(SizedDecomposition):
    """A tree of boxes, each cut into four, with a noisy count at every node."""

    size: ClassVar[str] = "height"

    height: int | None = Field(default=None, ge=1, le=MAX_HEIGHT)
    """Levels below the root; the finest has 2^height cells per side. Default: the first that has at least the
    sqrt(N ε / 10) cells per side of the guideline."""
    budget: Literal["geometric", "uniform"] = "geometric"
    """How ε is shared by the levels: growing by the cube root of 2 towards the leaves, or alike."""
    least_count: float | None = Field(default=None, ge=0)
    """Cells with fewer people than this, by their noisy counts, are not divided, workers. Default: four standard
    deviations of a count on the finest level, so that a quarter would hold less than its noise; 0 = always."""
    least_cell_m: float = Field(default=10.0, gt=0)
    """No cell is made narrower than this, metres."""

    def _guideline_size(self, facts: PublicFacts) -> int:
        """Return the height that follows from public facts."""
        people = facts.expected_workers * self._size_epsilon() / facts.sensitivity
        asked = math.ceil(math.log2(max(1.0, math.sqrt(min(people / GUIDELINE, 1e300)))))  # ε may be beyond all reason
        most = math.floor(math.log2(max(2.0, min(facts.width_m, facts.height_m) / self.least_cell_m)))
        return max(1, min(asked, most, MAX_HEIGHT))

    def release(self, snapshot: Snapshot, noise: Noise) -> LatticeCells:
        """Measure the tree, make its levels agree, prune it, and publish the cells that are left."""
        height = self._size(snapshot, noise)
        lattice = self._lattice(snapshot.region, height)
        table = LatticeTable.count(snapshot, lattice)
        levels = self._measure(Boxes.whole(lattice), table, height, snapshot.neighbours, noise)
        least = self.least_count
        if least is None:
            least = 4 * math.sqrt(2) * levels[-1].scale
        boxes, found = prune_tree(levels, reconcile_levels(levels), least or -math.inf)  # estimates may be below zero
        return lattice_cells(found, lattice, self.release_fields(snapshot, boxes.edges_m(lattice)))

    def _measure(
        self, roots: Boxes, table: LatticeTable, height: int, neighbours: Neighbours, noise: Noise
    ) -> list[Level]:
        """Count every node of every level with noise: all that is learnt from where people are, but for the cuts."""
        levels: list[Level] = []
        boxes, parent = roots, np.arange(roots.size)
        change, epsilons = self.change(neighbours), self._level_epsilons(height)
        for depth in range(height + 1):
            scale = self.find_scale(change, neighbours, epsilons, depth)
            count = self.add_noise(table.within(boxes), scale, noise)
            levels.append(Level(boxes, parent, count, scale, self.terms))
            if depth < height:
                boxes, parent = _quarters(
                    boxes, *self._cuts(boxes=boxes, table=table, depth=depth, height=height, change=change, noise=noise)
                )
        return levels

    def _level_epsilons(self, height: int) -> list[float]:
        """Return ε of every level from the root to the leaves; together all that counts may cost."""
        weights = [_GROWTH**depth if self.budget == "geometric" else 1.0 for depth in range(height + 1)]
        whole = self._find_count_epsilon()
        shares = [whole * weight / sum(weights) for weight in weights[:-1]]
        return [*shares, whole - sum(shares)]

    def _find_count_epsilon(self) -> float:
        """Return ε of all counts on one path from the root to a leaf."""
        return self._counts_epsilon()

    @abstractmethod
    def _lattice(self, region: Region, height: int) -> Grid:
        """Return the public lattice on whose lines boxes may be cut."""

    def _cuts(
        self, boxes: Boxes, table: LatticeTable, depth: int, height: int, change: float, noise: Noise
    ) -> tuple[Whole, Whole, Whole]:
        """Return the column at which each box is cut in two, and the rows at which its western and eastern part are.

        A cut at an edge leaves the box whole in that direction. By default boxes are halved at the lattice line in the
        middle, whoever is where; boxes one square wide are not cut.
        """
        del table, depth, height, change, noise
        row = (boxes.south + boxes.north) // 2
        return (boxes.west + boxes.east) // 2, row, row

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return the mean noise of a count on the finest level; agreement with the others makes it smaller."""
        epsilons = self._level_epsilons(self.height or MAX_HEIGHT)
        return self.mean_noise(self.find_scale(self.change(neighbours), neighbours, epsilons, len(epsilons) - 1))


def _quarters(boxes: Boxes, column: Whole, west_row: Whole, east_row: Whole) -> tuple[Boxes, Whole]:
    """Return the parts of all boxes, south-western ones first, with the box each is a part of."""
    w, s, e, n = boxes.west, boxes.south, boxes.east, boxes.north
    parts = Boxes(
        np.column_stack([w, w, column, column]).ravel(),
        np.column_stack([s, west_row, s, east_row]).ravel(),
        np.column_stack([column, column, e, e]).ravel(),
        np.column_stack([west_row, n, east_row, n]).ravel(),
    )
    some = (parts.east > parts.west) & (parts.north > parts.south)
    return parts.take(some), np.repeat(np.arange(boxes.size), 4)[some]


@dataclass(frozen=True)
class Level:
    """One level of the tree with its noisy counts."""

    boxes: Boxes
    parent: Whole
    """Index of each node's parent on the level above; of a root, its own."""
    count: Array
    scale: float
    """Laplace scale of every count on this level."""
    terms: float = 1.0
    """How many Laplace variables its noise is worth: 1, or as many as make a Gaussian."""


@dataclass(frozen=True)
class Estimates:
    """Numbers with their noise: Σ(w b)² and Σ(w b)⁴ over the Laplace variables in each."""

    value: Array
    second: Array
    fourth: Array

    @classmethod
    def of(cls, value: Array, scale: float, terms: float = 1.0) -> Estimates:
        """Return counts that were measured with noise of one scale."""
        return cls(value, np.full(value.size, scale**2), np.full(value.size, scale**4 / terms))

    def average(self, other: Estimates) -> Estimates:
        """Return the average of two independent estimates with weights inverse to their variances."""
        mine = other.second / (self.second + other.second)
        theirs = 1 - mine
        return Estimates(
            mine * self.value + theirs * other.value,
            mine**2 * self.second + theirs**2 * other.second,
            mine**4 * self.fourth + theirs**4 * other.fourth,
        )

    def add_up(self, group: Whole, groups: int) -> Estimates:
        """Return the sum of each group."""
        parts = (self.value, self.second, self.fourth)
        return Estimates(*(np.bincount(group, part, minlength=groups).astype(np.float64) for part in parts))

    def take(self, which: npt.NDArray[np.bool_] | Whole) -> Estimates:
        """Return some of them."""
        return Estimates(self.value[which], self.second[which], self.fourth[which])


def reconcile_levels(levels: Sequence[Level]) -> list[Estimates]:
    """Return for every level the counts that use all noisy counts best: each is the sum of its children.

    The least-squares solution with weights inverse to the variances, in two passes. Upwards, a node's own count is
    averaged with the sum of what is known about its children. Downwards, its own count is averaged with what everything
    outside of it says: what is known about the parent from outside, less the siblings. Below and outside have no
    noise in common, so the law of the noise is known at each step.
    """
    own = [Estimates.of(level.count, level.scale, level.terms) for level in levels]
    below, sums = _upwards(levels, own)
    outside = own[0]
    found = []
    for depth, level in enumerate(levels):
        if depth > 0:
            parents = outside.take(level.parent)
            siblings = sums[depth - 1].take(level.parent)
            mine = below[depth]
            rest = Estimates(
                parents.value - (siblings.value - mine.value),
                parents.second + (siblings.second - mine.second),
                parents.fourth + (siblings.fourth - mine.fourth),
            )
            outside = own[depth].average(rest)
        found.append(outside if depth == len(levels) - 1 else outside.average(sums[depth]))
    return found


def _upwards(levels: Sequence[Level], own: list[Estimates]) -> tuple[list[Estimates], list[Estimates]]:
    """Return what each node's subtree says about it, and the sum of what the subtrees of its children say."""
    below, sums = [own[-1]], []
    for depth in range(len(levels) - 2, -1, -1):
        children = levels[depth + 1]
        sums.append(below[-1].add_up(children.parent, levels[depth].count.size))
        below.append(own[depth].average(sums[-1]))
    return below[::-1], sums[::-1]


def prune_tree(levels: Sequence[Level], estimates: Sequence[Estimates], least_count: float) -> tuple[Boxes, Estimates]:
    """Return the cells that are left when nodes with too few people are not divided.

    Looks at estimates alone, so it costs nothing.
    """
    boxes, kept = [], []
    divides = np.ones(levels[0].count.size, dtype=np.bool_)  # by a level above the first: every root is reached
    for depth, level in enumerate(levels):
        reached = divides[level.parent]
        last = depth == len(levels) - 1
        divides = reached & (estimates[depth].value >= least_count) & (not last)
        ends = reached & ~divides
        boxes.append(level.boxes.take(ends))
        kept.append(estimates[depth].take(ends))
    parts = ([getattr(each, name) for each in kept] for name in ("value", "second", "fourth"))
    return Boxes.concatenate(boxes), Estimates(*(np.concatenate(part) for part in parts))


def lattice_cells(found: Estimates, lattice: Grid, fields: dict[str, Any]) -> LatticeCells:
    """Return boxes of a lattice with their estimated counts as they are released."""
    scale, terms = equal_noise(found.second, found.fourth)
    return LatticeCells(count=found.value, noise_scale=scale, noise_terms=terms, lattice=lattice, **fields)
