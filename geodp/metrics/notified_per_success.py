"""Workers asked for each task that was taken."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.notified_workers import NotifiedWorkers
from geodp.metrics.protocol import decided, plans_regions

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder

_Z = 1.959963984540054  # standard normal quantile at 0.975


class NotifiedPerSuccess(Metric):
    """Workers asked about all decided tasks that were offered, for each of them that was taken.

    A ratio of two sums over tasks: what a success costs in disturbed people, failures included. Interval: delta method.
    Undefined where no task was taken; only for regions of cells.
    """

    kind: ClassVar[str] = "notified_per_success"
    unit: ClassVar[str] = "workers"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "effort"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Divide all who were asked by the tasks taken."""
        if not plans_regions(run):
            return {}
        asked = NotifiedWorkers().per_task(run)
        taken = (decided(run)["outcome"].reindex(asked.index) == "success").astype("float64")
        if taken.sum() == 0:
            return {self.kind: Measured(None, has_interval=True)}
        ratio = float(asked.sum() / taken.sum())
        half = _Z * math.sqrt(float(((asked - ratio * taken) ** 2).sum())) / float(taken.sum())
        return {self.kind: Measured(ratio, ratio - half, ratio + half, has_interval=True)}
