"""Tasks on the map: where they arose, what was offered for them and to whom, and the ways to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display import colours
from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer
from geodp.display.surfaces import find_cell_releases
from geodp.geometry import Array
from geodp.public.events import Kind

if TYPE_CHECKING:
    import pandas as pd

    from geodp.display.page import About, Page
    from geodp.run_folder.folder import RunFolder

_OUTCOMES = {
    "success": Mark("success: taken", colours.SUCCESS, "circle"),
    "failure": Mark("failure: not taken", colours.FAILURE, "cross"),
    "unreachable": Mark("unreachable: no offer", colours.UNREACHABLE, "triangle"),
    "censored": Mark("censored: still open", colours.CENSORED, "diamond"),
}
_CELLS_TO_SHOW = 8  # a region of about so many cells shows how growing works
_ABOUT = 2


class TasksLayer(Layer):
    """Tasks by outcome, each with its offer in a tooltip and its circle when pointed at (truth)."""

    kind: ClassVar[str] = "tasks"
    title: ClassVar[str] = "Tasks"
    level: ClassVar[int] = 60

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw every task with what the server decided last about it."""
        tasks = run.tasks
        if tasks.empty:
            return
        outcome = _outcomes(run, tasks)
        codes = outcome.map({name: code for code, name in enumerate(_OUTCOMES)}).to_numpy(dtype=np.int64)
        tallies = np.bincount(codes, minlength=len(_OUTCOMES))
        marks = [replace(mark, count=int(tally)) for mark, tally in zip(_OUTCOMES.values(), tallies, strict=True)]
        circles = run.scenario.server.mode != "worker_selected"
        offer = run.offers.drop_duplicates("task", keep="last").set_index("task").reindex(tasks.index)
        page.points(
            self,
            tasks["x_m"].to_numpy(),
            tasks["y_m"].to_numpy(),
            marks=marks,
            mark=codes,
            name="Task",
            ids=tasks.index.to_numpy(),
            facts=_task_facts(run, tasks, offer if circles else offer.assign(radius_m=np.nan), outcome),
            radius_m=offer["radius_m"].to_numpy(dtype=np.float64) if circles else None,
            appears_s=tasks["arrived_s"].to_numpy(),
            decided_s=tasks["decided_s"].to_numpy(dtype=np.float64),
            waiting=Mark("waiting for an answer", colours.WAITING, "circle"),
            what="tasks drawn",
        )


def _outcomes(run: RunFolder, tasks: pd.DataFrame) -> pd.Series:
    """Return the outcome of every task, unreachable ones told apart from other failures."""
    unreachable = run.events.loc[run.events["kind"] == Kind.UNREACHABLE, "task"]
    outcome = tasks["outcome"].fillna("censored").astype(str)
    return outcome.mask((outcome == "failure") & tasks.index.isin(unreachable), "unreachable")


def _task_facts(run: RunFolder, tasks: pd.DataFrame, offer: pd.DataFrame, outcome: pd.Series) -> list[Fact]:
    notified = run.notified.groupby("task").size().reindex(tasks.index, fill_value=0)
    reason = tasks["reason"].fillna("").astype(str).str.replace("_", " ")
    words = outcome.where(reason == "", outcome + ", " + reason)
    return [
        Fact("Arrived", tasks["arrived_s"].to_numpy(), form="clock"),
        Fact("Outcome", words.to_list(), form="words"),
        Fact("Decided", tasks["decided_s"].to_numpy(dtype=np.float64), form="clock"),
        Fact("Reward offered", offer["reward"].to_numpy(dtype=np.float64), unit="units", digits=2),
        Fact("Radius", offer["radius_m"].to_numpy(dtype=np.float64), unit="m"),
        Fact("Planned success", 100 * offer["planned_success"].to_numpy(dtype=np.float64), unit="%"),
        Fact("Notified", notified.to_numpy(), unit="workers"),
    ]


class OffersLayer(Layer):
    """Circles or regions of the offers, a sample of them (the server's view of single tasks)."""

    kind: ClassVar[str] = "offers"
    title: ClassVar[str] = "Offer circles"
    level: ClassVar[int] = 40

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    max_circles: int = Field(default=30, gt=0)
    """Maximum number of circles or regions drawn, evenly spaced over the run."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw offers from the moment they are made until the task is decided."""
        if run.scenario.server.mode == "worker_selected":
            return  # tasks are posted for everyone: there is no circle
        made = run.offers_made
        mark = Mark(_whom_offers_ask(made), colours.OFFER, "ring")
        if "region" in made and made["region"].notna().any():
            made = made[made["region"].notna()]
            shown = made.iloc[page.sample(len(made), "offer regions", limit=self.max_circles)]
            shapes = [_union(region, page.step_m) for region in shown["region"]]
            about = _about_offers(
                run, shown, Fact("Made of", shown["region"].map(len).to_numpy() / 4, unit="cells"), "offer regions"
            )
            page.outlines(self, shapes, mark=mark, title="Offer regions", **about)
        elif (made["radius_m"] > 0).any():
            made = made[made["radius_m"] > 0]
            x_m, y_m, radius_m = (made[name].to_numpy() for name in ("x_m", "y_m", "radius_m"))
            about = _about_offers(run, made, Fact("Radius", radius_m, unit="m"), "offer circles")
            about["limit"] = self.max_circles
            page.circles(self, x_m, y_m, radius_m, mark=mark, **about)


def _whom_offers_ask(offers: pd.DataFrame) -> str:
    """Say whether all who are inside are asked, or as many of them as are needed."""
    limits = [name for name in ("most_recipients", "phones_share") if name in offers]  # earlier versions had none
    some = bool(offers[limits].notna().any(axis=None)) if limits else False
    return "as many workers inside as are needed are asked" if some else "workers inside are asked"


def _about_offers(run: RunFolder, offers: pd.DataFrame, shape: Fact, what: str) -> About:
    """Say of offers when they stood, and what was offered."""
    return {
        "name": "Offer for task",
        "ids": offers["task"].to_numpy(),
        "facts": [
            Fact("Offered", offers["time_s"].to_numpy(), form="clock"),
            Fact("Round", offers["round"].to_numpy(dtype=np.float64) + 1),
            Fact("Reward", offers["reward"].to_numpy(), unit="units", digits=2),
            shape,
            Fact("Planned success", 100 * offers["planned_success"].to_numpy(), unit="%"),
            Fact("Expected inside", offers["expected_workers"].to_numpy(), unit="workers", digits=1),
        ],
        "from_s": offers["time_s"].to_numpy(),
        "until_s": run.tasks["decided_s"].reindex(offers["task"]).to_numpy(dtype=np.float64),
        "what": what,
    }


def _union(region: Array, step_m: float) -> object:
    """Return the rectangles of a region as one shape, their edges brought together to the page's resolution."""
    import shapely

    edges = np.rint(np.asarray(region, dtype=np.float64).reshape(-1, 4) / step_m) * step_m
    return shapely.union_all(shapely.box(*edges.T))


class GrowthLayer(Layer):
    """Cells of one task's region in the order in which they were taken, with the success planned after each.

    As it happens, a cell appears every `pace_s` after the offer (the server plans them all at once).
    """

    kind: ClassVar[str] = "growth"
    title: ClassVar[str] = "How one region grew"
    level: ClassVar[int] = 41

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
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
        count = _find_released_counts(run, edges, float(offer["time_s"]))
        pace_s = self.pace_s or run.scenario.duration_s / 100
        sides = edges[:, 2:] - edges[:, :2]
        page.outlines(
            self,
            list(shapely.box(*edges.T)),
            mark=Mark(f"cells of task {int(offer['task'])}, by number", colours.GROWTH[1], "fill"),
            colours=colours.along(colours.GROWTH, np.linspace(0, 1, len(edges))),
            name=f"Task {int(offer['task'])}, cell",
            ids=np.arange(1, len(edges) + 1),
            facts=[
                Fact("Success planned so far", 100 * planned, unit="%", digits=1),
                Fact("Released count of the cell", count, unit="workers", digits=1),
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


def _find_released_counts(run: RunFolder, edges: Array, time_s: float) -> Array:
    """Return the count of each whole cell in the release that was in force (absent where reports stand for counts)."""
    known = [release for release in find_cell_releases(run) if release.time_s <= time_s]
    if not known:
        return np.full(len(edges), np.nan)
    cell = known[-1].locate((edges[:, 0] + edges[:, 2]) / 2, (edges[:, 1] + edges[:, 3]) / 2)
    return np.where(cell >= 0, known[-1].count[cell], np.nan)


class TripsLayer(Layer):
    """Trips from where a worker stood to the task (truth)."""

    kind: ClassVar[str] = "trips"
    title: ClassVar[str] = "Trips"
    level: ClassVar[int] = 50

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    max_trips: int = Field(default=2000, gt=0)
    """Maximum number of trips drawn, evenly spaced over the run."""

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
            mark=Mark("way to the task", colours.TRAVELLING, "line"),
            name="Trip to task",
            ids=left["task"].to_numpy(),
            facts=[
                Fact("Departed", departed, form="clock"),
                Fact("Arrived", arrived, form="clock"),
                Fact("Travelled", task["travel_m"].to_numpy(dtype=np.float64), unit="m"),
                Fact("Reward", task["reward"].to_numpy(dtype=np.float64), unit="units", digits=2),
            ],
            from_s=departed,
            until_s=arrived,
            what="trips",
            limit=self.max_trips,
        )
