"""Trips lead from where the worker stood to the task."""

from __future__ import annotations

import numpy as np

from geodp.display.layers.tasks import TripsLayer
from geodp.display.page import Page
from geodp.run_folder.folder import RunFolder


def test_a_trip_ends_at_its_task_and_is_as_long_as_it_was(plain: RunFolder) -> None:
    page = Page(plain.region, max_points=5000, public=False)
    TripsLayer().draw(plain, page)
    data = page.drawings[0].data
    tasks = plain.tasks.loc[data["ids"]]
    assert np.max(np.abs(data["x"] + data["dx"] - tasks["x_m"])) <= 0.5
    assert np.max(np.abs(data["y"] + data["dy"] - tasks["y_m"])) <= 0.5
    done = tasks["travel_m"].notna().to_numpy()
    assert np.max(np.abs(np.hypot(data["dx"], data["dy"])[done] - tasks["travel_m"][done])) <= 2


def test_trips_under_way_at_the_end_have_no_arrival(plain: RunFolder) -> None:
    page = Page(plain.region, max_points=5000, public=False)
    TripsLayer().draw(plain, page)
    data = page.drawings[0].data
    open_trips = plain.tasks.loc[data["ids"], "completed_s"].isna().to_numpy()
    assert np.array_equal(data["until"] == -1, open_trips)
