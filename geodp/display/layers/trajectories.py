"""Trips moving with the clock: the published ones, and the workers' own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import REPORT, TRUE
from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer, PublicationLayer

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import Trajectories


class SyntheticTrajectoriesLayer(PublicationLayer):
    """Published synthetic trips, a sample of them, moving with the clock."""

    kind: ClassVar[str] = "synthetic_trajectories"
    title: ClassVar[str] = "Synthetic trips"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 54
    published: ClassVar[str] = "trajectories"
    side: ClassVar[bool] = True

    max_trips: int = Field(default=500, gt=0)
    """Maximum number of trips drawn, evenly spaced over the table."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the published trips; those that begin after the end of the run are in the table alone."""
        item = self.publication_of(run)
        if item is None or item.released.empty:
            return
        trips = item.read_trips()
        during = trips.select(trips.departures_s < run.scenario.duration_s)  # a player has no later time
        if during.size < trips.size:
            page.note(f"{trips.size - during.size:,} synthetic trips begin after the end of the run and are not drawn")
        _draw_ways(self, page, during, Mark("synthetic trip", REPORT, "line", trips.size), limit=self.max_trips)


class TrueTrajectoriesLayer(Layer):
    """True trips of a sample of workers, moving with the clock (truth)."""

    kind: ClassVar[str] = "true_trajectories"
    title: ClassVar[str] = "True trips"
    level: ClassVar[int] = 52
    side: ClassVar[bool] = True

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    max_trips: int = Field(default=500, gt=0)
    """Maximum number of trips drawn, evenly spaced over the workers."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the trips of the run, where something is published about them."""
        if run.scenario.needs_trajectories and run.trajectories.size:
            mark = Mark("true trip", TRUE[3], "line", run.trajectories.size)
            _draw_ways(self, page, run.trajectories, mark, limit=self.max_trips)


def _draw_ways(layer: Layer, page: Page, trips: Trajectories, mark: Mark, *, limit: int) -> None:
    """Draw some trips with the clock, named as their mark is."""
    page.ways(
        layer,
        trips.first,
        trips.x_m,
        trips.y_m,
        trips.time_s,
        mark=mark,
        name=mark.name.capitalize(),
        facts=[
            Fact("Departed", trips.departures_s, form="clock"),
            Fact("Arrived", trips.departures_s + trips.durations_s, form="clock"),
            Fact("Length", trips.lengths_m / 1000, unit="km", digits=1),
            Fact("Recorded at", trips.counts.astype(np.float64), unit="places"),
        ],
        what=f"{mark.name}s",
        limit=limit,
    )
