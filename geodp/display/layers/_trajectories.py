"""Trajectories for the map: which publication, and how a set of them is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geodp.display.drawing import Fact, Mark
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.display.layers import Layer
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun
    from geodp.tables.trajectories.table import Trajectories


def publication_of(run: RunFolder, index: int | None) -> PublishedRun | None:
    """Return the publication of trajectories to draw: in that place of `publish`, or the first (None: no such)."""
    found = [item for item in run.publications if "trajectories" in item.topics]
    if index is None:
        return found[0] if found else None
    chosen = [item for item in found if item.index == index]
    if found and not chosen:
        known = ", ".join(str(item.index) for item in found)
        raise UsageError(f"map: no publication of trajectories in place {index} of publish. There are: {known}.")
    return chosen[0] if chosen else None


def draw_ways(layer: Layer, page: Page, trips: Trajectories, *, mark: Mark, name: str, what: str, limit: int) -> None:
    """Draw some trips with the clock; those that begin after the run are left out (a player has no later time)."""
    page.ways(
        layer,
        trips.first,
        trips.x_m,
        trips.y_m,
        trips.time_s,
        mark=mark,
        name=name,
        facts=[
            Fact("Departed", trips.departures_s, form="clock"),
            Fact("Arrived", trips.departures_s + trips.durations_s, form="clock"),
            Fact("Length", trips.lengths_m / 1000, unit="km", digits=1),
            Fact("Fixes", trips.counts.astype(np.float64)),
        ],
        what=what,
        limit=limit,
    )
