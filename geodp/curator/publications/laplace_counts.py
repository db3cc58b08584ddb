"""Laplace noise on every count: the baseline that all others are held against (LPA)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Literal

from geodp.curator.accuracy import OwnNoise, PaidCounts
from geodp.curator.counts_publication import CappedCounts, count_capped
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import laplace_counts
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.visit_sets import VisitTable


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
    states_always: ClassVar[bool] = True

    variant: Literal["corrected", "literal"] = "corrected"
    """`literal`: the cap is the largest number of venues of any user, read off the data. Not private."""

    def count_venues(self, visits: VisitTable, noise: Noise, order: Integers | None = None) -> PaidCounts:  # noqa: ARG002
        """Count, with noise at every venue."""
        cap, key = self.cap_and_key(visits, noise)
        counts = visits.sum_pieces(partial(count_capped, cap=cap, key=key))
        scale = cap / self.counting_epsilon
        noisy = laplace_counts(counts, epsilon=self.counting_epsilon, sensitivity=cap, noise=noise)
        own = OwnNoise(noisy, scale, self.nonnegative)
        facts = {"cap": cap, "noise_scale": scale}
        spread = scale * math.sqrt(2 * visits.venues)
        return PaidCounts(
            count=self.finish_counts(noisy),
            bound=cap,
            total=float(noisy.sum()),
            total_spread=spread,
            facts=facts,
            own_noise=own,
        )

    def how(self, facts: Mapping[str, float]) -> str:
        """E|Lap(b)| = b, with b = cap/ε."""
        return f"The noise on a count is ±{facts['noise_scale']:.4g} on average"
