"""How many released cells make up a region."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.metrics.protocol import first_regions, plans_regions

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class CellsPerRegion(Metric):
    """Cells in a task's first region, mean over offered tasks; a part of a cell counts as one. Only for regions."""

    kind: ClassVar[str] = "cells_per_region"
    unit: ClassVar[str] = "cells"
    topic: ClassVar[str] = "plan"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the numbers of cells."""
        cells = self.per_task(run)
        return {} if cells is None else {self.kind: mean(cells)}

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the number of cells of each task's first region."""
        import pandas as pd

        if not plans_regions(run):
            return None
        regions = first_regions(run)
        index = pd.Index(list(regions), name="task", dtype="int64")
        return pd.Series([float(len(edges)) for edges in regions.values()], index=index, dtype="float64")
