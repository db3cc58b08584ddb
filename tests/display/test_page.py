"""The page samples what is too much and says so."""

from __future__ import annotations

import numpy as np

from geodp.display.drawing import Fact, Mark
from geodp.display.layers.tasks import TasksLayer
from geodp.display.page import Page
from geodp.geometry import Region

REGION = Region(10.0, 50.0, 10.1, 50.1)


def page(max_points: int = 100) -> Page:
    return Page(REGION, max_points=max_points, public=False)


def test_everything_is_drawn_up_to_the_limit() -> None:
    sheet = page()
    assert sheet.sample(100, "tasks").tolist() == list(range(100))
    assert sheet.notes == []


def test_beyond_the_limit_things_are_evenly_spaced_and_the_caption_says_so() -> None:
    sheet = page()
    index = sheet.sample(100_001, "tasks drawn")
    assert (len(index), index[0], index[-1]) == (100, 0, 100_000)
    assert set(np.diff(index)) <= {1010, 1011}
    assert sheet.notes == ["100 of 100,001 tasks drawn"]


def test_a_layer_may_draw_less_than_the_limit_but_never_more() -> None:
    assert len(page().sample(500, "circles", limit=30)) == 30
    assert len(page().sample(500, "circles", limit=300)) == 100


def test_arms_that_say_the_same_say_it_together() -> None:
    sheet = page()
    for sheet.group in ("a", "b"):
        sheet.note("5 of 9 trips")
    sheet.group = ""
    sheet.note("3 of 4 releases")
    assert sheet.notes == ["a, b: 5 of 9 trips", "3 of 4 releases"]


def test_places_are_kept_to_a_metre() -> None:
    sheet = page()
    sheet.points(TasksLayer(), np.array([10.4, -3.6]), np.array([0.0, 2000.2]), marks=[Mark("point", "#000000")])
    data = sheet.drawings[0].data
    assert (data["x"].tolist(), data["y"].tolist()) == ([10, -4], [0, 2000])


def test_facts_are_sampled_with_the_points_they_belong_to() -> None:
    sheet = page(max_points=3)
    facts = [
        Fact("Reward", np.arange(9) / 4, digits=2),
        Fact("Outcome", [f"w{place % 2}" for place in range(9)], form="words"),
        Fact("Arrived", np.arange(9) * 60.0, form="clock"),
    ]
    sheet.points(TasksLayer(), np.zeros(9), np.zeros(9), marks=[Mark("point", "#000000")], facts=facts)
    reward, outcome, arrived = sheet.drawings[0].data["facts"]
    assert reward["values"].tolist() == [0, 100, 200]
    assert [outcome["words"][code] for code in outcome["values"]] == ["w0", "w0", "w0"]
    assert arrived["values"].tolist() == [0, 240, 480]


def test_ways_are_sampled_whole() -> None:
    sheet = page(3)
    first, places = np.array([0, 2, 5, 6, 10, 12]), np.linspace(0, 1100, 12)
    sheet.ways(TasksLayer(), first, places, -places, places / 10, mark=Mark("way", "#000000", "line"), what="ways")
    data = sheet.drawings[0].data
    assert data["ids"].tolist() == [0, 2, 4]
    assert data["lengths"].tolist() == [2, 1, 2]
    np.testing.assert_allclose(data["x"] * sheet.step_m, [0, 100, 500, 1000, 1100], atol=sheet.step_m)
    assert data["time"].tolist() == [0, 10, 50, 100, 110]
    assert sheet.notes == ["3 of 5 ways"]
