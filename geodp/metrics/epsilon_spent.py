"""Privacy budget spent on every person."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class EpsilonSpent(Metric):
    """Epsilon that the curator's releases and publications cost each person over the whole run (central account).

    The ledger's total, in the neighbour relation of the releases. Undefined (null), not zero, when something
    was released without a guarantee that holds: no epsilon describes exact counts. Reports made under a
    metric guarantee (`epsilon_per_m_spent`) and what the protocol itself discloses (`interaction_leakage_mean`) are
    other accounts, never added: without a curator, where phones report by themselves, this one is undefined.
    """

    kind: ClassVar[str] = "epsilon_spent"
    unit: ClassVar[str] = "epsilon"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"
    public: ClassVar[bool] = True

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Read the total off the ledger."""
        from geodp.privacy.ledger import central_rows

        promises = [release.guarantee for release in run.releases] + [item.per_person for item in run.publications]
        if not all(promise.holds for promise in promises):
            return {self.kind: Measured(None)}
        central = central_rows(run.ledger)
        if central.empty and run.scenario.phones_report:
            return {self.kind: Measured(None)}  # reports are charged to another account; zero would look like less
        return {self.kind: Measured(float(central["total"].max()) if len(central) else 0.0)}
