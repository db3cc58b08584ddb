"""Mechanisms, phones and attacks as functions of a user's own frame."""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import folium
import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import geodp
from geodp.errors import BudgetSpent, DataError, DataWarning, NotReleasable, ScenarioError, UsageError
from geodp.geometry import Region
from tests.frames.people import BOX, make_frame, make_table


def test_a_frame_of_ones_own_goes_through_a_mechanism_and_back_to_a_map_in_five_lines(tmp_path: Path) -> None:
    """The five lines are those of the user; the file is there before."""
    make_frame(crs=32632).to_file(tmp_path / "people.gpkg")

    people = geopandas.read_file(tmp_path / "people.gpkg")
    contour = geodp.mechanism("contour", epsilon=0.3, cell_m=300)
    release = contour.release(people, region=BOX, noise=1)
    shown = release.explore()
    shown.save(tmp_path / "map.html")

    assert isinstance(shown, folium.Map)
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "<script src=" not in page, "the page opens with no network"
    assert release.to_geodataframe().crs.to_epsg() == 4326


def test_the_crs_of_a_frame_makes_no_difference() -> None:
    grid = geodp.mechanism("uniform_grid", epsilon=1.0, cell_m=500)
    one, other = (grid.release(make_frame(crs=crs), region=BOX, noise=7) for crs in (4326, 32632))
    assert np.allclose(one.data.count, other.data.count)
    table = grid.release(make_table(), region=BOX, noise=7)
    assert np.allclose(one.data.count, table.data.count)


def test_counts_come_near_the_truth_where_epsilon_is_large() -> None:
    release = geodp.mechanism("uniform_grid", epsilon=1e6, cell_m=500).release(make_frame(), region=BOX, noise=1)
    cells = release.to_geodataframe()
    within = geopandas.sjoin(make_frame(), cells[["geometry"]], predicate="within")
    true = within["index_right"].value_counts().reindex(cells.index, fill_value=0)
    assert np.abs(cells["count"] - true).max() < 0.01
    area_km2 = cells.to_crs(32632).area / 1e6
    assert np.allclose(cells["density_per_km2"], cells["count"] / area_km2, rtol=0.01, atol=0.01)


@pytest.mark.parametrize(
    "region",
    [
        BOX,
        list(BOX),
        "10,50,10.08,50.05",
        Region(*BOX),
        shapely.box(*BOX),
        geopandas.GeoSeries([shapely.box(*BOX)], crs=4326),
        geopandas.GeoDataFrame(geometry=[shapely.box(*BOX)], crs=4326),
    ],
    ids=["tuple", "list", "text", "Region", "polygon", "GeoSeries", "GeoDataFrame"],
)
def test_a_region_is_stated_in_any_of_the_usual_ways(region: Any) -> None:
    release = geodp.mechanism("uniform_grid", epsilon=1.0, cell_m=1000).release(make_frame(), region=region, noise=1)
    assert (release.region.west, release.region.north) == (BOX[0], BOX[3])


@pytest.mark.parametrize(
    "region", [(10, 50, 10.08), "nowhere.geojson", shapely.Point(10, 50), (10, 50, float("nan"), 51)]
)
def test_what_is_no_region_is_refused(region: Any) -> None:
    with pytest.raises(geodp.GeodpError, match="region|nowhere"):
        geodp.mechanism("uniform_grid", epsilon=1.0, cell_m=1000).release(make_frame(), region=region, noise=1)


def test_without_a_region_the_box_of_the_data_is_taken_with_a_warning_and_nothing_is_promised() -> None:
    grid = geodp.mechanism("uniform_grid", epsilon=1.0, cell_m=500)
    with pytest.warns(DataWarning, match=r"region: read off the private data.*region=\(west"):
        release = grid.release(make_frame(), noise=1)
    assert not release.guarantee.holds
    assert "region" in release.guarantee.why_not


def test_a_warning_speaks_of_arguments_of_the_call() -> None:
    with pytest.warns(DataWarning) as told:
        geodp.mechanism("contour", epsilon=1.0).release(make_frame(), region=BOX, noise=1)
    words = str(told[0].message)
    assert "expected_workers=…" in words
    assert "(cell_m=300)" in words
    assert told[0].filename == __file__


def test_a_frame_without_a_crs_is_refused_with_the_way_out() -> None:
    bare = geopandas.GeoDataFrame(
        make_table(), geometry=geopandas.points_from_xy(make_table()["lon"], make_table()["lat"])
    )
    with pytest.raises(UsageError, match=r"no CRS.*frame\.set_crs\(4326\)"):
        geodp.mechanism("contour", epsilon=1.0).release(bare, region=BOX)


def _empty_point(frame: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    frame.loc[3, "geometry"] = shapely.Point()
    return frame


def _no_point(frame: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    frame.loc[3, "geometry"] = None
    return frame


BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no geometry": (lambda: _no_point(make_frame()), {}, "1 row has no point, first row 4"),
    "empty geometry": (lambda: _empty_point(make_frame()), {}, "1 row has no point, first row 4"),
    "polygons": (
        lambda: make_frame(crs=32632).set_geometry(make_frame(crs=32632).buffer(9)),
        {},
        "must be points.*Polygon",
    ),
    "empty": (lambda: make_frame().iloc[:0], {}, "has no rows"),
    "no columns": (lambda: make_table()[["name"]], {}, "no geometry and no column 'lon'"),
    "missing column": (make_table, {"lon": "x", "lat": "lat"}, "no column 'x'"),
    "misspelt user": (make_table, {"user": "nmae"}, "no column 'nmae'.*Did you mean 'name'"),
    "half a pair": (make_table, {"lon": "lon"}, "go together"),
    "NaN": (lambda: make_table().assign(lat=np.nan), {}, "60 of 60 rows have no point"),
    "words": (lambda: make_table().assign(lat="north"), {}, "column 'lat' must hold degrees"),
    "swapped": (lambda: make_table().rename(columns={"lon": "lat", "lat": "lon"}), {}, "swapped"),
    "beyond the earth": (lambda: make_table().assign(lat=400.0), {}, "60 of 60 rows"),
    "nobody's rows": (lambda: make_table().assign(name=None), {"user": "name"}, "60 of 60 rows have no name"),
    "a list": (lambda: [1, 2], {}, "must be a GeoDataFrame or a DataFrame, got list"),
    "two of a name": (lambda: pd.concat([make_table(), make_table()], axis=1), {}, "two columns called"),
    "time without moments": (lambda: make_table().assign(t=1), {"time": "t", "user": "name"}, "at="),
    "time without users": (lambda: make_table().assign(t=1), {"time": "t", "at": 1}, "needs user="),
    "moments without time": (make_table, {"at": [1]}, "time="),
    "falling moments": (lambda: make_table().assign(t=1), {"time": "t", "user": "name", "at": [2, 1]}, "ascend"),
    "bad noise": (make_table, {"noise": -1}, "seed"),
    "unknown noise": (make_table, {"noise": "loud"}, "simulate.*release"),
    "unknown relation": (make_table, {"neighbours": "near"}, "add_remove"),
    "a budget of no ledger": (make_table, {"budget": 1.0}, "ledger="),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_a_bad_frame_or_argument_gets_a_clear_error(case: str) -> None:
    make, arguments, message = BAD[case]
    with pytest.raises((DataError, UsageError), match=message) as caught:
        geodp.mechanism("uniform_grid", epsilon=1.0, cell_m=1000).release(make(), region=BOX, **arguments)
    assert "--" not in str(caught.value), "a call has arguments, no options"


def test_people_elsewhere_are_refused_and_a_few_of_them_told() -> None:
    grid = geodp.mechanism("uniform_grid", epsilon=1.0, cell_m=1000)
    with pytest.raises(DataError, match="region"):
        grid.release(make_table(), region=(-122.5, 37.7, -122.4, 37.8))
    far = make_table()
    far.loc[0, "lon"] = 10.2
    with pytest.warns(DataWarning, match="1 of 60 rows lie outside the region"):
        grid.release(far, region=BOX, noise=1)


def test_of_a_user_with_several_rows_the_last_one_counts() -> None:
    twice = pd.concat([make_table(), make_table().assign(lon=10.05, lat=50.025)], ignore_index=True)
    grid = geodp.mechanism("uniform_grid", epsilon=1e6, cell_m=500)
    with pytest.warns(DataWarning, match="60 rows are earlier ones of the same name"):
        release = grid.release(twice, region=BOX, user="name", noise=1)
    assert round(release.data.count.sum()) == 60
    assert round(release.data.count.max()) == 60


def test_a_column_of_users_that_is_not_named_is_pointed_out() -> None:
    twice = pd.concat([make_table(), make_table()], ignore_index=True).rename(columns={"name": "user_id"})
    with pytest.warns(DataWarning, match="user='user_id'"):
        geodp.mechanism("uniform_grid", epsilon=1.0, cell_m=1000).release(twice, region=BOX, noise=1)


def test_moments_give_a_release_each_with_everyones_last_row() -> None:
    moved = pd.concat([make_table().assign(t=0.0), make_table().assign(t=600.0, lon=10.05, lat=50.025)])
    grid = geodp.mechanism("uniform_grid", epsilon=1e6, cell_m=500)
    first, second = grid.release(moved, region=BOX, user="name", time="t", at=[0, 600], noise=1)
    assert (first.time_s, second.time_s) == (0.0, 600.0)
    assert round(first.data.count.max()) < 60
    assert round(second.data.count.max()) == 60
    gone = grid.release(moved, region=BOX, user="name", time="t", at=[2000], within_s=60, noise=1)[0]
    assert round(gone.data.count.sum()) == 0


def test_dates_are_moments_too() -> None:
    moved = make_table().assign(when=pd.Timestamp("2024-03-01 08:00"))
    grid = geodp.mechanism("uniform_grid", epsilon=1e6, cell_m=500)
    release = grid.release(moved, region=BOX, user="name", time="when", at="2024-03-01 09:00", noise=1)
    assert round(release.data.count.sum()) == 60


def test_the_same_seed_gives_the_same_release_and_no_seed_another() -> None:
    grid = geodp.mechanism("uniform_grid", epsilon=1.0, cell_m=1000)
    one, again = (grid.release(make_frame(), region=BOX, noise=3).data.count for _ in range(2))
    luck, other = (grid.release(make_frame(), region=BOX).data.count for _ in range(2))
    drawn = grid.release(make_frame(), region=BOX, noise=np.random.default_rng(3)).data.count
    assert np.array_equal(one, again)
    assert not np.array_equal(luck, other)
    assert drawn.shape == one.shape


def test_wrong_fields_and_unknown_kinds_are_told_by_name() -> None:
    with pytest.raises(ScenarioError, match=r"(?s)cell_m.*epsilon"):
        geodp.mechanism("contour", epsilon=-1, cell_m="wide")
    with pytest.raises(geodp.GeodpError, match="contuor.*contour"):
        geodp.mechanism("contuor")
    with pytest.raises(geodp.GeodpError, match="planar_laplace"):
        geodp.mechanism("planar_laplace")


def test_the_room_of_phones_can_be_called_whoever_imported_it_first() -> None:
    code = (
        "import geodp.device.planar_laplace as law; import geodp; "
        "print(law.PlanarLaplace.kind, geodp.device('none').plugin.kind)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.split() == ["planar_laplace", "none"]


def test_phones_report_under_the_names_of_a_column() -> None:
    phones = geodp.device("planar_laplace", epsilon_per_m=10.0)
    reports = phones.report(make_frame(), region=BOX, user="name", noise=1).to_geodataframe()
    assert reports["who"].tolist() == make_table()["name"].tolist()
    off = reports.to_crs(32632).distance(make_frame(crs=32632), align=False)
    assert off.max() < 10.0, "at so large an epsilon reports are near"


def test_an_attack_scores_against_the_frame_that_was_released() -> None:
    seen = geodp.device("planar_laplace", epsilon_per_m=0.05).report(make_frame(), region=BOX, user="name", noise=1)
    attack = geodp.attack("bayes_location")
    scores = attack.score(seen, make_frame(), user="name")
    assert scores.attrs["truth"]
    assert not attack.guess(seen).attrs["truth"]
    assert set(scores["who"]) == set(make_table()["name"])
    assert scores["error_m"].mean() < scores["prior_error_m"].mean()
    with pytest.raises(UsageError, match="give one, or a list"):
        attack.guess([])


def test_a_ledger_is_charged_before_anything_is_drawn_and_may_refuse(tmp_path: Path) -> None:
    grid, ledger = geodp.mechanism("uniform_grid", epsilon=1.0, cell_m=1000), tmp_path / "ledger.json"
    grid.release(make_frame(), region=BOX, noise=1, ledger=ledger, budget=1.5)
    rows = json.loads(ledger.read_text(encoding="utf-8"))["charges"]
    assert [row["epsilon"] for row in rows] == [1.0]
    with pytest.raises(BudgetSpent):
        grid.release(make_frame(), region=BOX, noise=1, ledger=ledger)
    moved = make_table().assign(t=0.0)
    fresh = tmp_path / "other.json"
    grid.release(moved, region=BOX, user="name", time="t", at=[0, 600], noise=1, ledger=fresh)
    assert sum(row["epsilon"] for row in json.loads(fresh.read_text(encoding="utf-8"))["charges"]) == 2.0


def test_a_release_is_silent_and_total_and_needs_a_region() -> None:
    pytest.importorskip("opendp")
    grid = geodp.mechanism("uniform_grid", epsilon=1.0, cell_m=1000)
    frame = _no_point(make_frame())
    frame.loc[5, "geometry"] = shapely.Point(-100, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = grid.release(frame, region=BOX, noise="release")
        nobody = grid.release(make_frame().iloc[:0], region=BOX, noise="release")
    assert release.releasable
    assert len(nobody) == len(release)
    with pytest.raises(UsageError, match="public and given in release mode"):
        grid.release(frame, noise="release")


def test_what_promises_nothing_is_not_released() -> None:
    pytest.importorskip("opendp")
    with pytest.raises(NotReleasable):
        geodp.device("planar_laplace", epsilon_per_m=0.01).report(make_frame(), region=BOX, noise="release")


def test_reports_of_a_release_without_names_do_not_tell_the_order_of_rows() -> None:
    pytest.importorskip("opendp")
    phones = geodp.device("planar_geometric", epsilon_per_m=10.0)
    reports = phones.report(make_frame(), region=BOX, noise="release").to_geodataframe()
    assert len(reports) == 60
    off = reports.to_crs(32632).distance(make_frame(crs=32632), align=False)
    assert off.median() > 100.0, "in their order, the reports would lie beside the people"
