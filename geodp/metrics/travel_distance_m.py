"""How far the chosen workers travel (WTD)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.public.events import Kind

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class TravelDistance(Metric):
    """Distance from the chosen worker to the task when setting out, mean over tasks taken (WTD).

    Trips that are still under way when the run ends count: leaving them out would favour short ones.

    Reference
    ---------
    To, Ghinita, Shahabi 2014, worker travel distance.
    """

    kind: ClassVar[str] = "travel_distance_m"
    unit: ClassVar[str] = "m"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "effort"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the distances."""
        return {self.kind: mean(self.per_task(run))}

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return the distance travelled to each task that was taken."""
        import numpy as np
        import pandas as pd

        events = run.events
        start = events[events["kind"] == Kind.DEPARTURE].drop_duplicates("task", keep="last").set_index("task")
        place = run.tasks.loc[start.index]
        distance_m = np.hypot(start["x_m"] - place["x_m"], start["y_m"] - place["y_m"])
        return pd.Series(distance_m, index=start.index).sort_index()
