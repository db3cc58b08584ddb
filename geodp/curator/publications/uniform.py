"""The baseline that knows the total alone: it is spread evenly over the venues."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from geodp.curator.accuracy import PaidCounts
from geodp.curator.counts_publication import CappedCounts
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import laplace_counts
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.visit_sets import VisitSets, VisitTable


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

    def count_venues(self, visits: VisitTable, noise: Noise, order: Integers | None = None) -> PaidCounts:  # noqa: ARG002
        """Publish the same number for every venue."""
        cap = min(self.cap, visits.venues)
        total = visits.sum_pieces(partial(count_capped_visits, cap=cap))
        noisy = laplace_counts(np.array([total]), epsilon=self.counting_epsilon, sensitivity=cap, noise=noise)[0]
        each = np.full(visits.venues, noisy / visits.venues)
        scale = cap / self.counting_epsilon
        facts = {"cap": cap, "noise_scale": scale / visits.venues}
        return PaidCounts(self.finish_counts(each), cap, float(noisy), scale * math.sqrt(2), facts)

    def how(self, facts: Mapping[str, float]) -> str:
        """Say what the noise does."""
        return f"All venues share one mean count, whose noise is ±{facts['noise_scale']:.4g} on average"


def count_capped_visits(piece: VisitSets, *, cap: int) -> int:
    """Return the number of visits when everyone counts at no more than `cap` venues."""
    return int(np.minimum(piece.size, cap).sum())
