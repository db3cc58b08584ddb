"""The shared half of mechanisms that divide the region into cells and count: budget, promise, sizes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import with_laplace
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.registry import PublicFacts

MAX_CELLS = 25_000_000
GUIDELINE = 10.0
"""c of the uniform-grid guideline: sqrt(N ε / c) cells per side balance noise and the loss of detail."""


class Decomposition(Mechanism):
    """Cells with noisy counts; which cells there are follows from public settings and noisy counts alone."""

    releases: ClassVar[frozenset[str]] = frozenset({"cells"})

    epsilon: float = Field(default=0.4, gt=0)
    """ε of one release, all its parts together."""
    count_share: float = Field(default=0.0, ge=0, lt=1)
    """Share of ε that pays for a noisy number of workers, from which sizes follow; 0: they follow from the public
    `curator.expected_workers` and cost nothing."""

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Promise ε for one snapshot position."""
        return Guarantee(self.epsilon, Unit.SNAPSHOT, neighbours, Trust.CENTRAL, counts=counts)

    def _counts_epsilon(self) -> float:
        """Return what is left of ε when the number of workers is paid for."""
        return self.epsilon - self.count_share * self.epsilon

    def _facts(self, snapshot: Snapshot, noise: Noise) -> PublicFacts:
        """Return the facts that sizes may follow from, with a number of workers that is public or paid for."""
        workers, s = snapshot.expected_workers, sensitivity(snapshot.neighbours)
        if self.count_share > 0:
            here = int(np.count_nonzero(snapshot.region.contains(snapshot.x_m, snapshot.y_m)))
            scale = s / (self.count_share * self.epsilon)
            workers = max(1.0, float(with_laplace(np.array([here]), scale, noise)[0]))
        region = snapshot.region
        return PublicFacts(workers, 0.0, 1.0, 0.0, region.width_m, region.height_m, s)

    def _release_facts(self, snapshot: Snapshot) -> dict[str, Any]:
        """Return the fields that all releases have, whatever their cells."""
        return {
            "time_s": snapshot.time_s,
            "mechanism": self.kind,
            "guarantee": self.guarantee(snapshot.neighbours, snapshot.counts),
            "floor_per_m2": snapshot.floor_per_m2,
        }


def guideline_cell_m(facts: PublicFacts, epsilon: float) -> float:
    """Return the side of a cell by the guideline, in tenths of a metre; never larger than the region, nor 0."""
    per_side = max(1.0, math.sqrt(facts.expected_workers * epsilon / facts.sensitivity / GUIDELINE))
    most_m = math.floor(10 * min(facts.width_m, facts.height_m)) / 10
    return max(min(round(math.sqrt(facts.area_m2) / per_side, 1), most_m), 0.1)


def sensitivity(neighbours: Neighbours) -> float:
    """Return by how much disjoint counts change in all: whoever is replaced leaves one cell and enters another."""
    return 2.0 if neighbours is Neighbours.REPLACE else 1.0


def equal_noise(square_sum: Array, fourth_sum: Array) -> tuple[Array, Array]:
    """Return scale and effective number of terms of sums of Laplace variables, from Σ(w b)² and Σ(w b)⁴."""
    return np.sqrt(square_sum), square_sum**2 / fourth_sum
