"""Relative error of published counts of the most visited venues."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from geodp.metrics._venue_counts import CountPair, Counts, VenueError


class TopkMre(VenueError):
    """Mean of |error| / max(true count, 0.1 % of users) over the k truly most visited venues.

    Interval: t, over venues.
    """

    kind: ClassVar[str] = "topk_mre"
    unit: ClassVar[str] = "ratio"

    top: int = Field(default=50, ge=1)
    """Number of venues (k)."""

    def errors(self, pair: CountPair) -> Counts:
        """Return the relative errors of the most visited venues."""
        from geodp.tables.visits.visit_scores import relative_errors, top_venues

        best = top_venues(pair.true, self.top)
        return relative_errors(pair.released[best], pair.true[best], pair.users)
