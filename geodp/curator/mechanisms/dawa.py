"""A histogram that adapts to its data: squares within which counts are even are chosen privately, and counted."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.curator.decomposition import (
    GUIDELINE,
    Boxes,
    LatticeTable,
    SizedDecomposition,
    Whole,
)
from geodp.curator.mechanisms import Snapshot
from geodp.curator.tree_mechanism import Estimates, lattice_cells
from geodp.geometry import Array, Grid
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import decide_in_series
from geodp.public.guarantee import Neighbours
from geodp.public.release import LatticeCells
from geodp.registry import PublicFacts

MAX_HEIGHT = 10
_MOST_CHANGE = 2.0
"""The most by which one worker changes the deviation of a square."""


class Dawa(SizedDecomposition):
    """Noisy counts of squares in which people are spread evenly, as a private choice among all quadtrees finds them.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator.
    The quadtree is chosen by the exponential mechanism, with a share ε1 of ε; noisy counts of its leaves, which are
    disjoint, cost the rest ε2. The score of a quadtree is the error with which its leaves tell the counts x of the
    fine cells, Σ over leaves of Σ|x_j - mean of the leaf| + S/ε2. One worker more in fine cell j changes x minus its
    means, in the one leaf of n cells that holds j, by 1 - 1/n in j and 1/n in the n - 1 others: the score changes by
    at most 2 (1 - 1/n) < 2, whatever the quadtree. So drawing one with probability ∝ prior · exp(-ε1 · score / 4) is
    ε1-differentially private, whatever the (public) prior; who is replaced changes a score by less than 4, and ε1 is
    halved in the exponent. The draw is made from the root down: a square stays whole with the probability that it
    does in the law of the whole tree, from sums over all quadtrees below it. With `noise: gaussian`, ρ that is worth ε
    at delta: counts have Gaussian noise, and the choice costs ε1²/2 of it; S/ε2 is then the Laplace scale as wide.

    Reference
    ---------
    [recalled] In the manner of Li, Hay and Miklau 2014, A data- and workload-aware algorithm for range queries under
    differential privacy (DAWA): buckets by deviation, then their totals. Here buckets are squares of a quadtree
    instead of intervals, so that they are cells, and they are drawn by the exponential mechanism over all quadtrees
    (with the dynamic programme for its sums) instead of the least noisy cost.
    """

    kind: ClassVar[str] = "dawa"
    size: ClassVar[str] = "height"

    height: int | None = Field(default=None, ge=1, le=MAX_HEIGHT)
    """The fine grid has 2^height cells per side. Default: the first that has at least the sqrt(N ε / 10) cells per side
    of the guideline."""
    partition_share: float = Field(default=0.4, gt=0, lt=1)
    """Share of ε (of ρ, with `noise: gaussian`) for the choice of squares; the rest pays for their counts."""
    divided: float = Field(default=0.4, gt=0, lt=1)
    """Prior probability that a square is divided, before anything is known about it."""
    least_cell_m: float = Field(default=10.0, gt=0)
    """No cell is made narrower than this by default, metres."""

    def _guideline_size(self, facts: PublicFacts) -> int:
        """Return the height that follows from public facts."""
        people = facts.expected_workers * self._size_epsilon() / facts.sensitivity
        per_side = math.sqrt(min(people / GUIDELINE, 1e300))
        asked = math.ceil(math.log2(max(1.0, per_side)))
        most = math.floor(math.log2(max(2.0, min(facts.width_m, facts.height_m) / self.least_cell_m)))
        return max(1, min(asked, most, MAX_HEIGHT))

    def release(self, snapshot: Snapshot, noise: Noise) -> LatticeCells:
        """Choose the squares, and count in them."""
        side = 2 ** self._size(snapshot, noise)
        lattice = Grid.divide(snapshot.region, side, side)
        people = lattice.count(snapshot.x_m, snapshot.y_m).reshape(side, side)
        change = self.change(snapshot.neighbours)
        partition_epsilon, scale = self._choice_epsilon(), self._scale(snapshot.neighbours)
        per_unit = partition_epsilon / (2 * _MOST_CHANGE * change)
        whole = [-per_unit * (deviation + scale) for deviation in deviations(people)]
        boxes = draw_squares(*weigh_quadtrees(whole, self.divided), noise)
        count = self.add_noise(LatticeTable.of(people).within(boxes), scale, noise)
        found = Estimates.of(count, scale, self.terms)
        return lattice_cells(found, lattice, self.release_fields(snapshot, boxes.edges_m(lattice)))

    @property
    def counts_part(self) -> float:
        """Part of the price for counts."""
        return super().counts_part * (1 - self.partition_share)

    def _choice_epsilon(self) -> float:
        """Return ε of the choice of squares."""
        if self.noise == "laplace":
            return self.partition_share * self._counts_epsilon()
        return self.find_choice_epsilon((1 - self.count_share) * self.partition_share)

    def _scale(self, neighbours: Neighbours) -> float:
        whole = self._counts_epsilon()
        return self.find_scale(self.change(neighbours), neighbours, [whole - self.partition_share * whole], 0)

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return the mean noise of a square's count."""
        return self.mean_noise(self._scale(neighbours))


def deviations(people: npt.NDArray[Any]) -> list[Array]:
    """Return Σ|x - mean| of every square of the quadtree over a grid, from the root to the single cells."""
    side = len(people)
    found = []
    for level in range(side.bit_length()):
        wide = side >> level
        parts = people.reshape(side // wide, wide, side // wide, wide)
        mean = parts.mean(axis=(1, 3), keepdims=True)
        found.append(np.abs(parts - mean).sum(axis=(1, 3)))
    return found


def weigh_quadtrees(whole: list[Array], share: float) -> tuple[list[Array], list[Array]]:
    """Return for every square the log-weight of its staying whole, and of all quadtrees that divide it together.

    `whole` has the log-weight of every square as a leaf, level by level from the root. Single cells are not divided.
    """
    stays, parts = [whole[-1]], []
    below = whole[-1]
    for own in whole[-2::-1]:
        size = len(own)
        parts.append(math.log(share) + below.reshape(size, 2, size, 2).sum(axis=(1, 3)))
        stays.append(math.log1p(-share) + own)
        below = np.logaddexp(stays[-1], parts[-1])
    return stays[::-1], parts[::-1]


def draw_squares(stays: list[Array], parts: list[Array], noise: Noise) -> Boxes:
    """Draw one quadtree by its weights, from the root down, and return its leaves."""
    side = len(stays[-1])
    row, column, after = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), None
    leaves: list[Boxes] = []
    for level, (stay, divide) in enumerate(zip(stays, parts, strict=False)):
        chosen = decide_in_series(np.column_stack([stay[row, column], divide[row, column]]), noise, after)
        leaves.append(_boxes(row[~chosen], column[~chosen], side >> level))
        row = (2 * row[chosen][:, None] + np.array([0, 0, 1, 1])).ravel()
        column = (2 * column[chosen][:, None] + np.array([0, 1, 0, 1])).ravel()
        after = np.repeat(np.flatnonzero(chosen), 4)
        if not row.size:
            break
    leaves.append(_boxes(row, column, 1))
    return Boxes.concatenate(leaves)


def _boxes(row: Whole, column: Whole, wide: int) -> Boxes:
    return Boxes(column * wide, row * wide, (column + 1) * wide, (row + 1) * wide)
