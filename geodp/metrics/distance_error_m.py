"""How wrong the server is about the distance of the workers it asks (DE)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.metrics.protocol import in_last_circle, last_offers, plans_circles

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class DistanceError(Metric):
    """True mean distance of the workers in the circle against the model's 2r/3, mean over offered tasks (DE).

    |mean true distance of the workers in the circle - 2r/3|, with r the radius of the last (widest) offer.
    Workers spread evenly over a disc of radius r lie 2r/3 from its centre on average. Tasks with nobody in
    the circle have no mean distance and are left out; with `worker_selected` there are no circles. The book
    uses DE without defining it; this is our definition.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, eq. (13.10) and section 13.3.4.
    """

    kind: ClassVar[str] = "distance_error_m"
    unit: ClassVar[str] = "m"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "plan"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the errors."""
        return {self.kind: mean(self.per_task(run))}

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return the error of each offered task that had somebody in its circle."""
        true_mean_m = in_last_circle(run).groupby("task")["distance_m"].mean()
        radius_m = last_offers(run)["radius_m"].astype("float64")
        if not plans_circles(run):
            return radius_m.iloc[:0]
        error: pd.Series = (true_mean_m - 2 * radius_m / 3).abs()  # book eq. 13.10: E d = 2r/3
        return error.dropna()
