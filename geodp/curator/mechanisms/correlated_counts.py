"""Counts of people who depend on each other: noise for a whole household, or the paper's correlated sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from geodp.curator.mechanisms.uniform_grid import UniformGrid
from geodp.privacy.audit_case import AnyCase, ExactCase
from geodp.privacy.dependence import bin_laws, count_laws, household_sensitivity
from geodp.public.guarantee import Guarantee, Neighbours
from geodp.public.zcdp import epsilon_of_rho
from geodp.world.bounds import MOST_TOGETHER

_LARGEST_LAW = 200
"""Households beyond it are audited by following alone: exact laws take the square of it."""


class CorrelatedCounts(UniformGrid):
    """Noisy counts on a regular grid for people who move together: noise for a household, or by correlated sensitivity.

    Guarantee
    ---------
    `variant: group` (default): ε-differential privacy for any `household` people together in one release (snapshot),
    whatever they have in common, against everyone but the curator: noise Lap(k·S/ε), S = 1 for adding or removing one
    worker, 2 for replacing one. Releases add up.
    `variant: literal`: noise Lap(CS·S/ε) with the correlated sensitivity CS = Σ_j |δ_ij| = 1 + (k - 1)·δ, and CS = 1
    where δ is below the threshold. As δ_ii = 1 that keeps ε for one person alone, and no more: CS is the shift that one
    expects, not a bound. k people who are there or not tell k·ε/CS. With `noise: gaussian`, ρ that is worth ε at delta,
    for the household, or as claimed for it: σ = k·S₂/√(2ρ), S₂ = 1 and √2, or CS·S₂/√(2ρ).

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 14.4.4, eq. (14.5)-(14.7), after Zhu, Xiong, Li and
    Zhou 2015, Correlated differential privacy. Lemma 14.1 compares CS with k times the sensitivity, and shows that it
    is smaller; it does not show that it is enough.
    """

    kind: ClassVar[str] = "correlated_counts"

    household: int = Field(default=4, ge=1, le=MOST_TOGETHER)
    """How many people move together, at most (k): a public cap."""
    variant: Literal["group", "literal"] = "group"
    """`group`: noise k times as wide; `literal`: as wide as the paper's correlated sensitivity."""
    degree: float = Field(default=0.7, ge=0, le=1)
    """With `variant: literal`: the correlated degree δ of two people of a household, public."""
    threshold: float = Field(default=0.6, ge=0, le=1)
    """With `variant: literal`: degrees below it count as 0 (δ₀)."""

    def idle_fields(self) -> dict[str, str]:
        """Return what only the paper's variant reads."""
        found = super().idle_fields()
        return found if self.variant == "literal" else found | dict.fromkeys(("degree", "threshold"), "without literal")

    @property
    def correlated_sensitivity(self) -> float:
        """How many times the sensitivity for one person the noise is made for."""
        if self.variant == "group":
            return float(self.household)
        return household_sensitivity(self.household, self.degree, self.threshold)

    def change(self, neighbours: Neighbours) -> float:
        """Return by how much counts are taken to change."""
        return self.correlated_sensitivity * super().change(neighbours) / self.household

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Promise ε for a household; the literal variant claims it, and keeps it for one person."""
        promise, taken = super().guarantee(neighbours, counts), self.correlated_sensitivity
        if taken >= self.household:
            return promise
        costs = [promise.epsilon * people / taken for people in (self.household, 1)]
        if promise.rho is not None:
            costs = [epsilon_of_rho(promise.rho * (people / taken) ** 2, self.delta) for people in (self.household, 1)]
        why = (
            f"a correlated sensitivity of {taken:g} is the change that one expects, no bound on it: {self.household} "
            f"people who are there or not cost ε = {costs[0]:.4g}, one person alone {costs[1]:.4g}"
        )
        return replace(promise, holds=False, why_not=why)

    def audit_cases(self) -> Sequence[AnyCase]:
        """Name one of a household whom the others follow, all together or each by her own coin: exact laws of a count.

        All but the household stand elsewhere, and are known. With Gaussian noise laws have no ε: they are followed.
        """
        if self.noise == "gaussian":
            return []
        people, scale = min(self.household, _LARGEST_LAW), self.expected_noise()
        degree = self.degree if self.variant == "literal" else 1.0
        named = {
            "whom all others follow together": count_laws(people, degree, "copies"),
            "whom each of the others follows by a coin": count_laws(people, degree, "independent"),
        }
        return [
            ExactCase(f"one of {people} {name}, chance {degree:g}", self.epsilon, partial(bin_laws, *laws, scale))
            for name, laws in named.items()
        ]
