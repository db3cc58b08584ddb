"""Realised minus planned success."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.metrics.protocol import first_offers

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class SuccessGap(Metric):
    """Realised minus planned success of the first offers, paired task by task.

    Mean over the answered first offers of (1 when it found a worker, else 0) minus the probability that the
    server planned for that very offer. Like is compared with like: what re-offers add is not in it, nor are
    unreachable tasks, so it differs from `success_rate` - `planned_success`. Zero is honest planning;
    negative means that the server promised too much.
    """

    kind: ClassVar[str] = "success_gap"
    unit: ClassVar[str] = "share difference"
    topic: ClassVar[str] = "plan"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the differences."""
        return {self.kind: mean(self.per_task(run))}

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return realised (0 or 1) minus planned success of each answered first offer."""
        offers = first_offers(run)
        answered = offers[offers["answered_s"].notna()]
        realised = answered["winner"].notna().astype("float64")
        return (realised - answered["planned_success"].astype("float64")).dropna()
