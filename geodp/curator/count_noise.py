"""Which noise counts get: Laplace for a pure ε, or Gaussian for ρ, stated as (ε, δ).

Laplace noise grows with how much one person changes all counts together (L1), Gaussian noise with the root of the sum
of squares (L2): it is the smaller one where a person is counted often, on many levels or in many releases.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.curator.household_counts import HouseholdCounts
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import with_discrete_gaussian, with_laplace
from geodp.privacy.zcdp import epsilon_of_rho, gaussian_scale, largest_rho
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

GAUSSIAN_TERMS = 1000.0
"""Laplace variables whose sum is as good as Gaussian: what releases state as `noise_terms`."""


class CountNoise(HouseholdCounts):
    """Counts with Laplace or Gaussian noise."""

    noise: Literal["laplace", "gaussian"] = "laplace"
    """`laplace`: ε alone is promised; `gaussian`: ρ of zero-concentrated privacy, stated as ε at delta. `geodp check`
    says which is smaller."""
    delta: float = Field(default=1e-6, gt=0, le=1e-2)
    """δ at which ε is stated, with `noise: gaussian`."""

    def idle_fields(self) -> dict[str, str]:
        """Return the δ of a promise that has none."""
        return super().idle_fields() | ({"delta": "with noise: laplace"} if self.noise == "laplace" else {})

    @property
    def rho(self) -> float:
        """ρ that ε at δ is worth."""
        return largest_rho(float(getattr(self, "epsilon", 0.0)), self.delta)

    @property
    def counts_part(self) -> float:
        """Part of the price that counts get; the rest is for choices."""
        return 1.0

    def find_choice_epsilon(self, part: float) -> float:
        """Return ε of a choice that gets a part of the price: pure ε costs ρ = ε²/2 at most."""
        if self.noise == "laplace":
            return part * float(getattr(self, "epsilon", 0.0))
        return math.sqrt(2 * part * self.rho)

    def find_part_scale(self, change: float, neighbours: Neighbours, part: float) -> float:
        """Return the scale, as `find_scale` does, of disjoint counts that get a part of the price."""
        if self.noise == "laplace":
            return change / (part * float(getattr(self, "epsilon", 0.0)))
        return gaussian_scale(part * self.rho, find_l2(change, neighbours)) / math.sqrt(2)

    def find_equal_epsilon(self, part: float = 1.0) -> float:
        """Return ε of Laplace noise as wide as that of counts that get a part of the price: sizes follow from it."""
        return 1 / self.find_part_scale(1.0, Neighbours.ADD_REMOVE, part)

    def make_promise(self, unit: Unit, neighbours: Neighbours, counts: str) -> Guarantee:
        """Return the promise of ε about a unit: pure, or of ρ."""
        more = {"counts": counts, "people": self.household}
        epsilon = float(getattr(self, "epsilon", 0.0))
        if self.noise == "laplace":
            return Guarantee(epsilon, unit, neighbours, Trust.CENTRAL, **more)  # type: ignore[arg-type]
        return Guarantee.from_rho(self.rho, self.delta, unit, neighbours, Trust.CENTRAL, **more)

    def promise_rho(self, rho: float, like: Guarantee) -> Guarantee:
        """Return a promise of another ρ about the same."""
        return replace(like, rho=rho, epsilon=epsilon_of_rho(rho, self.delta))

    def find_scale(self, change: float, neighbours: Neighbours, parts: list[float], part: int) -> float:
        """Return the Laplace scale of one of several parts that share ε, or the one with the variance of its Gaussian.

        Parameters
        ----------
        change
            By how much the counts of a part change in all.
        neighbours
            Whoever is replaced changes two cells, whose squares add up.
        parts
            ε of every part.
        part
            Which of them.
        """
        if self.noise == "laplace":
            return change / parts[part]
        # Shares of ρ that are best where shares of ε are: errors of Σ c/ε² are least for ε ~ c^(1/3), of Σ c/ρ for ρ ~
        # c^(1/2).
        weights = [epsilon**1.5 for epsilon in parts]
        return self.find_part_scale(change, neighbours, self.counts_part * weights[part] / sum(weights))

    def add_noise(self, counts: npt.NDArray[np.number], scale: float, noise: Noise) -> Array:
        """Return counts with noise of that scale."""
        if self.noise == "laplace":
            return with_laplace(counts, scale, noise)
        whole = np.rint(counts).astype(np.int64)
        return with_discrete_gaussian(whole, scale * math.sqrt(2), noise).astype(np.float64)

    @property
    def terms(self) -> float:
        """How many Laplace variables the noise of one count is worth."""
        return 1.0 if self.noise == "laplace" else GAUSSIAN_TERMS

    def list_terms(self, size: int) -> Array | None:
        """Return that number for every count (None: plain Laplace noise)."""
        return None if self.noise == "laplace" else np.full(size, GAUSSIAN_TERMS)

    def mean_noise(self, scale: float) -> float:
        """Return the expected absolute noise: b of Laplace noise, σ·sqrt(2/π) of Gaussian noise."""
        return scale if self.noise == "laplace" else scale * 2 / math.sqrt(math.pi)


def find_l2(change: float, neighbours: Neighbours) -> float:
    """Return the L2 sensitivity of disjoint counts that change by so much in all.

    Parameters
    ----------
    change
        What all cells change by together (L1).
    neighbours
        Whoever is added is in one cell; whoever is replaced leaves one and enters another.
    """
    return change / math.sqrt(2) if neighbours is Neighbours.REPLACE else change
