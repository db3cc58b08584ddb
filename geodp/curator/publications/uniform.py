"""The baseline that knows the total alone: it is spread evenly over the venues."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np

from geodp.curator.publications._counts_audit import one_total
from geodp.curator.publications._counts_publication import CappedCounts
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import laplace_counts
from geodp.visits.histories import Integers
from geodp.visits.venue_counts import VenueCounts
from geodp.visits.visit_sets import VisitSets, VisitTable


class Uniform(CappedCounts):
    """One noisy total, spread evenly over all venues: the error that a method has to beat.

    Guarantee
    ---------
    ε-differential privacy for all visits of one user (added or removed), against everyone but the curator.

    Reference
    ---------
    Laplace noise of scale cap/ε on the sum of all counts (Dwork et al. 2006).
    """

    kind: ClassVar[str] = "uniform"

    def release(self, visits: VisitTable, noise: Noise, order: Integers | None = None) -> VenueCounts:  # noqa: ARG002
        """Publish the same number for every venue."""
        cap = min(self.cap, visits.venues)
        total = visits.summed(partial(capped_total, cap=cap))
        noisy = laplace_counts(np.array([total]), epsilon=self.epsilon, sensitivity=cap, noise=noise)[0]
        each = np.full(visits.venues, noisy / visits.venues)
        return self.told(self.finished(each), noise_scale=cap / self.epsilon / visits.venues)

    def accuracy(self, released: VenueCounts) -> tuple[str, dict[str, float]]:
        """Say what the noise does; how unlike the venues are is not known."""
        scale = released.facts["noise_scale"]
        text = f"The noise on the mean count is ±{scale:.4g} on average; single venues may be anywhere."
        return f"{text} {self.beyond_cap()}", {"noise_error": scale}

    def audit_cases(self) -> list[AuditCase]:
        """Take a user with as many venues as the cap."""
        return [one_total(self)]


def capped_total(piece: VisitSets, *, cap: int) -> int:
    """Return the number of visits when everyone counts at no more than `cap` venues."""
    return int(np.minimum(piece.size, cap).sum())
