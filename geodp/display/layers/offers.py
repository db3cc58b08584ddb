"""The circles or regions in which workers were notified."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import OFFER
from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer

if TYPE_CHECKING:
    import pandas as pd

    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class OffersLayer(Layer):
    """Circles or regions of the offers, a sample of them (the server's view of single tasks)."""

    kind: ClassVar[str] = "offers"
    title: ClassVar[str] = "Offer circles"
    level: ClassVar[int] = 40

    max_circles: int = Field(default=30, gt=0)
    """At most so many circles or regions are drawn, evenly spaced over the run."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw offers from the moment they are made until the task is decided."""
        if run.scenario.server.mode == "worker_selected":
            return  # tasks are posted for everyone: there is no circle
        offers = run.offers
        made = offers[offers["unreachable"].fillna("") == ""]
        if "region" in made and made["region"].notna().any():
            self._draw_regions(run, made[made["region"].notna()], page)
        elif (made["radius_m"] > 0).any():
            self._draw_circles(run, made[made["radius_m"] > 0], page)

    def _draw_circles(self, run: RunFolder, offers: pd.DataFrame, page: Page) -> None:
        page.circles(
            self,
            offers["x_m"].to_numpy(),
            offers["y_m"].to_numpy(),
            offers["radius_m"].to_numpy(),
            mark=Mark("workers inside are asked", OFFER, "ring"),
            name="Offer for task",
            ids=offers["task"].to_numpy(),
            facts=_facts(offers, Fact("Radius", offers["radius_m"].to_numpy(), unit="m")),
            from_s=offers["time_s"].to_numpy(),
            until_s=_decided_s(run, offers),
            what="offer circles",
            limit=self.max_circles,
        )

    def _draw_regions(self, run: RunFolder, offers: pd.DataFrame, page: Page) -> None:
        drawn = offers.iloc[page.sample(len(offers), "offer regions", limit=self.max_circles)]
        cells = drawn["region"].map(len).to_numpy() / 4
        page.outlines(
            self,
            [_union(region, page.step_m) for region in drawn["region"]],
            mark=Mark("workers inside are asked", OFFER, "ring"),
            name="Offer for task",
            ids=drawn["task"].to_numpy(),
            facts=_facts(drawn, Fact("Cells", cells)),
            from_s=drawn["time_s"].to_numpy(),
            until_s=_decided_s(run, drawn),
            title="Offer regions",
            what="offer regions",
        )


def _facts(offers: pd.DataFrame, shape: Fact) -> list[Fact]:
    return [
        Fact("Offered", offers["time_s"].to_numpy(), form="clock"),
        Fact("Round", offers["round"].to_numpy(dtype=np.float64) + 1),
        Fact("Reward", offers["reward"].to_numpy(), digits=2),
        shape,
        Fact("Planned success", 100 * offers["planned_success"].to_numpy(), unit="%"),
        Fact("Workers expected inside", offers["expected_workers"].to_numpy(), digits=1),
    ]


def _decided_s(run: RunFolder, offers: pd.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return run.tasks["decided_s"].reindex(offers["task"]).to_numpy(dtype=np.float64)


def _union(region: np.ndarray[tuple[int], np.dtype[np.float64]], step_m: float) -> object:
    """Return the rectangles of a region as one shape, their edges brought together to the page's resolution."""
    import shapely

    edges = np.rint(np.asarray(region, dtype=np.float64).reshape(-1, 4) / step_m) * step_m
    return shapely.union_all(shapely.box(*edges.T))
