"""Mean relative error of the share of points in 500 random rectangles."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._trajectories import scored
from geodp.tables.trajectories.scores import query_are_pts

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class QueryArePts(Metric):
    """Mean relative error of the share of points in 500 random rectangles.

    Rectangles with sides 5 to 30 % of the box, the same for every run; |true − published| over the true share, at least
    1 %.
    """

    kind: ClassVar[str] = "query_are_pts"
    topic: ClassVar[str] = "published"
    better: ClassVar[str] = "lower"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of trajectories."""
        return scored(run, query_are_pts)
