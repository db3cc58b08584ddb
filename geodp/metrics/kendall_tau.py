"""Whether popular places stay popular: Kendall's tau-b of point counts, 20 x 20 cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._trajectories import scored
from geodp.tables.trajectories.scores import kendall_tau

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class KendallTau(Metric):
    """Whether popular places stay popular: Kendall's tau-b of point counts, 20 x 20 cells.

    1 is the same order, 0 no relation.
    """

    kind: ClassVar[str] = "kendall_tau"
    topic: ClassVar[str] = "published"
    better: ClassVar[str] = "higher"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of trajectories."""
        return scored(run, kendall_tau)
