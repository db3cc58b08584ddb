"""How wrong published numbers of visits are."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._publications import measured_by, of_topic
from geodp.metrics._visits import scored
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    import pandas as pd

    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


class VisitCountError(Metric):
    """Mean difference between the true and the published number of visits of a person, up or down.

    All true visits count, also those beyond the publication's cap. Interval: t, over people.
    """

    kind: ClassVar[str] = "visit_count_error"
    unit: ClassVar[str] = "visits"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "published"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Compare numbers person by person."""

        def one(item: PublishedRun) -> dict[str, Measured]:
            return {self.kind: mean(self._errors(run, item))}

        return measured_by(run, "visits", one)

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the error of every person in the first publication, to pair people with themselves."""
        import pandas as pd

        first = next(of_topic(run, "visits"), None)
        return None if first is None else pd.Series(self._errors(run, first[1]))

    def _errors(self, run: RunFolder, item: PublishedRun) -> Array:
        from geodp.tables.visits.visit_scores import count_errors

        found = scored(run, item)
        return count_errors(found.histories, found.released)
