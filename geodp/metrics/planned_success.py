"""Success that the server planned for (mean ASP)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.metrics.protocol import first_offers

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class PlannedSuccess(Metric):
    """Probability of acceptance that the server's own model expects, mean over offered tasks (mean ASP).

    The first offer of each task counts; unreachable tasks have none and are left out. Undefined with
    `worker_selected`, where nothing is planned.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, eq. (13.9)-(13.11): acceptance probability ASP.
    """

    kind: ClassVar[str] = "planned_success"
    unit: ClassVar[str] = "share"
    topic: ClassVar[str] = "plan"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the planned probabilities."""
        return {self.kind: mean(self.per_task(run))}

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return the probability planned for each offered task."""
        return first_offers(run)["planned_success"].astype("float64").dropna()
