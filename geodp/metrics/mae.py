"""Error of published venue counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._publications import measured_by
from geodp.metrics._venue_counts import count_pair

if TYPE_CHECKING:
    from geodp.runs.published import PublishedRun
    from geodp.runs.run_folder import RunFolder


class Mae(Metric):
    """Mean absolute error of published venue counts over all venues, in users."""

    kind: ClassVar[str] = "mae"
    unit: ClassVar[str] = "users"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of counts."""
        return measured_by(run, "counts", self._score)

    def _score(self, item: PublishedRun) -> dict[str, Measured]:
        from geodp.visits.count_scores import mean_absolute_error

        pair = count_pair(item)
        return {"mae": Measured(mean_absolute_error(pair.released, pair.true))}
