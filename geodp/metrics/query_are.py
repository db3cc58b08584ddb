"""Mean relative error of the number of trajectories with a point in 500 random rectangles."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._trajectories import scored
from geodp.tables.trajectories.scores import query_are

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class QueryAre(Metric):
    """Mean relative error of the number of trajectories with a point in 500 random rectangles.

    Rectangles as for `query_are_pts`; |true − published| over the true number, at least 1 % of all trajectories.
    Counting too few costs at most 1, too many any amount: it rewards published sets that are too small. Never read it
    alone.
    """

    kind: ClassVar[str] = "query_are"
    topic: ClassVar[str] = "published"
    better: ClassVar[str] = "lower"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of trajectories."""
        return scored(run, query_are)
