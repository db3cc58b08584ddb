"""How far published visits lie from the true ones, in units of the hierarchy's sensitivity."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from geodp.metrics import Measured, Metric
from geodp.metrics._publications import measured_by, of_topic
from geodp.metrics._visits import scored
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    import pandas as pd

    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


class PriLocationDistanceError(Metric):
    """Distance between true and published place over the sensitivity HS of the person's level (DE).

    DE_u is the mean over the visits of user u that survived (added ones have no true place, deleted ones no published
    one: `visit_count_error` counts those); DE is the mean over users with any. The book divides by the number of
    published visits and leaves added and deleted ones undefined. Interval: t, over users.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, eq. (12.17) and (12.18).
    """

    kind: ClassVar[str] = "prilocation_distance_error"
    unit: ClassVar[str] = "of HS"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "published"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average distances per user, then over users."""

        def one(item: PublishedRun) -> dict[str, Measured]:
            errors = self._errors(run, item)
            return {self.kind: mean(errors[np.isfinite(errors)])}

        return measured_by(run, "visits", one)

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the error of every user of the first publication, to pair users with themselves."""
        import pandas as pd

        first = next(of_topic(run, "visits"), None)
        return None if first is None else pd.Series(self._errors(run, first[1]))

    def _errors(self, run: RunFolder, item: PublishedRun) -> Array:
        from geodp.tables.visits.visit_scores import distance_errors

        found = scored(run, item)
        return distance_errors(found.replacements, found.hierarchy, found.sensitivity_m)
