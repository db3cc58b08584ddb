"""How well the 100 most frequent runs of 2 to 5 cells agree: F1."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._trajectories import scored
from geodp.tables.trajectories.scores import pattern_f1

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class PatternF1(Metric):
    """How well the 100 most frequent runs of 2 to 5 cells agree: F1.

    Runs are contiguous, on 6 x 6 cells, with the cells that straight lines between points pass; each occurrence counts.
    """

    kind: ClassVar[str] = "pattern_f1"
    topic: ClassVar[str] = "published"
    better: ClassVar[str] = "higher"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of trajectories."""
        return scored(run, pattern_f1)
