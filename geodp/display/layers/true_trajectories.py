"""The workers' own trips."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from geodp.display.colours import TRUE
from geodp.display.drawing import Mark
from geodp.display.layers import Layer
from geodp.display.layers._trajectories import draw_ways

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class TrueTrajectoriesLayer(Layer):
    """True trips of a sample of workers, moving with the clock (truth)."""

    kind: ClassVar[str] = "true_trajectories"
    title: ClassVar[str] = "True trips"
    level: ClassVar[int] = 52

    max_trips: int = Field(default=500, gt=0)
    """At most so many trips are drawn, evenly spaced over the workers."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the trips of the run, where something is published about them."""
        if not run.scenario.needs_trajectories or not run.trajectories.size:
            return
        mark = Mark("true trip", TRUE[3], "line", run.trajectories.size)
        draw_ways(self, page, run.trajectories, mark=mark, name="True trip", what="true trips", limit=self.max_trips)
