"""What happened to each task, as several metrics need it: plans, offers, and who was inside the circle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geodp.public.events import Kind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


def first_plans(run: RunFolder) -> pd.DataFrame:
    """Return the server's first decision on each task it came to (index: task), offered or not."""
    return _in_order(run.offers).drop_duplicates("task", keep="first").set_index("task")


def first_offers(run: RunFolder) -> pd.DataFrame:
    """Return the first offer of each offered task (index: task)."""
    return _in_order(run.offers_made).drop_duplicates("task", keep="first").set_index("task")


def last_offers(run: RunFolder) -> pd.DataFrame:
    """Return the last, hence widest, offer of each offered task (index: task)."""
    return _in_order(run.offers_made).drop_duplicates("task", keep="last").set_index("task")


def plans_circles(run: RunFolder) -> bool:
    """Tell whether the server planned circles, instead of naming workers or posting tasks for all to see."""
    server = run.scenario.server
    return server.mode == "server_assigned" and server.assignment.plans_circles


def plans_regions(run: RunFolder) -> bool:
    """Tell whether the server grew regions of cells around tasks."""
    server = run.scenario.server
    return server.mode == "server_assigned" and server.assignment.plans_regions


def first_regions(run: RunFolder) -> dict[int, npt.NDArray[np.float64]]:
    """Return the rectangles (west, south, east, north) of the first offer of each task that was offered to a region."""
    found: dict[int, npt.NDArray[np.float64]] = {}
    for task, _, rectangles in sorted(run.regions, key=lambda region: region[:2]):
        found.setdefault(task, rectangles)
    return found


def in_last_circle(run: RunFolder) -> pd.DataFrame:
    """Return the workers asked in the last round of each task: task, worker, distance_m."""
    events = run.events
    offer_s = events[events["kind"] == Kind.OFFER].groupby("task")["time_s"].max()
    answers = run.answers
    answers = answers[answers["time_s"] >= answers["task"].map(offer_s)]
    return answers[["task", "worker", "value"]].rename(columns={"value": "distance_m"})


def find_noted_tasks(run: RunFolder, note: str) -> pd.Series:
    """Tell for each planned task (index: task) whether the server's solver left this note in any round."""
    marked = run.offers["notes"].map(lambda notes: note in notes).astype(bool)
    return marked.groupby(run.offers["task"]).any()


def find_decided_tasks(run: RunFolder) -> pd.DataFrame:
    """Return the tasks whose fate was known before the run ended."""
    return run.tasks[run.tasks["outcome"].isin(["success", "failure"])]


def _in_order(offers: pd.DataFrame) -> pd.DataFrame:
    return offers.sort_values(["task", "round"], kind="stable")
