"""Relative error of published venue counts."""

from __future__ import annotations

from typing import ClassVar

from geodp.metrics._venue_counts import CountPair, Counts, VenueError


class Mre(VenueError):
    """Mean of |error| / max(true count, 0.1 % of users) over all venues. Interval: t, over venues."""

    kind: ClassVar[str] = "mre"
    unit: ClassVar[str] = "ratio"

    def errors(self, pair: CountPair) -> Counts:
        """Return the relative error of every venue."""
        from geodp.tables.visits.visit_scores import relative_errors

        return relative_errors(pair.released, pair.true, pair.users)
