"""Why tasks failed, reason by reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import share
from geodp.metrics.protocol import decided, plans_regions
from geodp.public.events import REGION_FAILURES

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class FailureReasons(Metric):
    """Share of the decided tasks that failed for each reason (`failed_<reason>`), the event log's own words.

    Every reason for which a task offered to a region can fail has a key, 0 where it did not happen; each task's own
    reason is in the event log. Interval: Wilson. Only for regions of cells.
    """

    kind: ClassVar[str] = "failure_reasons"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "tasks"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count the failures by reason."""
        if not plans_regions(run):
            return {}
        tasks = decided(run)
        reasons: pd.Series = tasks.loc[tasks["outcome"] == "failure", "reason"]
        return {
            f"failed_{reason}": share(int((reasons == str(reason)).sum()), len(tasks)) for reason in REGION_FAILURES
        }
