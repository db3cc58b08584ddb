"""The way workers went to the tasks they took."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import TRAVELLING
from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer
from geodp.public.events import Kind

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class TripsLayer(Layer):
    """Trips from where a worker stood to the task (truth)."""

    kind: ClassVar[str] = "trips"
    title: ClassVar[str] = "Trips"
    level: ClassVar[int] = 50

    max_trips: int = Field(default=2000, gt=0)
    """At most so many trips are drawn, evenly spaced over the run."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw every trip as a straight line; as it happens the traveller moves along it."""
        events = run.events
        left = events[events["kind"] == Kind.DEPARTURE].drop_duplicates("task", keep="last")
        if left.empty:
            return
        task = run.tasks.loc[left["task"]]
        departed = left["time_s"].to_numpy()
        arrived = task["completed_s"].to_numpy(dtype=np.float64)
        page.lines(
            self,
            (left["x_m"].to_numpy(), left["y_m"].to_numpy()),
            (task["x_m"].to_numpy(), task["y_m"].to_numpy()),
            mark=Mark("way to the task", TRAVELLING, "line"),
            name="Trip to task",
            ids=left["task"].to_numpy(),
            facts=[
                Fact("Departed", departed, form="clock"),
                Fact("Arrived", arrived, form="clock"),
                Fact("Travelled", task["travel_m"].to_numpy(dtype=np.float64), unit="m"),
                Fact("Reward", task["reward"].to_numpy(dtype=np.float64), digits=2),
            ],
            from_s=departed,
            until_s=arrived,
            what="trips",
            limit=self.max_trips,
        )
