"""Privacy budget spent on every item of a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class EpsilonPerItemSpent(Metric):
    """Epsilon that phones' reports about histories cost per item over the whole run (an account of its own).

    Reports compose as the history grows: each costs its epsilon again. A history of k items together is protected at k
    times this. Undefined (null) when a report's promise does not hold. Only where phones tell about histories.
    """

    kind: ClassVar[str] = "epsilon_per_item_spent"
    unit: ClassVar[str] = "epsilon per item"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"
    public: ClassVar[bool] = True

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Read the total off the ledger."""
        from geodp.public.guarantee import Unit

        if run.scenario.device.history_report is None:
            return {}
        if not all(report.guarantee.holds for report in run.history_reports):
            return {self.kind: Measured(None)}
        charges = run.ledger
        item = charges[charges["unit"].astype(str) == str(Unit.ITEM)]
        return {self.kind: Measured(float(item["total"].max()) if len(item) else 0.0)}
