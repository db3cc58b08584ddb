"""A few nested grids of noisy counts, each cell of which is cut into as many parts as ranges are answered best with."""

from __future__ import annotations

import math
from functools import cache
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from geodp.curator.decomposition import GUIDELINE, Boxes, SizedDecomposition
from geodp.curator.mechanisms import Snapshot
from geodp.curator.tree_mechanism import Level, lattice_cells, reconcile_levels
from geodp.geometry import Grid
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Neighbours
from geodp.public.release import LatticeCells
from geodp.registry import PublicFacts

MOST_PER_SIDE = 2048
_MOST_BRANCHES = 16
_GROWTHS = tuple(2.0 ** (k / 3) for k in range(-3, 10))
"""Ratios of ε between a level and the one above that are tried."""
_SIDES = np.linspace(0.02, 0.20, 10)
"""Sides of the rectangles for which branching and budget are best, as shares of the region's."""
_PLACES = (np.arange(64) + 0.5) / 64
_UNEVEN = GUIDELINE / math.sqrt(2)
"""c0 of the guideline: a range of r of the region errs by sqrt(r) N / (c0 m), as people are not even within cells."""


class HierarchicalGrid(SizedDecomposition):
    """Noisy counts on nested grids, made to agree, with as many parts per cell and level as answer ranges best.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator.
    The cells of a level are disjoint and the levels' epsilons add up to ε (with `noise: gaussian` their ρ to the ρ that
    is worth ε at delta): every worker is counted once on each.
    Branching and budget follow from the number of workers, public or paid for. Making the levels agree is
    post-processing; the noise that is stated is that of the counts that agree, which neighbouring cells share in part.

    Reference
    ---------
    [recalled] Qardaji, Yang and Li 2013, Understanding hierarchical methods for differentially private histograms: no
    root, large branching, constrained inference (which they find to gain little in two dimensions). Branching and
    budget are chosen here by the mean square error of rectangles, with the variance of counts that agree worked out
    exactly, and with the unevenness that the guideline for grids assumes (Qardaji, Yang and Li 2013, Differentially
    private grids for geospatial data).
    """

    kind: ClassVar[str] = "hierarchical_grid"
    size: ClassVar[str] = "branching"

    branching: tuple[int, ...] | None = Field(default=None)
    """Into how many parts per side cells are cut, level by level from the whole region: [6, 5] are 6 × 6 and 30 × 30
    cells. Default: what answers ranges best for the public number of workers."""
    budget: Literal["optimal", "uniform"] = "optimal"
    """How ε is shared by the levels: growing from level to level by the factor that answers ranges best, or alike."""
    least_cell_m: float = Field(default=10.0, gt=0)
    """No cell is made narrower than this by default, metres."""

    @field_validator("branching")
    @classmethod
    def _some_branches(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if value is not None and (not value or min(value) < 1 or math.prod(value) > MOST_PER_SIDE):
            raise ValueError(
                f"must be one or more numbers of parts, each at least 1, at most {MOST_PER_SIDE:,} multiplied; "
                f"got {list(value)}"
            )
        return value

    def _guideline_size(self, facts: PublicFacts) -> tuple[int, ...]:
        """Return the branching with the least error, of all with the same number of parts on every level."""
        most = max(1, min(MOST_PER_SIDE, int(min(facts.width_m, facts.height_m) / self.least_cell_m)))
        noise_free = facts.expected_workers * self._size_epsilon() / facts.sensitivity
        return best_branching(min(noise_free, 1e12), most, uniform=self.budget == "uniform")

    def release(self, snapshot: Snapshot, noise: Noise) -> LatticeCells:
        """Measure all levels, make them agree, and publish the finest."""
        branching = self._size(snapshot, noise)
        side = math.prod(branching)
        lattice = Grid.divide(snapshot.region, side, side)
        people = lattice.count(snapshot.x_m, snapshot.y_m).reshape(side, side)
        change = self.change(snapshot.neighbours)
        levels: list[Level] = []
        across = 1
        shares = self._level_epsilons(branching)
        for number, parts in enumerate(branching):
            across *= parts
            scale = self.find_scale(change, snapshot.neighbours, shares, number)
            counts = people.reshape(across, side // across, across, side // across).sum(axis=(1, 3))
            row, column = np.divmod(np.arange(across**2), across)
            wide = side // across
            boxes = Boxes(column * wide, row * wide, (column + 1) * wide, (row + 1) * wide)
            above = (row // parts) * (across // parts) + column // parts if levels else np.arange(across**2)
            levels.append(Level(boxes, above, self.add_noise(counts.ravel(), scale, noise), scale, self.terms))
        found = reconcile_levels(levels)[-1]
        return lattice_cells(found, lattice, self.release_fields(snapshot, levels[-1].boxes.edges_m(lattice)))

    def _level_epsilons(self, branching: tuple[int, ...]) -> list[float]:
        """Return ε of every level, from the coarsest; together they are all that counts may cost."""
        whole = self._counts_epsilon()
        growth = 1.0 if self.budget == "uniform" else best_growth(branching)[0]
        shares = [whole * share for share in level_shares(len(branching), growth)[:-1]]
        return [*shares, whole - sum(shares)]

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return the scale of a count on the finest level; agreement with the others makes it smaller."""
        shares = self._level_epsilons(self.branching or (_MOST_BRANCHES,))
        return self.mean_noise(self.find_scale(self.change(neighbours), neighbours, shares, len(shares) - 1))


def level_shares(levels: int, growth: float) -> list[float]:
    """Return shares of ε, each `growth` times the one of the level above."""
    weights = [growth**level for level in range(levels)]
    return [weight / sum(weights) for weight in weights]


def range_variance(branching: tuple[int, ...], shares: list[float]) -> float:
    """Return the mean variance of rectangles, added up from counts that agree, in units of 2 (S/ε)².

    A vector of leaf counts falls apart into its means over cells of the first level, what its means over cells of the
    second add to them, and so on. Cells of level l tell of all parts up to l, each n_l times, where n_l is the number
    of leaves in one: so part k has the variance 1/Σ_{l≥k} ε_l² n_l, alike in all directions, and a range has
    as much of part k as its means over cells of level k exceed those of level k-1 in square. Means over a
    rectangle are products.
    """
    across = np.cumprod(branching)
    leaves = (across[-1] / across) ** 2
    precision = np.cumsum((np.array(shares) ** 2 * leaves)[::-1])[::-1]
    squares = np.array([_mean_square(int(blocks), int(across[-1])) ** 2 for blocks in across])
    return float((np.diff(squares, prepend=0.0) / precision).sum())


@cache
def _mean_square(blocks: int, leaves: int) -> float:
    """Return Σ(leaves of an interval in each block)²/(leaves of a block), on average over intervals."""
    length = _SIDES[:, None]
    low = (1 - length) * _PLACES * blocks
    high = low + length * blocks
    first, last = np.floor(low), np.ceil(high) - 1
    ends = (first + 1 - low) ** 2 + (high - last) ** 2 + (last - first - 1)
    inside = np.where(first == last, (high - low) ** 2, ends)
    return float(inside.mean()) * leaves / blocks


@cache
def best_growth(branching: tuple[int, ...]) -> tuple[float, float]:
    """Return the growth of ε from level to level with the least variance of rectangles, and that variance."""
    growths = _GROWTHS if len(branching) > 1 else (1.0,)
    found = [(range_variance(branching, level_shares(len(branching), growth)), growth) for growth in growths]
    variance, growth = min(found)
    return growth, variance


@cache
def best_branching(people: float, most_per_side: int, *, uniform: bool = False) -> tuple[int, ...]:
    """Return the branching with the least mean square error of rectangles, of those with two levels or more.

    One level, a plain grid, is about as good for rectangles of this size (and all there is room for in a tiny region);
    further levels pay for larger ones.

    Parameters
    ----------
    people
        Public number of workers, times ε over the sensitivity.
    most_per_side
        Most leaves per side.
    uniform
        Whether levels share ε alike.
    """

    def error(branching: tuple[int, ...]) -> float:
        alike = level_shares(len(branching), 1.0)
        noise = range_variance(branching, alike) if uniform else best_growth(branching)[1]
        share = float(_SIDES.mean()) ** 2
        return 2 * noise + share * (people / (_UNEVEN * math.prod(branching))) ** 2

    tried = [(parts,) * levels for parts in range(2, _MOST_BRANCHES + 1) for levels in range(2, 12)]
    fitting = [branching for branching in tried if math.prod(branching) <= most_per_side]
    return min(fitting, key=error) if fitting else (most_per_side,)
