"""Whether published visits still tell which kinds of places people go to."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._publications import finite, measured_by
from geodp.metrics._visits import scored

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


class CategoryHistogramError(Metric):
    """Half the L1 distance between the shares of categories among true and among published visits (0 to 1).

    Undefined (null) where venues have no category, or places are no venues.
    """

    kind: ClassVar[str] = "category_histogram_error"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "published"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Compare the two histograms."""
        from geodp.tables.visits.visit_scores import category_error

        def one(item: PublishedRun) -> dict[str, Measured]:
            found = scored(run, item)
            if not (found.released.venue >= 0).any():
                return {self.kind: Measured(None)}
            return {self.kind: Measured(finite(category_error(found.histories, found.released, found.venues)))}

        return measured_by(run, "visits", one)
