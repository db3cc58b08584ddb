"""The baseline that says nothing: every count is 0."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from geodp.curator.counts_publication import CountsPublication
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.tables.visits.histories import Integers, VenueCounts
from geodp.tables.visits.visit_sets import VisitTable


class Zeros(CountsPublication):
    """Zero users at every venue, whatever the data: the error that a method has to beat.

    Guarantee
    ---------
    It reads nothing: ε = 0 for all visits of one user (added or removed) is what it costs.

    Reference
    ---------
    On long-tailed counts most methods are worse: where the mean count is 1, publishing zeros is off by 1 on average.
    """

    kind: ClassVar[str] = "zeros"

    def guarantee(self) -> Guarantee:
        """Promise ε = 0: nothing is told about anybody."""
        return Guarantee(0.0, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)

    def release(self, visits: VisitTable, noise: Noise, order: Integers | None = None) -> VenueCounts:  # noqa: ARG002
        """Publish zeros."""
        return VenueCounts(np.zeros(visits.venues), self.kind, self.guarantee())

    def accuracy(self, released: VenueCounts) -> tuple[str, dict[str, float]]:  # noqa: ARG002
        """Say the obvious, and that nothing more is known."""
        return "Every count is off by itself: how much that is is not known, for nothing was paid.", {}
