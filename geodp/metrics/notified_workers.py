"""Workers asked per task (ANW)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.metrics.protocol import decided, first_offers

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class NotifiedWorkers(Metric):
    """Different workers who were asked, mean over offered tasks (ANW).

    Everyone inside a circle is asked, the busy ones too; whoever is asked again in a wider circle counts
    once. Tasks undecided when the run ends are left out. With `worker_selected` it counts those who looked at
    the posted task. The server never sees this number.

    Reference
    ---------
    To, Ghinita, Shahabi 2014, average number of notified workers.
    """

    kind: ClassVar[str] = "notified_workers"
    unit: ClassVar[str] = "workers"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "effort"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the counts."""
        return {self.kind: mean(self.per_task(run))}

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return how many workers were asked about each offered task (0 where nobody was in the circle)."""
        settled = first_offers(run).index.intersection(decided(run).index)
        asked = run.notified.groupby("task").size()
        return asked.reindex(settled, fill_value=0).astype("float64")
