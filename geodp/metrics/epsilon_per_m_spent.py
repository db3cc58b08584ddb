"""Privacy budget spent on reports from the phone."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class EpsilonPerMetreSpent(Metric):
    """Epsilon per metre that all reports of one phone cost together over the whole run (metric account).

    Tracks that are nowhere further apart than d metres change the odds of all reports together by at most exp of this
    times d (plus what rounding adds to d); where answers are repeated, this holds for tracks that return to their cells
    alike. It has another unit than the curator's epsilon and is never added to it or compared with it: compare what an
    adversary finds (`attack_error_m`). Undefined (null) when phones promise nothing.
    """

    kind: ClassVar[str] = "epsilon_per_m_spent"
    unit: ClassVar[str] = "1/m"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"
    public: ClassVar[bool] = True

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Read the total off the ledger."""
        from geodp.public.guarantee import Unit

        charges = run.ledger
        metric = charges[charges["unit"].astype(str) == str(Unit.POINT)]
        return {self.kind: Measured(float(metric["total"].max()) if len(metric) else None)}
