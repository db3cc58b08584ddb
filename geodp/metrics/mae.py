"""Error of published venue counts."""

from __future__ import annotations

from typing import ClassVar

from geodp.metrics._venue_counts import CountPair, Counts, VenueError


class Mae(VenueError):
    """Mean absolute error of published venue counts over all venues, in users. Interval: t, over venues."""

    kind: ClassVar[str] = "mae"
    unit: ClassVar[str] = "users"

    def errors(self, pair: CountPair) -> Counts:
        """Return the error of every venue."""
        from geodp.tables.visits.visit_scores import absolute_errors

        return absolute_errors(pair.released, pair.true)
