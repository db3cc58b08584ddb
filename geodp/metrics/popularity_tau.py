"""Whether published visits still tell which venues are popular."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._publications import finite, measured_by
from geodp.metrics._visits import scored

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


class PopularityTau(Metric):
    """Kendall's tau-b between true and published numbers of visits of venues, and the share of the top 20 kept.

    Undefined (null) where places are no venues (centroids). `popularity_top20` is the share of the 20 most visited
    venues that are also among the 20 most visited as published.
    """

    kind: ClassVar[str] = "popularity_tau"
    unit: ClassVar[str] = "tau"
    units: ClassVar[Mapping[str, str]] = {"popularity_top20": "share"}
    better: ClassVar[str] = "higher"
    topic: ClassVar[str] = "published"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Rank venues by true and by published visits."""
        from geodp.tables.visits.visit_scores import popularity

        def one(item: PublishedRun) -> dict[str, Measured]:
            found = scored(run, item)
            if not (found.released.venue >= 0).any():
                return {self.kind: Measured(None), "popularity_top20": Measured(None)}
            tau, kept = popularity(found.histories, found.released, found.venues, top=20)
            return {self.kind: Measured(finite(tau)), "popularity_top20": Measured(kept)}

        return measured_by(run, "visits", one)
