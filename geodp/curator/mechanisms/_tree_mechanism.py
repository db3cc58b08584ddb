"""The shared half of tree mechanisms: levels, their budgets, measuring, agreement, pruning."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Literal, Self

import numpy as np
from pydantic import Field

from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms._decomposition import GUIDELINE, Decomposition, sensitivity
from geodp.curator.mechanisms._lattice_table import Boxes, LatticeTable, Whole
from geodp.curator.mechanisms._tree_counts import Level, consistent, lattice_cells, pruned
from geodp.geometry import Grid, Region
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import with_laplace
from geodp.public.guarantee import Neighbours
from geodp.public.release import LatticeCells
from geodp.registry import PublicFacts

MAX_HEIGHT = 10
_GROWTH = 2 ** (1 / 3)  # a range query touches twice as many nodes a level deeper: least error for ε ∝ its cube root


class TreeMechanism(Decomposition):
    """A tree of boxes, each cut into four, with a noisy count at every node."""

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

    def resolve(self, facts: PublicFacts) -> Self:
        """Write out the height, where it follows from public facts."""
        if self.height is not None or self.count_share > 0:
            return self
        return self.model_copy(update={"height": self._guideline_height(facts)})

    def _guideline_height(self, facts: PublicFacts) -> int:
        people = facts.expected_workers * self._counts_epsilon() / facts.sensitivity
        asked = math.ceil(math.log2(max(1.0, math.sqrt(min(people / GUIDELINE, 1e300)))))  # ε may be beyond all reason
        most = math.floor(math.log2(max(2.0, min(facts.width_m, facts.height_m) / self.least_cell_m)))
        return max(1, min(asked, most, MAX_HEIGHT))

    def release(self, snapshot: Snapshot, noise: Noise) -> LatticeCells:
        """Measure the tree, make its levels agree, prune it, and publish the cells that are left."""
        height = self.height or self._guideline_height(self._facts(snapshot, noise))
        lattice = self._lattice(snapshot.region, height)
        table = LatticeTable.counted(snapshot, lattice)
        change = sensitivity(snapshot.neighbours)
        levels = self._measure(Boxes.whole(lattice), table, height, change, noise)
        least = self.least_count
        if least is None:
            least = 4 * math.sqrt(2) * levels[-1].scale
        boxes, found = pruned(levels, consistent(levels), least or -math.inf)  # estimates may be below zero
        return lattice_cells(boxes, found, lattice, self._release_facts(snapshot))

    def _measure(self, roots: Boxes, table: LatticeTable, height: int, change: float, noise: Noise) -> list[Level]:
        """Count every node of every level with noise: all that is learnt from where people are, but for the cuts."""
        levels: list[Level] = []
        boxes, parent = roots, np.arange(roots.size)
        for depth, epsilon in enumerate(self._level_epsilons(height)):
            scale = change / epsilon
            count = with_laplace(table.within(boxes), scale, noise)
            levels.append(Level(boxes, parent, count, scale))
            if depth < height:
                boxes, parent = _quarters(boxes, *self._cuts(boxes, table, depth, height, change, noise))
        return levels

    def _level_epsilons(self, height: int) -> list[float]:
        """Return ε of every level from the root to the leaves; together all that counts may cost."""
        weights = [_GROWTH**depth if self.budget == "geometric" else 1.0 for depth in range(height + 1)]
        whole = self._counting_epsilon()
        shares = [whole * weight / sum(weights) for weight in weights[:-1]]
        return [*shares, whole - sum(shares)]

    def _counting_epsilon(self) -> float:
        """Return ε of all counts on one path from the root to a leaf."""
        return self._counts_epsilon()

    @abstractmethod
    def _lattice(self, region: Region, height: int) -> Grid:
        """Return the public lattice on whose lines boxes may be cut."""

    @abstractmethod
    def _cuts(
        self, boxes: Boxes, table: LatticeTable, depth: int, height: int, change: float, noise: Noise
    ) -> tuple[Whole, Whole, Whole]:
        """Return the column at which each box is cut in two, and the rows at which its western and eastern part are.

        A cut at an edge leaves the box whole in that direction.
        """

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return the scale of a count on the finest level; agreement with the others makes it smaller."""
        return sensitivity(neighbours) / self._level_epsilons(self.height or MAX_HEIGHT)[-1]


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


def middles(low: Whole, high: Whole) -> Whole:
    """Return the lattice line in the middle; one square wide boxes are not cut."""
    return (low + high) // 2
