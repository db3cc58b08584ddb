"""Share of tasks that somebody took (ASR)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import share
from geodp.metrics.protocol import decided

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class SuccessRate(Metric):
    """Share of tasks that a worker took (ASR): taken / (arrived - censored).

    Tasks that the server found unreachable or gave up count as failures. Tasks still undecided when the run
    ends are censored: counted in `censored_tasks` and left out here. Interval: Wilson.

    Reference
    ---------
    To, Ghinita, Shahabi 2014, "A Framework for Protecting Worker Location Privacy in Spatial Crowdsourcing",
    assignment success rate.
    """

    kind: ClassVar[str] = "success_rate"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "higher"
    topic: ClassVar[str] = "tasks"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count successes among decided tasks."""
        success = self.per_task(run)
        return {self.kind: share(int(success.sum()), success.size)}

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return 1 for a task that was taken, 0 for one that was not; censored tasks are left out."""
        return (decided(run)["outcome"] == "success").astype("float64")
