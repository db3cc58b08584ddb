"""A quadtree without a height: places are divided as long as many people are there, at a price that no depth raises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.curator.decomposition import MAX_CELLS, Decomposition, Whole
from geodp.curator.mechanisms import Snapshot
from geodp.errors import DataError
from geodp.geometry import Array, Grid, Region
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import decide_in_series
from geodp.public.guarantee import Neighbours
from geodp.public.release import QuadtreeCells
from geodp.public.z_order import interleave_bits, separate_bits

MAX_DEPTH = 24
"""No square is divided more often, however small `least_cell_m` is: 2^24 parts of a side of 100 km are 6 mm wide."""
_QUARTERS = 4  # β, the children of a node
_PATH = (2 * _QUARTERS - 1) / (_QUARTERS - 1)  # what a whole path costs, in units of one worker over the scale


class PrivTree(Decomposition):
    """Noisy counts on a quadtree that goes as deep as people are dense, without a height to choose.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator. The
    tree costs a share of ε, noisy counts of its leaves, which are disjoint, the rest. That the tree costs no more
    however deep it is follows from counts that decay:

    A node at depth d with c people has b = max(c - d δ, -δ) and is divided when b + Lap(λ) > 0, with δ = λ ln 4. One
    worker more adds 1 to c on one path from the root. Let G(x) = P(x + Lap(λ) > 0); its logarithm rises by
    h(x) = 1/λ per unit below 0 and by h(s) = 1/(λ (2 e^(s/λ) - 1)) ≤ e^(-s/λ)/λ at s ≥ 0, never faster as x grows. The
    worker multiplies the probability of the divisions on her path by exp Σ ∫ h, over the interval from b without
    her to b with her of every node: that is ∫ Σ h(c_i - d_i δ - t) dt over t from 0 to 1, of the nodes with
    c_i - d_i δ - t > -δ. As c falls and d δ grows along the path, these places lie at least δ apart, so the k-th lowest
    is at least k δ above -δ, and the sum is at most (1 + 1 + 1/4 + 1/16 + …)/λ = 7/(3 λ). The last decision, not to
    divide, becomes less likely by at most e^(1/λ); so either way the tree tells at most 7/(3 λ), which is its share of
    ε. Who is replaced changes two paths, and all scales double. With `noise: gaussian`, ρ that is worth ε at delta: the
    tree's ε costs half its square of it, and leaves have Gaussian noise.

    Reference
    ---------
    [recalled] Zhang, Xiao and Xie 2016, PrivTree: a differentially private algorithm for hierarchical decompositions;
    θ = 0, λ = (2β - 1)/((β - 1) ε) with fanout β = 4. Leaves are counted afterwards with noise of their own.
    """

    kind: ClassVar[str] = "privtree"

    tree_share: float = Field(default=0.35, gt=0, lt=1)
    """Share of ε (of ρ, with `noise: gaussian`) for the tree; the rest pays for the counts of its leaves."""
    least_cell_m: float = Field(default=10.0, gt=0)
    """No cell is made narrower than this, metres: a public bound for numbers' sake, on which the price does not depend.
    Nothing is divided more than 24 times."""

    def release(self, snapshot: Snapshot, noise: Noise) -> QuadtreeCells:
        """Divide the region where people are, and count in its leaves."""
        depth = self._deepest(snapshot.region)
        people = SortedPlaces.of(snapshot, depth)
        change = self.change(snapshot.neighbours)
        tree_epsilon, scale = self.find_choice_epsilon(self.tree_share), self._scale(snapshot.neighbours)
        first, level = self._divide(people, change * _PATH / tree_epsilon, noise)
        edges = _edges(first, level, people.lattice, depth)
        return QuadtreeCells(
            count=self.add_noise(people.count(first, depth - level), scale, noise),
            noise_scale=np.full(first.size, scale),
            noise_terms=self.list_terms(first.size),
            lattice=people.lattice,
            **self.release_fields(snapshot, edges),
        )

    @property
    def counts_part(self) -> float:
        """Part of the price for the counts of leaves."""
        return 1 - self.tree_share

    def _scale(self, neighbours: Neighbours) -> float:
        leaves = self.epsilon - self.tree_share * self.epsilon
        return self.find_scale(self.change(neighbours), neighbours, [leaves], 0)

    def _deepest(self, region: Region) -> int:
        """Return how often the region can be halved; public."""
        halves = math.log2(max(1.0, min(region.width_m, region.height_m) / self.least_cell_m))
        return min(math.floor(halves), MAX_DEPTH)

    def _divide(self, people: SortedPlaces, scale: float, noise: Noise) -> tuple[Whole, Whole]:
        """Return the leaves in Z-order: the first square of each, and its depth."""
        decay = decay_of(scale)
        first, after = np.zeros(1, dtype=np.int64), None
        leaves: list[tuple[Whole, int]] = []
        for depth in range(people.depth):
            smaller = people.depth - depth - 1
            biased = np.maximum(people.count(first, smaller + 1) - depth * decay, -decay)
            divides = decide_in_series(division_logits(biased, scale), noise, after)
            leaves.append((first[~divides], depth))
            if _QUARTERS * np.count_nonzero(divides) > MAX_CELLS:
                raise DataError(
                    f"curator.mechanism: the tree would have more than {MAX_CELLS:,} cells: use a smaller epsilon or a "
                    "larger least_cell_m"
                )
            first = (first[divides][:, None] + (np.arange(_QUARTERS) << 2 * smaller)).ravel()
            after = np.repeat(np.flatnonzero(divides), _QUARTERS)
            if not first.size:
                break
        leaves.append((first, people.depth))
        starts = np.concatenate([start for start, _ in leaves])
        depths = np.concatenate([np.full(start.size, depth, dtype=np.int64) for start, depth in leaves])
        order = np.argsort(starts)
        return starts[order], depths[order]

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return the mean noise of a leaf's count."""
        return self.mean_noise(self._scale(neighbours))


@dataclass(frozen=True)
class SortedPlaces:
    """Where people are, as numbers of squares in Z-order, ascending: any square of the quadtree is a run of them."""

    number: Whole
    lattice: Grid
    depth: int

    @classmethod
    def of(cls, snapshot: Snapshot, depth: int) -> SortedPlaces:
        """Find everyone's square."""
        lattice = Grid.divide(snapshot.region, 2**depth, 2**depth)
        square = lattice.locate(snapshot.x_m, snapshot.y_m)
        row, column = np.divmod(square[square >= 0], lattice.columns)
        return cls(np.sort(interleave_bits(column, row)), lattice, depth)

    def count(self, first: Whole, height: Whole | int) -> Whole:
        """Count people in squares of the tree, given the first square of the lattice in each and their height."""
        last = first + (np.int64(1) << (2 * np.asarray(height, dtype=np.int64)))
        found = np.searchsorted(self.number, last) - np.searchsorted(self.number, first)
        return np.asarray(found, dtype=np.int64)


def decay_of(scale: float) -> float:
    """Return δ: an empty node is divided with probability 1/8 then, so that empty trees end."""
    return scale * math.log(_QUARTERS)


def division_logits(biased: Array, scale: float) -> Array:
    """Return log-probabilities of not dividing, and of dividing: that b + Lap(λ) is at most 0, and above."""
    far = -np.log(2) - np.abs(biased) / scale
    near = np.log1p(-np.exp(far))
    crowded = biased > 0
    return np.column_stack([np.where(crowded, far, near), np.where(crowded, near, far)])


def _edges(first: Whole, level: Whole, lattice: Grid, depth: int) -> tuple[Array, Array, Array, Array]:
    """Return west, south, east and north of each leaf; neighbours compute a shared edge alike."""
    column, row = separate_bits(first)
    side = np.int64(1) << (depth - level)
    west, east = (lattice.west_m + lattice.cell_x_m * at.astype(np.float64) for at in (column, column + side))
    south, north = (lattice.south_m + lattice.cell_y_m * at.astype(np.float64) for at in (row, row + side))
    return west, south, east, north
