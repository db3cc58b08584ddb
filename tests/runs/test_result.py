"""A finished run as data: releases, tables in EPSG:4326, and how it shows itself."""

from pathlib import Path

import folium
import geopandas
import numpy as np
import pytest
import shapely

import geodp
from geodp.errors import UsageError

SMALL = {"duration_s": 1200, "workers.source.count": 300}
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> geodp.RunResult:
    """Run the quickstart, small."""
    out = tmp_path_factory.mktemp("result") / "run"
    return geodp.run(ROOT / "scenarios" / "quickstart.yaml", out, overrides=SMALL, draw_map=False)


def test_releases_know_their_time_promise_and_table(run: geodp.RunResult) -> None:
    first, second = run.releases
    assert (first.time_s, second.time_s) == (0.0, 600.0)
    assert first.guarantee.epsilon == 0.3
    assert not first.releasable
    cells = first.to_geodataframe()
    assert cells.crs.to_epsg() == 4326
    assert np.allclose(cells["count"], run.folder.releases[0].count)  # type: ignore[union-attr]
    region = first.region
    assert np.allclose(cells.total_bounds, (region.west, region.south, region.east, region.north))
    assert isinstance(first.explore(), folium.Map)


def test_the_files_of_a_run_open_in_geopandas_with_their_crs(run: geodp.RunResult) -> None:
    for name, frame in {
        "releases/0000.parquet": run.releases[0].to_geodataframe(),
        "tasks.parquet": run.tasks,
        "server_view.parquet": run.server_view,
    }.items():
        stored = geopandas.read_parquet(run.path / name)
        assert stored.crs.to_epsg() == 4326, name
        assert stored.geometry.geom_equals_exact(frame.geometry.reset_index(drop=True), 1e-9, align=False).all(), name


def test_tasks_and_trips_are_truth_and_agree(run: geodp.RunResult) -> None:
    assert run.tasks.attrs["truth"]
    assert run.trips.attrs["truth"]
    assert len(run.trips) == run.metrics["success_rate"] * (run.tasks["outcome"] != "censored").sum()
    ends = shapely.get_coordinates(shapely.get_point(run.trips.geometry.to_numpy(), -1))
    places = shapely.get_coordinates(run.tasks.geometry.loc[run.trips["task"]].to_numpy())
    assert np.allclose(ends, places)
    flown = run.trips.to_crs(32610).length
    assert np.allclose(flown, run.trips["travel_m"], rtol=0.01, atol=1)


def test_offers_are_the_circles_in_which_people_were_asked(run: geodp.RunResult) -> None:
    offers = run.offers
    assert not offers.attrs["truth"]
    assert (offers["unreachable"] == "").all()
    area = offers.to_crs(32610).area
    assert np.allclose(area, np.pi * offers["radius_m"] ** 2, rtol=0.01)
    assert "x_m" not in run.server_view


def test_offers_of_a_geocast_are_regions(tmp_path: Path) -> None:
    small = {"duration_s": 1200, "workers.source.count": 300}
    made = geodp.run(ROOT / "scenarios" / "geocast_city.yaml", tmp_path / "run", overrides=small, draw_map=False)
    offers = made.offers
    assert len(offers)
    assert set(offers.geom_type) <= {"Polygon", "MultiPolygon"}
    assert offers["radius_m"].isna().all()


def test_a_comparison_sends_to_its_arms(tmp_path: Path) -> None:
    made = geodp.run(ROOT / "scenarios" / "contour_vs_exact.yaml", tmp_path / "run", overrides=SMALL, draw_map=False)
    name = next(iter(made.arms))
    with pytest.raises(UsageError, match=rf"run\.arms\['{name}'\]\.releases"):
        _ = made.releases
    assert [release.time_s for release in made.arms[name].releases] == [0.0]
    assert name in made._repr_html_()


def test_a_run_shows_numbers_promise_and_map(run: geodp.RunResult, capsys: pytest.CaptureFixture[str]) -> None:
    run.show()
    text = capsys.readouterr().out
    assert "tasks taken by a worker" in text
    assert "ε = 0.3" in text
    page = run._repr_html_()
    assert "tasks taken by a worker" in page
    assert "<b>One release</b>" in page
    assert "<iframe" in page


def test_words_of_a_scenario_are_never_markup(tmp_path: Path) -> None:
    told = {**SMALL, "about": "<script>alert(1)</script> *bold* {{ 7 * 7 }}"}
    made = geodp.run(ROOT / "scenarios" / "quickstart.yaml", tmp_path / "run", overrides=told, draw_map=False)
    assert "<script>alert(1)" not in made._repr_html_()


@pytest.mark.slow
def test_publications_of_a_run_have_table_promise_and_places(tmp_path: Path) -> None:
    small = {"duration_s": 600, "workers.source.count": 100}
    made = geodp.run(ROOT / "scenarios" / "venue_counts.yaml", tmp_path / "run", overrides=small, draw_map=False)
    arm = next(iter(made.arms.values()), made)
    published = arm.publications[0]
    assert published.guarantee.epsilon > 0
    assert published.to_geodataframe().crs.to_epsg() == 4326
    stored = next((arm.path / "releases" / "publications").glob("*.parquet"))
    assert geopandas.read_parquet(stored).crs.to_epsg() == 4326
    assert geopandas.read_parquet(arm.path / "releases" / "venues.parquet").crs.to_epsg() == 4326
    assert isinstance(published.explore(), folium.Map)
