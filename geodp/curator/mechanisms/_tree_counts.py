"""Noisy counts on every level of a tree of boxes, and the best counts that agree with one another.

Every node has children on the next level (one that cannot be cut has itself as its only child), so every path from the
root to a leaf passes through as many noisy counts as there are levels, and spends the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.curator.mechanisms._decomposition import equal_noise
from geodp.curator.mechanisms._lattice_table import Boxes, Whole
from geodp.geometry import Array, Grid
from geodp.public.release import LatticeCells


@dataclass(frozen=True)
class Level:
    """One level of the tree with its noisy counts."""

    boxes: Boxes
    parent: Whole
    """Index of each node's parent on the level above; of a root, its own."""
    count: Array
    scale: float
    """Laplace scale of every count on this level."""


@dataclass(frozen=True)
class Estimates:
    """Numbers with their noise: Σ(w b)² and Σ(w b)⁴ over the Laplace variables in each."""

    value: Array
    second: Array
    fourth: Array

    @classmethod
    def measured(cls, value: Array, scale: float) -> Estimates:
        """Return counts that were measured with Laplace noise of one scale."""
        return cls(value, np.full(value.size, scale**2), np.full(value.size, scale**4))

    def averaged(self, other: Estimates) -> Estimates:
        """Return the average of two independent estimates with weights inverse to their variances."""
        mine = other.second / (self.second + other.second)
        theirs = 1 - mine
        return Estimates(
            mine * self.value + theirs * other.value,
            mine**2 * self.second + theirs**2 * other.second,
            mine**4 * self.fourth + theirs**4 * other.fourth,
        )

    def added_up(self, group: Whole, groups: int) -> Estimates:
        """Return the sum of each group."""
        parts = (self.value, self.second, self.fourth)
        return Estimates(*(np.bincount(group, part, minlength=groups).astype(np.float64) for part in parts))

    def take(self, which: npt.NDArray[np.bool_] | Whole) -> Estimates:
        """Return some of them."""
        return Estimates(self.value[which], self.second[which], self.fourth[which])


def consistent(levels: Sequence[Level]) -> list[Estimates]:
    """Return for every level the counts that use all noisy counts best: each is the sum of its children.

    The least-squares solution with weights inverse to the variances, in two passes. Upwards, a node's own count is
    averaged with the sum of what is known about its children. Downwards, its own count is averaged with what everything
    outside of it says: what is known about the parent from outside, less the siblings. Below and outside have no
    noise in common, so the law of the noise is known at each step.
    """
    own = [Estimates.measured(level.count, level.scale) for level in levels]
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
            outside = own[depth].averaged(rest)
        found.append(outside if depth == len(levels) - 1 else outside.averaged(sums[depth]))
    return found


def _upwards(levels: Sequence[Level], own: list[Estimates]) -> tuple[list[Estimates], list[Estimates]]:
    """Return what each node's subtree says about it, and the sum of what the subtrees of its children say."""
    below, sums = [own[-1]], []
    for depth in range(len(levels) - 2, -1, -1):
        children = levels[depth + 1]
        sums.append(below[-1].added_up(children.parent, levels[depth].count.size))
        below.append(own[depth].averaged(sums[-1]))
    return below[::-1], sums[::-1]


def pruned(levels: Sequence[Level], estimates: Sequence[Estimates], least_count: float) -> tuple[Boxes, Estimates]:
    """Return the cells that are left when nodes with too few people are not divided.

    Looks at estimates alone, so it costs nothing.
    """
    boxes, kept = [], []
    divided = np.ones(levels[0].count.size, dtype=np.bool_)  # by a level above the first: every root is reached
    for depth, level in enumerate(levels):
        reached = divided[level.parent]
        last = depth == len(levels) - 1
        divided = reached & (estimates[depth].value >= least_count) & (not last)
        ends = reached & ~divided
        boxes.append(level.boxes.take(ends))
        kept.append(estimates[depth].take(ends))
    parts = ([getattr(each, name) for each in kept] for name in ("value", "second", "fourth"))
    return Boxes.joined(boxes), Estimates(*(np.concatenate(part) for part in parts))


def lattice_cells(boxes: Boxes, found: Estimates, lattice: Grid, facts: dict[str, Any]) -> LatticeCells:
    """Return boxes with their estimated counts as they are released."""
    west_m, south_m, east_m, north_m = boxes.edges_m(lattice)
    scale, terms = equal_noise(found.second, found.fourth)
    return LatticeCells(
        west_m=west_m,
        south_m=south_m,
        east_m=east_m,
        north_m=north_m,
        count=found.value,
        noise_scale=scale,
        noise_terms=terms,
        lattice=lattice,
        **facts,
    )
