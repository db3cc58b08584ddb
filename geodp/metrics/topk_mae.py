"""Error of published counts of the most visited venues."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from geodp.metrics._venue_counts import CountPair, Counts, VenueError


class TopkMae(VenueError):
    """Mean absolute error of published counts over the k truly most visited venues, in users.

    Interval: t, over venues.
    """

    kind: ClassVar[str] = "topk_mae"
    unit: ClassVar[str] = "users"

    top: int = Field(default=50, ge=1)
    """Number of venues (k)."""

    def errors(self, pair: CountPair) -> Counts:
        """Return the errors of the most visited venues."""
        from geodp.tables.visits.visit_scores import absolute_errors, top_venues

        best = top_venues(pair.true, self.top)
        return absolute_errors(pair.released[best], pair.true[best])
