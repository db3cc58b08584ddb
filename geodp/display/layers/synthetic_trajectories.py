"""Published trips in the place of true ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from geodp.display.colours import REPORT
from geodp.display.drawing import Mark
from geodp.display.layers import Layer
from geodp.display.layers._trajectories import draw_ways, publication_of
from geodp.tables.trajectories.table import Trajectories

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class SyntheticTrajectoriesLayer(Layer):
    """Published synthetic trips, a sample of them, moving with the clock."""

    kind: ClassVar[str] = "synthetic_trajectories"
    title: ClassVar[str] = "Synthetic trips"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 54

    publication: int | None = Field(default=None, ge=0)
    """Place of the publication in `publish`; default the first of trajectories."""
    max_trips: int = Field(default=500, gt=0)
    """At most so many trips are drawn, evenly spaced over the table."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the published trips; those that begin after the end of the run are in the table alone."""
        item = publication_of(run, self.publication)
        if item is None or item.released.empty:
            return
        trips = Trajectories.from_frame(item.released, page.region)
        mark = Mark("synthetic trip", REPORT, "line", trips.size)
        during = trips.chosen(trips.departures_s < run.scenario.duration_s)
        if during.size < trips.size:
            page.note(f"{trips.size - during.size:,} synthetic trips begin after the end of the run and are not drawn")
        draw_ways(self, page, during, mark=mark, name="Synthetic trip", what="synthetic trips", limit=self.max_trips)
