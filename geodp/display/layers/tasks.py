"""The tasks: where they arose, what was offered for them, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from geodp.display import colours
from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer
from geodp.public.events import Kind

if TYPE_CHECKING:
    import pandas as pd

    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder

_OUTCOMES = {
    "success": ("success: taken", colours.SUCCESS, "circle"),
    "failure": ("failure: not taken", colours.FAILURE, "cross"),
    "unreachable": ("unreachable: no offer", colours.UNREACHABLE, "triangle"),
    "censored": ("censored: still open", colours.CENSORED, "diamond"),
}


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
        marks = [
            Mark(text, colour, shape, count=int(tally))  # type: ignore[arg-type]
            for (text, colour, shape), tally in zip(_OUTCOMES.values(), tallies, strict=True)
        ]
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
            facts=_facts(run, tasks, offer if circles else offer.assign(radius_m=np.nan), outcome),
            radius_m=offer["radius_m"].to_numpy(dtype=np.float64) if circles else None,
            appears_s=tasks["arrived_s"].to_numpy(),
            decided_s=tasks["decided_s"].to_numpy(dtype=np.float64),
            waiting=Mark("waiting for an answer", colours.WAITING, "circle"),
            what="tasks drawn",
        )


def _outcomes(run: RunFolder, tasks: pd.DataFrame) -> pd.Series:
    """Return the outcome of every task, unreachable ones told apart from other failures."""
    events = run.events
    unreachable = set(events.loc[events["kind"] == Kind.UNREACHABLE, "task"])
    outcome = tasks["outcome"].fillna("censored").astype(str)
    given_up = (outcome == "failure") & tasks.index.isin(list(unreachable))
    return outcome.mask(given_up, "unreachable")


def _facts(run: RunFolder, tasks: pd.DataFrame, offer: pd.DataFrame, outcome: pd.Series) -> list[Fact]:
    notified = run.notified.groupby("task").size().reindex(tasks.index, fill_value=0)
    reason = tasks["reason"].fillna("").astype(str).str.replace("_", " ")
    words = outcome.where(reason == "", outcome + ", " + reason)
    return [
        Fact("Arrived", tasks["arrived_s"].to_numpy(), form="clock"),
        Fact("Outcome", words.to_list(), form="words"),
        Fact("Decided", tasks["decided_s"].to_numpy(dtype=np.float64), form="clock"),
        Fact("Reward offered", offer["reward"].to_numpy(dtype=np.float64), digits=2),
        Fact("Radius", offer["radius_m"].to_numpy(dtype=np.float64), unit="m"),
        Fact("Planned success", 100 * offer["planned_success"].to_numpy(dtype=np.float64), unit="%"),
        Fact("Workers notified", notified.to_numpy()),
    ]
