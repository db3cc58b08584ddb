"""Relative error of published venue counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._publications import measured_by
from geodp.metrics._venue_counts import count_pair

if TYPE_CHECKING:
    from geodp.runs.published import PublishedRun
    from geodp.runs.run_folder import RunFolder


class Mre(Metric):
    """Mean relative error of published venue counts: |error| / max(true count, 0.1 % of users), over all venues."""

    kind: ClassVar[str] = "mre"
    unit: ClassVar[str] = "ratio"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of counts."""
        return measured_by(run, "counts", self._score)

    def _score(self, item: PublishedRun) -> dict[str, Measured]:
        from geodp.visits.count_scores import mean_relative_error

        pair = count_pair(item)
        return {"mre": Measured(mean_relative_error(pair.released, pair.true, pair.users))}
