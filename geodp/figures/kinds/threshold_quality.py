"""DPSense: the quality of a threshold, and the error it leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.figures.kinds import POINT_COLUMNS, Making
from geodp.figures.kinds._count_tables import CountFigure

if TYPE_CHECKING:
    import pandas as pd

    from geodp.tables.visits.generated_visits import ModelledVisits
    from geodp.tables.visits.visit_sets import VisitSets

_QUANTITIES = ("error", "quality", "their mean")


class ThresholdQuality(CountFigure):
    """Error and quality of every threshold θ, both relative to the mean count of the table; and their mean.

    Lines carry the name of their ε. Counts are not raised to 0, which would break the symmetry at large thresholds.
    """

    kind: ClassVar[str] = "threshold_quality"

    epsilons: dict[str, float] = Field(default_factory=lambda: {"ln 1.5": 0.405, "ln 3": 1.099})
    """Values of ε, by the name that lines carry."""
    most_thresholds: int = Field(default=14, ge=2)
    """Thresholds measured, in geometric steps from 1 to the longest row."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Measure every threshold at every ε."""
        import pandas as pd

        table = self.table()
        tried = np.unique(np.rint(np.geomspace(1, int(table.size.max()), self.most_thresholds)).astype(np.int64))
        rows = [row for name, epsilon in self.epsilons.items() for row in self._rows(table, tried, name, 0.9 * epsilon)]
        return pd.DataFrame(rows, columns=list(POINT_COLUMNS))

    def _rows(self, table: VisitSets | ModelledVisits, tried: Any, name: str, epsilon: float) -> list[tuple[Any, ...]]:
        from functools import partial

        from geodp.curator.publications._threshold import normalised, quality

        counts = table.counts()
        average = float(counts.mean())
        told = quality(table.sizes_up_to(int(tried.max())), tried, table.venues, 1 / epsilon)
        rows = []
        for theta, worth in zip(tried, told, strict=True):
            scaled = table.summed(partial(normalised, theta=int(theta), step=2.0**-20))
            for repeat in range(self.repeats):
                noisy = scaled + np.random.default_rng([1, repeat]).laplace(0, theta / epsilon, counts.size)
                error = float(np.abs(noisy - counts).mean())
                values = (error, worth, (error + worth) / 2)
                rows += [
                    ("relative", f"{what} ({name})", float(theta), repeat, float(value) / average)
                    for what, value in zip(_QUANTITIES, values, strict=True)
                ]
        return rows

    def line_names(self) -> tuple[str, ...]:
        """Return the names of the lines."""
        return tuple(f"{what} ({name})" for name in self.epsilons for what in _QUANTITIES)
