"""How the region of one task grew, cell by cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import GROWTH, along
from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer
from geodp.display.surfaces import counted
from geodp.geometry import Array

if TYPE_CHECKING:
    import pandas as pd

    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder

_CELLS_TO_SHOW = 8  # a region of about so many cells shows how growing works
_ABOUT = 2


class GrowthLayer(Layer):
    """Cells of one task's region in the order in which they were taken, with the success planned after each.

    As it happens, a cell appears every `pace_s` after the offer (the server plans them all at once).
    """

    kind: ClassVar[str] = "growth"
    title: ClassVar[str] = "How one region grew"
    level: ClassVar[int] = 41

    task: int | None = Field(default=None, ge=0)
    """The task whose first region is drawn. Default: the widest of those with about eight cells."""
    pace_s: float | None = Field(default=None, gt=0)
    """Time from one cell to the next on the clock, seconds. Default: a hundredth of the run."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the cells, numbered, the first ones darkest."""
        import shapely

        offer = self._offer(run)
        if offer is None:
            return
        edges = np.asarray(offer["region"], dtype=np.float64).reshape(-1, 4)
        planned = np.full(len(edges), np.nan)
        planned[: len(offer["growth"])] = offer["growth"]
        count = _released_counts(run, edges, float(offer["time_s"]))
        pace_s = self.pace_s or run.scenario.duration_s / 100
        sides = edges[:, 2:] - edges[:, :2]
        page.outlines(
            self,
            list(shapely.box(*edges.T)),
            mark=Mark(f"cells of task {int(offer['task'])}, by number", GROWTH[1], "fill"),
            colours=along(GROWTH, np.linspace(0, 1, len(edges))),
            name=f"Task {int(offer['task'])}, cell",
            ids=np.arange(1, len(edges) + 1),
            facts=[
                Fact("Success planned so far", 100 * planned, unit="%", digits=1),
                Fact("Released count of the cell", count, digits=1),
                Fact("Area taken", sides[:, 0] * sides[:, 1] / 1e6, unit="km²", digits=3),
            ],
            from_s=float(offer["time_s"]) + pace_s * np.arange(len(edges)),
            steps=True,
            what="cells of one region",
        )

    def _offer(self, run: RunFolder) -> pd.Series | None:
        """Return the row of the offer to draw, or None where there is none."""
        offers = run.offers
        if "region" not in offers:
            return None
        first = offers[offers["region"].notna() & (offers["round"] == 0)]
        if self.task is not None:
            first = first[first["task"] == self.task]
        if first.empty:
            return None
        regions = [np.asarray(region, dtype=np.float64).reshape(-1, 4) for region in first["region"]]
        off = np.abs(np.array([len(edges) for edges in regions]) - _CELLS_TO_SHOW)
        fitting = np.flatnonzero(off <= max(int(off.min()), _ABOUT))
        area = [float(np.prod(regions[place][:, 2:] - regions[place][:, :2], axis=1).sum()) for place in fitting]
        return first.iloc[int(fitting[int(np.argmax(area))])]


def _released_counts(run: RunFolder, edges: Array, time_s: float) -> Array:
    """Return the count of each whole cell in the release that was in force (absent where reports stand for counts)."""
    known = [release for release in counted(run) if release.time_s <= time_s]
    if not known:
        return np.full(len(edges), np.nan)
    cell = known[-1].locate((edges[:, 0] + edges[:, 2]) / 2, (edges[:, 1] + edges[:, 3]) / 2)
    return np.where(cell >= 0, known[-1].count[cell], np.nan)
