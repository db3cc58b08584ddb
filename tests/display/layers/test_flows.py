"""Layers of published flows: what is drawn, and what a public page leaves out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from geodp.display.layers.flows import FlowLinesLayer, FootfallLayer
from geodp.display.page import Page
from geodp.geometry import Region
from geodp.public.guarantee import Guarantee, Unit

TOWN = Region(10.0, 50.0, 10.08, 50.05)
ZONES = [
    {"name": "west", "outline": "POLYGON ((10 50, 10.04 50, 10.04 50.05, 10 50.05, 10 50))"},
    {"name": "east", "outline": "POLYGON ((10.04 50, 10.08 50, 10.08 50.05, 10.04 50.05, 10.04 50))"},
]


def make_run(promise: Guarantee) -> Any:
    rows = [
        {"table": "footfall", "name": name, "value": value, "day": 0, "slot": slot, "time_s": 3600.0 * slot}
        for slot, counts in enumerate(((90.0, -5.0), (40.0, 400.0)))
        for name, value in zip(("west", "east"), counts, strict=True)
    ]
    rows.append({"table": "flows", "name": "west", "destination": "east", "value": 70.0, "day": -1, "slot": -1})
    released = pd.DataFrame(rows).assign(level="zone", sd=3.0)
    item = SimpleNamespace(index=0, guarantee=promise, released=released, facts={"zones": ZONES})
    return SimpleNamespace(publications_of=lambda _topic: [("", item)], scenario=SimpleNamespace(area=TOWN))


@pytest.mark.parametrize("layer", [FootfallLayer(), FlowLinesLayer()])
def test_flows_are_drawn_on_a_public_page_where_they_are_promised_something(layer: Any) -> None:
    promised, exact = Guarantee.from_rho(0.02, 1e-6, Unit.PERSON_DAY), Guarantee.none("as they are")
    for public, promise, drawn in ((True, promised, 1), (True, exact, 0), (False, exact, 1)):
        page = Page(TOWN, max_points=100, public=public)
        layer.draw(make_run(promise), page)
        assert len(page.drawings) == drawn


def test_footfall_is_drawn_hour_by_hour_as_a_density() -> None:
    page = Page(TOWN, max_points=100, public=True)
    FootfallLayer(top_per_km2=40.0).draw(make_run(Guarantee.from_rho(0.02, 1e-6, Unit.USER)), page)
    frames = page.drawings[0].data["frames"]
    assert [frame["time"] for frame in frames] == [0.0, 3600.0]
    # A zone has 16 km²: 400 people are 25 a km², in the eighth of twelve bands up to 40; the lowest band is not drawn.
    assert [len(frame["bands"]) for frame in frames] == [1, 1]
    assert frames[1]["bands"][0]["low"] == pytest.approx(7 * 40 / 12, rel=0.01)
