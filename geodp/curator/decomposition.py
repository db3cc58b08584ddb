"""The shared half of mechanisms that divide the region into cells and count: budget, promise, sizes, boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.curator.count_noise import CountNoise
from geodp.curator.mechanisms import Snapshot
from geodp.geometry import Array, Grid
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours, Unit
from geodp.registry import PublicFacts

MAX_CELLS = 25_000_000
GUIDELINE = 10.0
"""c of the uniform-grid guideline: sqrt(N ε / c) cells per side balance noise and the loss of detail."""
Whole = npt.NDArray[np.int64]


class Decomposition(CountNoise):
    """Cells with noisy counts; which cells there are follows from public settings and noisy counts alone."""

    releases: ClassVar[frozenset[str]] = frozenset({"cells"})

    epsilon: float = Field(default=0.4, gt=0)
    """ε of one release, all its parts together."""

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Promise ε for one snapshot position, or for those of a household."""
        return self.make_promise(Unit.SNAPSHOT, neighbours, counts)


class SizedDecomposition(Decomposition):
    """Cells whose sizes follow from the number of workers, which is public or paid for."""

    size: ClassVar[str] = "cell_m"
    """Field that states how large or how many the cells are; by default that follows from the number of workers."""

    count_share: float = Field(default=0.0, ge=0, lt=1)
    """Share of ε (of ρ, with `noise: gaussian`) that pays for a noisy number of workers, from which sizes follow; 0:
    they follow from the public `curator.expected_workers` and cost nothing."""

    def idle_fields(self) -> dict[str, str]:
        """Return the share for a number of workers that nothing follows from."""
        found = super().idle_fields()
        return found if getattr(self, self.size) is None else found | {"count_share": f"with a stated {self.size}"}

    def resolve(self, facts: PublicFacts) -> Self:
        """Write out the size of the cells, where it follows from public facts."""
        if getattr(self, self.size) is not None or self.count_share > 0:
            return self
        together = replace(facts, sensitivity=self.change(Neighbours.ADD_REMOVE) * facts.sensitivity)
        return self.model_copy(update={self.size: self._guideline_size(together)})

    def _size(self, snapshot: Snapshot, noise: Noise) -> Any:
        """Return the size of the cells: as stated, or from a number of workers that is public or paid for."""
        return getattr(self, self.size) or self._guideline_size(self._facts(snapshot, noise))

    @property
    def counts_part(self) -> float:
        """Part of the price that is left when the number of workers is paid for."""
        return 1 - self.count_share

    def _counts_epsilon(self) -> float:
        """Return what is left of ε when the number of workers is paid for."""
        return self.epsilon - self.count_share * self.epsilon

    def _size_epsilon(self) -> float:
        """Return the ε that sizes follow from: that of Laplace noise as wide as counts have."""
        return self._counts_epsilon() if self.noise == "laplace" else self.find_equal_epsilon(1 - self.count_share)

    def _facts(self, snapshot: Snapshot, noise: Noise) -> PublicFacts:
        """Return the facts that sizes may follow from, with a number of workers that is public or paid for."""
        facts = self._public_facts(snapshot)
        if self.count_share == 0:
            return facts
        here = int(np.count_nonzero(snapshot.region.contains(snapshot.x_m, snapshot.y_m)))
        scale = self.find_part_scale(facts.sensitivity, snapshot.neighbours, self.count_share)
        return replace(facts, expected_workers=max(1.0, float(self.add_noise(np.array([here]), scale, noise)[0])))

    def _public_facts(self, snapshot: Snapshot) -> PublicFacts:
        """Return what is public about a snapshot."""
        region = snapshot.region
        return PublicFacts(
            expected_workers=snapshot.expected_workers,
            expected_tasks=0.0,
            mean_reward=1.0,
            minimum_reward=0.0,
            width_m=region.width_m,
            height_m=region.height_m,
            sensitivity=self.change(snapshot.neighbours),
        )

    def _guideline_size(self, facts: PublicFacts) -> Any:
        """Return the size that follows from public facts: the side of a cell by the guideline."""
        return guideline_cell_m(facts, self._size_epsilon())


def guideline_cell_m(facts: PublicFacts, epsilon: float) -> float:
    """Return the side of a cell by the guideline, in tenths of a metre; never larger than the region, nor 0."""
    per_side = max(1.0, math.sqrt(facts.expected_workers * epsilon / facts.sensitivity / GUIDELINE))
    most_m = math.floor(10 * min(facts.width_m, facts.height_m)) / 10
    return max(min(round(math.sqrt(facts.area_m2) / per_side, 1), most_m), 0.1)


def equal_noise(square_sum: Array, fourth_sum: Array) -> tuple[Array, Array]:
    """Return scale and effective number of terms of sums of Laplace variables, from Σ(w b)² and Σ(w b)⁴."""
    return np.sqrt(square_sum), square_sum**2 / fourth_sum


@dataclass(frozen=True)
class Boxes:
    """Rectangles in lattice units: columns west to east (not included), rows south to north (not included)."""

    west: Whole
    south: Whole
    east: Whole
    north: Whole

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.west.size)

    def take(self, which: npt.NDArray[np.bool_] | Whole) -> Boxes:
        """Return some of them."""
        return Boxes(self.west[which], self.south[which], self.east[which], self.north[which])

    def edges_m(self, lattice: Grid) -> tuple[Array, Array, Array, Array]:
        """Return western, southern, eastern and northern edges in metres."""
        west, east = (lattice.west_m + edge.astype(np.float64) * lattice.cell_x_m for edge in (self.west, self.east))
        south, north = (
            lattice.south_m + edge.astype(np.float64) * lattice.cell_y_m for edge in (self.south, self.north)
        )
        return west, south, east, north

    @classmethod
    def concatenate(cls, parts: list[Boxes]) -> Boxes:
        """Return all boxes of several sets."""
        names = ("west", "south", "east", "north")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @classmethod
    def whole(cls, lattice: Grid) -> Boxes:
        """Return the one box that covers a lattice."""
        return cls(*(np.array([edge]) for edge in (0, 0, lattice.columns, lattice.rows)))


@dataclass(frozen=True)
class LatticeTable:
    """Sums of a quantity over all squares south-west of each lattice point; whole numbers are exact in doubles."""

    below: Array

    @classmethod
    def of(cls, values: npt.ArrayLike) -> LatticeTable:
        """Add up values given per square, rows (south first) by columns."""
        table = np.asarray(values, dtype=np.float64)
        return cls(np.pad(table.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0))))

    @classmethod
    def count(cls, snapshot: Snapshot, lattice: Grid) -> LatticeTable:
        """Count people per square."""
        return cls.of(lattice.count(snapshot.x_m, snapshot.y_m).reshape(lattice.rows, lattice.columns))

    def inside(self, west: Whole, south: Whole, east: Whole, north: Whole) -> Array:
        """Return the sum over each rectangle."""
        b = self.below
        return b[north, east] - b[south, east] - b[north, west] + b[south, west]

    def within(self, boxes: Boxes) -> Array:
        """Return the sum over each box."""
        return self.inside(boxes.west, boxes.south, boxes.east, boxes.north)
