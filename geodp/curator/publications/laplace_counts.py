"""Laplace noise on every count: the baseline that all others are held against (LPA)."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Literal

from geodp.curator.publications._counts_audit import everyone_or_one_more, observed_cap_case
from geodp.curator.publications._counts_publication import OBSERVED, CappedCounts, capped_counts, observed_cap
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import laplace_counts
from geodp.visits.histories import Integers
from geodp.visits.venue_counts import VenueCounts
from geodp.visits.visit_sets import VisitTable


class LaplaceCounts(CappedCounts):
    """Users per venue, each with Laplace noise of scale cap/ε (LPA).

    Guarantee
    ---------
    ε-differential privacy for all visits of one user (added or removed), against everyone but the curator. Holds
    because everyone is counted at no more than `cap` venues, chosen by a rule that looks at that user alone.

    Reference
    ---------
    Dwork et al. 2006; Kellaris & Papadopoulos 2013 (Practical Differential Privacy via Grouping and Smoothing), theorem
    1. The paper takes the cap from the data (`variant: literal`), which is not private.
    """

    kind: ClassVar[str] = "laplace_counts"

    variant: Literal["corrected", "literal"] = "corrected"
    """`literal`: the cap is the largest number of venues of any user, read off the data. Not private."""

    def flaw(self) -> str:
        """Say why the promise does not hold ('' when it does)."""
        return OBSERVED if self.variant == "literal" else ""

    def release(self, visits: VisitTable, noise: Noise, order: Integers | None = None) -> VenueCounts:  # noqa: ARG002
        """Count, with noise at every venue."""
        self.require_sound(noise)
        cap, key = self.bounded(visits, noise)
        if self.variant == "literal":
            cap = observed_cap(visits)
        counts = visits.summed(partial(capped_counts, cap=cap, key=key))
        noisy = laplace_counts(counts, epsilon=self.epsilon, sensitivity=cap, noise=noise)
        return self.told(self.finished(noisy), noise_scale=cap / self.epsilon)

    def accuracy(self, released: VenueCounts) -> tuple[str, dict[str, float]]:
        """E|Lap(b)| = b, with b = cap/ε."""
        scale = released.facts["noise_scale"]
        return f"The noise on a count is ±{scale:.4g} on average. {self.beyond_cap()}", {"noise_error": scale}

    def audit_cases(self) -> list[AuditCase]:
        """Take a user with as many venues as the cap; where the cap is observed, a user with more than anyone else."""
        if self.variant == "literal":
            return [observed_cap_case(self)]
        return [everyone_or_one_more(self, self.epsilon)]
