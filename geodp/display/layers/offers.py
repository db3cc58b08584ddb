"""The circles in which workers were notified."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import OFFER
from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.runs.run_folder import RunFolder


class OffersLayer(Layer):
    """Circles of the offers, a sample of them (the server's view of single tasks)."""

    kind: ClassVar[str] = "offers"
    title: ClassVar[str] = "Offer circles"
    level: ClassVar[int] = 40

    max_circles: int = Field(default=30, gt=0)
    """At most so many circles are drawn, evenly spaced over the run."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw offers from the moment they are made until the task is decided."""
        if run.scenario.server.mode == "worker_selected":
            return  # tasks are posted for everyone: there is no circle
        offers = run.offers
        offers = offers[(offers["radius_m"] > 0) & (offers["unreachable"].fillna("") == "")]
        if offers.empty:
            return
        decided = run.tasks["decided_s"].reindex(offers["task"]).to_numpy(dtype=np.float64)
        again = offers["round"].to_numpy(dtype=np.float64)
        page.circles(
            self,
            offers["x_m"].to_numpy(),
            offers["y_m"].to_numpy(),
            offers["radius_m"].to_numpy(),
            mark=Mark("workers inside are asked", OFFER, "ring"),
            name="Offer for task",
            ids=offers["task"].to_numpy(),
            facts=[
                Fact("Offered", offers["time_s"].to_numpy(), form="clock"),
                Fact("Round", again + 1),
                Fact("Reward", offers["reward"].to_numpy(), digits=2),
                Fact("Radius", offers["radius_m"].to_numpy(), unit="m"),
                Fact("Planned success", 100 * offers["planned_success"].to_numpy(), unit="%"),
                Fact("Workers expected inside", offers["expected_workers"].to_numpy(), digits=1),
            ],
            from_s=offers["time_s"].to_numpy(),
            until_s=decided,
            what="offer circles",
            limit=self.max_circles,
        )
