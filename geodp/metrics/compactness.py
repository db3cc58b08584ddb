"""How compact the regions are in which workers are asked (digital compactness)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.metrics.protocol import first_regions, plans_regions

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class Compactness(Metric):
    """Area of a task's first region against that of the smallest circle around it, mean over offered tasks.

    At most 1; a square has 2/π = 0.64. Only for regions of cells.

    Reference
    ---------
    To, Ghinita and Shahabi 2014, digital compactness measurement (after Kim and Anderson 1984).
    """

    kind: ClassVar[str] = "compactness"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "higher"
    topic: ClassVar[str] = "plan"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the ratios."""
        ratios = self.per_task(run)
        return {} if ratios is None else {self.kind: mean(ratios)}

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the ratio of each task's first region."""
        import numpy as np
        import pandas as pd
        import shapely

        if not plans_regions(run):
            return None
        regions = first_regions(run)
        edges = np.concatenate([np.empty((0, 4)), *regions.values()])
        owner = np.repeat(np.arange(len(regions)), [len(region) for region in regions.values()])
        corners = shapely.points(edges[:, [0, 0, 2, 2]].ravel(), edges[:, [1, 3, 1, 3]].ravel())
        radius = shapely.minimum_bounding_radius(shapely.multipoints(corners, indices=np.repeat(owner, 4)))
        sides = edges[:, 2:] - edges[:, :2]
        area = np.bincount(owner, weights=sides[:, 0] * sides[:, 1], minlength=len(regions))
        index = pd.Index(list(regions), name="task", dtype="int64")
        return pd.Series(area / (np.pi * radius**2), index=index)
