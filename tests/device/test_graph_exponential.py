"""Reports along a policy graph: the district is told, the place in it hidden step by step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from geodp import plugin
from geodp.device.graph_exponential import GraphExponential
from geodp.errors import DataError, UsageError
from geodp.geometry import EARTH_RADIUS_M, Grid, Region
from geodp.privacy.noise import Noise, noise_source
from geodp.public.policy_graph import PolicyGraph, join_neighbours


def box(width_m: float, height_m: float) -> Region:
    east, north = (np.degrees(side / 2 / EARTH_RADIUS_M) for side in (width_m, height_m))
    return Region(-east, -north, east, north)


LINE = box(5000, 1000)


def graph(**settings: Any) -> GraphExponential:
    return plugin("graph_exponential", **{"cell_m": 1000, "district_m": None, **settings})  # type: ignore[no-any-return]


def test_the_golden_law_of_a_line_of_five() -> None:
    assert graph(epsilon=1.0).law(LINE).table[0].round(4).tolist() == [0.4287, 0.2600, 0.1577, 0.0956, 0.0580]


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_odds_change_by_epsilon_for_each_step_at_most(epsilon: float) -> None:
    """Exact, for every two cells of a district of a town with four."""
    law = graph(epsilon=epsilon, district_m=4000).law(box(8000, 8000))
    hops, table = law.graph.hops, law.table
    same = np.isfinite(hops)
    logs = np.log(np.where(table > 0, table, 1.0))
    worst = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    assert (worst[same] <= epsilon * hops[same] + 1e-9).all()
    assert (worst[same & (hops > 0)] / (epsilon * hops[same & (hops > 0)])).max() > 0.5  # the distance's half


def test_districts_are_told_and_nothing_leaves_them() -> None:
    device, region = graph(district_m=4000), box(8000, 8000)
    law = device.law(region)
    assert np.unique(law.graph.component).size == 4
    assert (law.table[~np.isfinite(law.graph.hops)] == 0).all()
    x, y = np.random.default_rng(1).uniform(-4000, 4000, (2, 2000))
    told_x, told_y = device.report(x, y, rng=np.random.default_rng(2), region=region)
    assert (np.sign(told_x) == np.sign(x)).all()
    assert (np.sign(told_y) == np.sign(y)).all()


@pytest.mark.parametrize("noise", [noise_source("simulate", seed=3), noise_source("release")])
def test_reports_have_their_law(noise: Noise) -> None:
    """20,000 (releases: 2,000) reports from the second cell of the line; χ² at 1e-7."""
    size = 2_000 if noise.releasable else 20_000
    device = graph(epsilon=1.0)
    x, _ = device.report(np.full(size, -1000.0), np.zeros(size), rng=noise, region=LINE)
    found = np.bincount(((x + 2500) // 1000).astype(int), minlength=5)
    expected = device.law(LINE).table[1] * size
    assert stats.chisquare(found, expected).pvalue > 1e-7


def test_places_without_company_are_refused() -> None:
    """Districts of one cell, a region of one cell, a graph given by hand."""
    with pytest.raises(UsageError, match=r"has 5 isolated places .* Use larger districts"):
        graph(district_m=1000).guarantee(LINE)
    with pytest.raises(UsageError, match=r"has 1 isolated place \(at"):
        graph().report([0.0], [0.0], rng=np.random.default_rng(0), region=box(1000, 1000))
    cells = Grid(0.0, 0.0, 1.0, 1.0, columns=3, rows=1)
    with pytest.raises(UsageError, match="1 isolated place"):
        PolicyGraph(cells, np.array([[0, 1]])).require_company()
    join_neighbours(cells, np.zeros(3, dtype=np.int64)).require_company()


def test_districts_come_from_a_public_file(tmp_path: Path) -> None:
    west, south, east, north = LINE.west, LINE.south, LINE.east, LINE.north
    middle = west + (east - west) * 2 / 5

    def area(left: float, right: float) -> dict[str, Any]:
        ring = [[left, south], [right, south], [right, north], [left, north], [left, south]]
        return {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}}

    file = tmp_path / "districts.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": [area(west, middle)]}))
    device = plugin("graph_exponential", cell_m=1000, districts_file=str(file))
    assert device.law(LINE).graph.component.tolist() == [0, 0, 1, 1, 1]
    with pytest.raises(DataError, match="no such file"):
        plugin("graph_exponential", cell_m=1000, districts_file=str(tmp_path / "none.geojson")).guarantee(LINE)


def test_the_promise_is_along_the_graph() -> None:
    promise = graph(epsilon=1.5, district_m=2500).guarantee()
    assert promise.at_distance(3 * 1000) == pytest.approx(4.5)
    assert "the district is told to everyone" in promise.sentence()
    assert "told to everyone" not in graph().guarantee().sentence()


def test_too_many_cells_and_two_sorts_of_districts_are_refused() -> None:
    with pytest.raises(UsageError, match="at most 2,500"):
        graph(cell_m=10).law(LINE)
    with pytest.raises(ValidationError, match="not both"):
        plugin("graph_exponential", district_m=1000, districts_file="a.geojson")
    with pytest.raises(UsageError, match="needs a region"):
        graph().report([0.0], [0.0], rng=np.random.default_rng(0))
