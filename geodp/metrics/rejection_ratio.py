"""Share of tasks that lie too far for the workers asked (RejR)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import share
from geodp.metrics.protocol import first_plans, plans_circles
from geodp.public.events import Reason

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class RejectionRatio(Metric):
    """Share of tasks whose average worker would have to travel further than any is willing to (RejR).

    2r/3 > maximum travel distance of the workers, with r the radius that the model asked for in its first
    plan *before* any cap; an infinite radius (none suffices) counts as rejected. Tasks for which no radius
    was worked out (no release, no money left, or a solver's non-positive radius, counted by
    `negative_radii`) are left out; with `worker_selected` there are no radii. The book uses RejR without
    defining it; this is our definition. Interval: Wilson.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 13.3.4, fig. 13.9.
    """

    kind: ClassVar[str] = "rejection_ratio"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "plan"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count tasks out of reach among those with a radius."""
        rejected = self.per_task(run)
        return {self.kind: share(int(rejected.sum()), rejected.size)}

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return 1 for a task out of reach, else 0, for each task with a radius."""
        plans = first_plans(run)
        unplanned = [str(Reason.PURSE_EMPTY), str(Reason.NO_RELEASE)]
        radius_m = plans["uncapped_radius_m"].astype("float64").fillna(float("inf"))
        has_radius = ~plans["unreachable"].isin(unplanned) & (radius_m > 0)
        max_travel_m = run.scenario.workers.acceptance.max_travel_m
        if not plans_circles(run):
            has_radius[:] = False
        return (2 * radius_m[has_radius] / 3 > max_travel_m).astype("float64")
