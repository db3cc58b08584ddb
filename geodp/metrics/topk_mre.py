"""Relative error of published counts of the most visited venues."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from geodp.metrics import Measured, Metric
from geodp.metrics._publications import measured_by
from geodp.metrics._venue_counts import count_pair

if TYPE_CHECKING:
    from geodp.runs.published import PublishedRun
    from geodp.runs.run_folder import RunFolder


class TopkMre(Metric):
    """Mean relative error (bound: 0.1 % of users) of published counts over the k truly most visited venues."""

    kind: ClassVar[str] = "topk_mre"
    unit: ClassVar[str] = "ratio"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    top: int = Field(default=50, ge=1)
    """Number of venues (k)."""

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of counts."""
        return measured_by(run, "counts", self._score)

    def _score(self, item: PublishedRun) -> dict[str, Measured]:
        from geodp.visits.count_scores import mean_relative_error, top_venues

        pair = count_pair(item)
        best = top_venues(pair.true, self.top)
        return {"topk_mre": Measured(mean_relative_error(pair.released[best], pair.true[best], pair.users))}
