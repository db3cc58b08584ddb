"""Whether published counts name the most visited venues."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from geodp.metrics import Measured, Metric
from geodp.metrics._publications import measured_by
from geodp.metrics._venue_counts import count_pair

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


class TopkAccuracy(Metric):
    """Share of the k truly most visited venues that are among the k largest published counts (ties: expected share)."""

    kind: ClassVar[str] = "topk_accuracy"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "higher"
    topic: ClassVar[str] = "published"

    top: int = Field(default=50, ge=1)
    """Number of venues (k)."""

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of counts."""
        return measured_by(run, "counts", self._score)

    def _score(self, item: PublishedRun) -> dict[str, Measured]:
        from geodp.tables.visits.visit_scores import top_accuracy

        pair = count_pair(item)
        return {"topk_accuracy": Measured(top_accuracy(pair.released, pair.true, self.top))}
