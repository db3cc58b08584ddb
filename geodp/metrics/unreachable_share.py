"""Share of tasks that the server could not offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import share
from geodp.metrics.protocol import first_offers, first_plans

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class UnreachableShare(Metric):
    """Share of tasks that the server never offered to anyone, among all it came to plan.

    The reason of each is in the event log. Tasks that arrive after the last planning round are not counted.
    Interval: Wilson.
    """

    kind: ClassVar[str] = "unreachable_share"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "tasks"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count planned tasks without any offer."""
        unreachable = self.per_task(run)
        return {self.kind: share(int(unreachable.sum()), unreachable.size)}

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return 1 for a planned task that was never offered, else 0."""
        import pandas as pd

        planned = first_plans(run).index
        return pd.Series(~planned.isin(first_offers(run).index), index=planned).astype("float64")
