"""GeoPackage, GeoJSON and GeoParquet are read wherever csv is, in any coordinates, to the same rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
from shapely import LineString, box

from geodp.cli.main import main
from geodp.errors import DataError
from geodp.geometry import Region
from geodp.publish.data_check import check_data
from geodp.publish.private_positions import read_rows
from geodp.publish.private_visits import read_visit_sets
from geodp.tables import formats
from geodp.tables.formats import column_names, row_count
from geodp.tables.loaders.trajectories_table import TrajectoriesTable
from geodp.tables.loaders.visits_table import VisitsTable
from geodp.tables.notices import gather_notices
from geodp.tables.reader import PLACE, open_table
from geodp.tables.trajectories.files import read_trajectories
from geodp.tables.visits.hierarchy import AreaFile
from geodp.tables.visits.venue_file import read_venue_list, read_venues
from geodp.world.demand.trace import Trace
from geodp.world.mobility.replay import Replay
from geodp.world.population import Population
from geodp.world.sources.table import Table
from geodp.world.visit_sources.visits_file import VisitsFile

REGION = Region(10.0, 50.0, 10.2, 50.1)
ROWS = pd.DataFrame({
    "user": ["ann", "ann", "bob", "bob"],
    "trajectory": ["1", "1", "1", "1"],
    "venue": ["a", "b", "b", "c"],
    "time_s": [0.0, 60.0, 0.0, 90.0],
    "lon": [10.01, 10.02, 10.05, 10.06],
    "lat": [50.01, 50.02, 50.05, 50.06],
})  # fmt: skip
FILES = ["in.csv", "in.gpkg", "in.geojson", "in.geoparquet", "utm.gpkg", "utm.geoparquet"]
Save = Callable[..., Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Return a function that writes a table in the format of a name; `utm` has metres in place of degrees."""

    def write(name: str, rows: pd.DataFrame = ROWS, **columns: Any) -> Path:
        path, frame = tmp_path / name, rows.assign(**columns)
        if path.suffix == ".csv":
            frame.to_csv(path, index=False)
            return path
        points = geopandas.points_from_xy(frame["lon"], frame["lat"])
        shapes = geopandas.GeoDataFrame(frame.drop(columns=["lon", "lat"]), geometry=points, crs="EPSG:4326")
        shapes = shapes.to_crs("EPSG:32632") if name.startswith("utm") else shapes
        shapes.to_parquet(path) if path.suffix == ".geoparquet" else shapes.to_file(path)
        return path

    return write


def metres(rows: pd.DataFrame = ROWS) -> np.ndarray:
    return np.array(REGION.projection.to_m(lon=rows["lon"].to_numpy(), lat=rows["lat"].to_numpy()))


@pytest.mark.parametrize("name", FILES)
class TestEveryFormat:
    def test_workers(self, save: Save, name: str) -> None:
        source = Table(path=str(save(name)), worker_column="user")
        assert source.look(REGION).inside == 4
        assert source.has_times()
        recorded = source.load(REGION, np.random.default_rng(0)).recorded
        assert recorded is not None
        np.testing.assert_allclose([recorded.x_m, recorded.y_m], metres(), atol=0.01)
        assert recorded.time_s.tolist() == [0.0, 60.0, 0.0, 90.0]

    def test_tasks(self, save: Save, name: str) -> None:
        demand = Trace(path=str(save(name)))
        assert demand.expected_tasks(start_s=0.0, duration_s=80.0) == 3
        nobody = Population(np.zeros(1), np.zeros(1))
        rng = np.random.default_rng(0)
        arrivals = demand.arrivals(nobody, REGION, start_s=0.0, duration_s=80.0, rng=rng)
        np.testing.assert_allclose(arrivals.x_m, metres()[0][[0, 2, 1]], atol=0.01)

    def test_visits_and_venues_of_a_run(self, save: Save, name: str) -> None:
        listed = ROWS.drop_duplicates("venue")[["venue", "lon", "lat"]].assign(category="bar", town=["x", "x", "y"])
        made = VisitsFile(path=str(save(name)), venues=str(save(name.replace(".", "-list."), listed)))
        visits, venues = made.visits(
            Population(np.zeros(1), np.zeros(1)), REGION, duration_s=100.0, rng=np.random.default_rng(0)
        )
        assert venues.name.tolist() == ["a", "b", "c"]
        assert venues.category is not None
        assert (list(venues.levels), venues.category.tolist()) == (["town"], ["bar"] * 3)
        np.testing.assert_allclose(venues.lat, [50.01, 50.02, 50.06], atol=1e-7)
        assert visits.venue.tolist() == [0, 1, 1, 2]

    def test_trips(self, save: Save, name: str) -> None:
        path = save(name)
        trips, left = read_trajectories(path, REGION)
        assert trips.people.tolist() == ["ann", "bob"]
        np.testing.assert_allclose([trips.x_m, trips.y_m], metres(), atol=0.01)
        first = Replay(path=str(path)).look(REGION)
        assert first is not None
        assert first.inside == left.points == 4

    def test_loaders(self, save: Save, name: str) -> None:
        path = save(name)
        for loader in (VisitsTable(), TrajectoriesTable()):
            loaded = loader.load(path)
            table = loaded.table()
            assert table.column("user").to_pylist() == ["ann", "ann", "bob", "bob"]
            np.testing.assert_allclose(table.column("lon"), ROWS["lon"], atol=1e-7)
            assert loaded.dropped.total == 0

    def test_private_positions_and_visits(self, save: Save, name: str) -> None:
        path = save(name)
        rows = read_rows(path, numbers=PLACE, names=("user",), releasing=False)
        np.testing.assert_allclose(rows.numbers["lat"], ROWS["lat"], atol=1e-7)
        sets = read_visit_sets(path, _listed(path), releasing=False)
        assert sets.sets.counts().tolist() == [1, 2, 1]

    def test_check_data_and_commands(self, save: Save, name: str, tmp_path: Path) -> None:
        path = save(name)
        assert [check_data(path, kind).usable for kind in ("positions", "visits", "trajectories")] == [4, 4, 4]
        out = str(tmp_path / "out.csv")
        words = ["publish", "positions", str(path), "--epsilon", "0.1", "--region", "10,50,10.2,50.1", "--out", out]
        with pytest.raises(SystemExit) as done:
            main([*words, "--cap", "2"])
        assert done.value.code in (None, 0)
        assert len(pd.read_csv(out)) > 0

    def test_columns_and_rows_are_known_without_reading(self, save: Save, name: str) -> None:
        path = save(name)
        assert set(column_names(path)) - {"lon", "lat", "geometry"} == {"user", "trajectory", "venue", "time_s"}
        assert row_count(path) == 4


def _listed(path: Path) -> Any:
    listed = path.with_name("list.csv")
    listed.write_text("venue\na\nb\nc\n")
    return read_venue_list(listed)


@pytest.mark.parametrize("name", ["in.gpkg", "utm.gpkg", "in.geoparquet"])
def test_a_release_reads_geopackage_row_by_row(save: Save, name: str) -> None:
    """A row without a place or a name is left out; the others are as they are."""
    odd = pd.concat([ROWS, ROWS.assign(user=None), ROWS.assign(lon=np.nan)], ignore_index=True)
    rows = read_rows(save(name, odd), numbers=PLACE, names=("user",), releasing=True)
    np.testing.assert_allclose(rows.numbers["lon"], ROWS["lon"], atol=1e-7)
    assert rows.names["user"].to_pylist() == ROWS["user"].tolist()


def test_a_release_refuses_geojson_by_its_name_alone(save: Save) -> None:
    """It states no columns: a word among numbers in one row would make words of all."""
    with pytest.raises(
        DataError, match=r"in.geojson: GeoJSON states no columns.*Save it as GeoPackage, Parquet or csv"
    ):
        read_rows(save("in.geojson"), numbers=PLACE, names=("user",), releasing=True)
    for loader in (VisitsTable(), TrajectoriesTable()):
        with pytest.raises(DataError, match="GeoJSON states no columns"):
            loader.load(save("in.geojson"), total=True).table()


def test_dates_are_read_with_their_zone(save: Save) -> None:
    stamps = pd.to_datetime(["2024-01-01T01:00+01:00"] * 4)
    for name in ("in.gpkg", "in.geojson"):
        (batch,) = open_table(save(name, time_s=stamps), ("time_s",)).batches()
        assert batch["time_s"].tolist() == [1704067200.0] * 4


def test_coordinates_are_converted_aloud_and_refused_where_none_are_stated(save: Save, tmp_path: Path) -> None:
    path = save("utm.gpkg")
    with gather_notices() as noticed:
        open_table(path, PLACE)
    assert noticed == ["utm.gpkg: points in EPSG:32632 are converted to degrees."]
    bare = tmp_path / "bare.gpkg"
    with pytest.warns(UserWarning, match="crs"):
        geopandas.GeoDataFrame({"user": ["a"]}, geometry=geopandas.points_from_xy([10.0], [50.0])).to_file(bare)
    with pytest.raises(DataError, match=r"bare.gpkg: states no coordinate system. Set one \(EPSG:4326 for degrees\)"):
        open_table(bare, PLACE)
    assert open_table(bare, ("user",)).has("user"), "who needs no places does not ask"


def test_lines_several_layers_and_damaged_files_are_refused(save: Save, tmp_path: Path) -> None:
    path = save("in.gpkg")
    frame = geopandas.read_file(path)
    frame.to_file(path, layer="more")
    with pytest.raises(DataError, match=r"in.gpkg: holds 2 layers \(in, more\), and one is read"):
        column_names(path)
    lines = tmp_path / "lines.geojson"
    ways = [LineString([(10, 50), (10.1, 50.1)])] * len(frame)
    frame.set_geometry(ways, crs="EPSG:4326").to_file(lines)
    with pytest.raises(DataError, match="must hold points, one per row"):
        list(open_table(lines, PLACE).batches())
    for name in ("torn.gpkg", "torn.geojson"):
        (tmp_path / name).write_bytes(b"no such thing")
        with pytest.raises(DataError, match=f"{name}: cannot be read as GeoPackage or GeoJSON"):
            column_names(tmp_path / name)


def test_geojson_is_bounded_since_it_is_read_as_a_whole(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save("in.geojson")
    monkeypatch.setattr(formats, "LARGEST_GEOJSON", 100)
    with pytest.raises(DataError, match="GeoJSON is read as a whole.*Save it as GeoPackage, Parquet or csv"):
        column_names(path)


@pytest.mark.parametrize("name", ["areas.gpkg", "areas.geojson", "areas.geoparquet"])
def test_areas_come_in_any_format_and_coordinates(tmp_path: Path, name: str) -> None:
    shapes = geopandas.GeoDataFrame({"name": ["w", "e"]}, geometry=[box(9, 49, 10, 51), box(10, 49, 11, 51)], crs=4326)
    shapes = shapes if name.endswith("json") else shapes.to_crs("EPSG:3857")
    shapes.to_parquet(tmp_path / name) if name.endswith("parquet") else shapes.to_file(tmp_path / name)
    level = AreaFile("half", tmp_path / name, "name")
    assert level.units(np.array([9.5, 10.5]), np.array([50.0, 50.0]), gaps=False).tolist() == ["w", "e"]
    listed = tmp_path / "venues.csv"
    listed.write_text("venue,lon,lat\na,9.5,50\nb,10.5,50\n")
    assert read_venues(listed, areas=[level]).levels["half"].tolist() == ["w", "e"]
