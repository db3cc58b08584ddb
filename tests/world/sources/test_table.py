import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.errors import DataError, UsageError
from geodp.geometry import Region
from geodp.registry import plugin
from geodp.tables.notices import gather_notices
from geodp.world.population import Population

REGION = Region(10.0, 50.0, 10.2, 50.1)
LON, LAT = [10.1, 10.15, 10.05, 10.12], [50.05, 50.02, 50.09, 50.01]


def metres(*rows: int) -> np.ndarray:
    return np.array(REGION.projection.to_m(lon=[LON[i] for i in rows], lat=[LAT[i] for i in rows]))


def written(folder: Path, name: str, **columns: list[Any]) -> Path:
    """Write columns as csv or Parquet, by the name's ending."""
    path = folder / name
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    else:
        rows = zip(*columns.values(), strict=True)
        lines = [",".join("" if value is None else str(value) for value in row) for row in rows]
        path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return path


def load(path: Path, **fields: Any) -> Population:
    population: Population = plugin("table", path=str(path), **fields).load(REGION, np.random.default_rng(0))
    return population


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
class TestEitherFormat:
    def test_every_row_is_a_worker_where_that_is_stated(self, tmp_path: Path, name: str) -> None:
        people = load(written(tmp_path, name, lon=LON, lat=LAT), one_row_per_person=True)
        assert np.array_equal([people.x_m, people.y_m], metres(0, 1, 2, 3))
        assert people.recorded is None
        assert people.work_x_m is None

    def test_fixes_are_sorted_by_worker_and_time(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, time_s=[30, -5, 10, 0.5], worker=["b", "a", "b", "b"], lon=LON, lat=LAT)
        recorded = load(path).recorded
        assert recorded is not None
        assert recorded.first.tolist() == [0, 3, 4]  # b stands first in the file
        assert recorded.time_s.tolist() == [0.5, 10, 30, -5]
        assert np.array_equal([recorded.x_m, recorded.y_m], metres(3, 2, 0, 1))

    def test_with_fixes_a_worker_starts_where_it_is_at_time_0(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, time_s=[-10, 30, 5, 7], worker=[1, 1, 2, 2], lon=LON, lat=LAT)
        people = load(path)
        on_the_way = metres(0)[:, 0] + (metres(1)[:, 0] - metres(0)[:, 0]) * 10 / 40
        np.testing.assert_allclose([people.x_m, people.y_m], np.column_stack([on_the_way, metres(2)[:, 0]]))

    @pytest.mark.parametrize("person", ["user", "user_id", "UID", "IMEI", "Trip owner", "taxiId", "id"])
    def test_a_person_under_another_name_is_one_worker(self, tmp_path: Path, name: str, person: str) -> None:
        path = written(tmp_path, name, lon=LON, lat=LAT, **{person: [1, 1, 2, 2]})
        with gather_notices() as noticed:
            assert load(path, keep="last").size == 2
        assert noticed == [f"{name}: column '{person}' is taken for whose a row is (no column 'worker')."]

    def test_places_and_times_under_other_names_are_taken_and_said(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, Lng=LON, latitude=LAT, worker=[1, 1, 2, 2], seconds=[0, 9, 0, 9])
        with gather_notices() as noticed:
            assert load(path).recorded is not None
        assert [text.split("'")[1] for text in noticed] == ["Lng", "latitude", "seconds"]

    def test_two_columns_that_could_say_whose_a_row_is_are_asked_about(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, lon=LON, lat=LAT, user=[1, 1, 2, 2], id=[1, 2, 3, 4])
        with pytest.raises(DataError, match=r"'user' or 'id' could say whose a row is. Which one\?.* worker_column"):
            load(path)
        assert load(path, worker_column="user", keep="first").size == 2

    @pytest.mark.parametrize("repeated", [False, True])
    def test_a_file_that_does_not_say_whose_its_rows_are_is_refused(
        self, tmp_path: Path, name: str, repeated: bool
    ) -> None:
        path = written(tmp_path, name, lon=LON[:1] * 4 if repeated else LON, lat=LAT)
        with pytest.raises(DataError, match="no column says whose a row is(.|\n)*one_row_per_person: true"):
            load(path)

    @pytest.mark.parametrize(("keep", "rows"), [("first", (0, 1)), ("last", (3, 2))])
    def test_one_row_per_worker_by_place_in_the_file(
        self, tmp_path: Path, name: str, keep: str, rows: tuple[int, int]
    ) -> None:
        people = load(written(tmp_path, name, lon=LON, lat=LAT, worker=[7, 9, 9, 7]), keep=keep)
        assert np.array_equal([people.x_m, people.y_m], metres(*rows))

    @pytest.mark.parametrize(("keep", "rows"), [("first", (3, 1)), ("last", (0, 2))])
    def test_one_row_per_worker_by_time_where_it_is_known(
        self, tmp_path: Path, name: str, keep: str, rows: tuple[int, int]
    ) -> None:
        path = written(tmp_path, name, lon=LON, lat=LAT, worker=[7, 9, 9, 7], time_s=[4, 1, 2, 3])
        people = load(path, keep=keep)
        assert np.array_equal([people.x_m, people.y_m], metres(*rows))
        assert people.recorded is None

    def test_columns_may_have_other_names(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, x=LON, y=LAT, user=[1, 2, 1, 2], t=[0, 0, 9, 9], mood=["ok"] * 4)
        people = load(path, lon_column="x", lat_column="y", worker_column="user", time_column="t")
        assert people.size == 2
        assert people.recorded is not None

    def test_repeated_workers_without_times_are_refused_with_the_ways_out(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, lon=LON, lat=LAT, worker=[7, 9, 9, 9])
        with pytest.raises(DataError) as caught:
            load(path)
        assert f"{name}: there are several rows of a worker (3 of worker 9), and no column 'time_s'" in str(
            caught.value
        )
        for way_out in ("keep: first", "time_column", "one_row_per_person: true"):
            assert way_out in str(caught.value)
        assert load(path, worker_column=None).size == 4

    def test_points_outside_the_region_are_dropped_and_counted(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, lon=[*LON, 10.3], lat=[*LAT, 50.05], worker=list("abcde"))
        with gather_notices() as noticed:
            assert load(path).size == 4
        assert noticed == [f"{name}: 1 of 5 points (20 %) lie outside the region and are dropped."]

    def test_missing_coordinates_are_refused_with_their_number_and_first_row(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, lon=[10.1, None, 10.1, float("nan")], lat=LAT)
        where = "line 3" if name.endswith("csv") else "row 2"
        with pytest.raises(DataError, match=f"2 of 4 rows have no lon or lat, first in {where}"):
            load(path, one_row_per_person=True)

    def test_swapped_columns_are_recognised(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, lon=[*LAT * 24, 10.1, 0.0, 0.0, 0.0], lat=[*LON * 24, 50.05, 0.0, 0.0, 0.0])
        with pytest.raises(DataError) as caught:
            load(path, one_row_per_person=True)
        assert str(caught.value).startswith(
            f"{name}: 99 % of points lie outside the region; 96 % would lie inside with lat and lon swapped."
        )
        assert "Set lon_column: lat and lat_column: lon" in str(caught.value)

    def test_swapping_is_recognised_where_a_latitude_would_be_impossible(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, lon=[37.75, 37.76], lat=[-122.41, -122.42])
        region = Region(-122.5135, 37.7113, -122.3627, 37.8327)
        with pytest.raises(DataError, match="100 % would lie inside with lat and lon swapped"):
            plugin("table", path=str(path), one_row_per_person=True).load(region, np.random.default_rng(0))

    def test_impossible_degrees_are_refused(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, lon=[*LON, 190.0], lat=[*LAT, 50.0])
        with pytest.raises(DataError, match="1 row has a longitude beyond ±180 or a latitude beyond ±90"):
            load(path, one_row_per_person=True)

    def test_nobody_inside_the_region_is_refused(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, lon=[20.0, 21.0], lat=[40.0, 41.5])
        with pytest.raises(DataError) as caught:
            load(path, one_row_per_person=True)
        assert "none of its 2 points lies inside the region" in str(caught.value)
        assert "The points span lon 20 to 21, lat 40 to 41.5" in str(caught.value)

    def test_a_missing_time_or_worker_is_refused(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, lon=LON, lat=LAT, worker=list("abcd"), time_s=[0, 1, None, 3])
        with pytest.raises(DataError, match="1 row has no time_s that can be read .*, first in"):
            load(path)
        path = written(tmp_path, name, lon=LON, lat=LAT, worker=["a", None, "c", "d"])
        with pytest.raises(DataError, match="1 row has no worker, first in"):
            load(path)

    def test_times_without_workers_are_refused(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, lon=LON, lat=LAT, time_s=[0, 1, 2, 3])
        with pytest.raises(DataError, match="no column says whose a row is"):
            load(path)
        assert load(path, one_row_per_person=True).recorded is None

    def test_a_named_column_must_exist(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, name, lon=LON, lat=LAT, user=[1, 2, 3, 4])
        with pytest.raises(DataError, match=r"no column 'usr'. Did you mean 'user'\? Found: lon, lat, user"):
            load(path, worker_column="usr")

    def test_a_file_without_rows_is_refused(self, tmp_path: Path, name: str) -> None:
        empty = written(tmp_path, name, lon=[], lat=[]) if name.endswith("csv") else _no_rows(tmp_path / name)
        with pytest.raises(DataError, match="has column names but no rows"):
            load(empty, one_row_per_person=True)


def _no_rows(path: Path) -> Path:
    pq.write_table(pa.table({"lon": pa.array([], pa.float64()), "lat": pa.array([], pa.float64())}), path)
    return path


@pytest.mark.parametrize("stated", [{"one_row_per_person": True}, {"worker_column": None}])
def test_a_column_that_looks_like_workers_and_is_not_read_is_said(tmp_path: Path, stated: dict[str, Any]) -> None:
    path = written(tmp_path, "checkins.csv", lon=LON, lat=LAT, user=[1, 1, 2, 2])
    with gather_notices() as noticed:
        assert load(path, **stated).size == 4
    assert noticed == ["checkins.csv: every row is taken for a worker of its own, and 'user' is not read."]


def test_all_workers_of_a_long_file_are_found_across_its_blocks(tmp_path: Path) -> None:
    count = 600_000  # more than two blocks of a Parquet file
    rng = np.random.default_rng(0)
    name = rng.permutation(np.arange(count) % (count // 2))
    lon, lat = rng.uniform(10.0, 10.2, count), rng.uniform(50.0, 50.1, count)
    pq.write_table(pa.table({"lon": lon, "lat": lat, "worker": name}), tmp_path / "many.parquet")
    people = load(tmp_path / "many.parquet", keep="first")
    first = np.sort(np.unique(name, return_index=True)[1])
    assert np.array_equal([people.x_m, people.y_m], REGION.projection.to_m(lon=lon[first], lat=lat[first]))


def test_a_relative_path_starts_at_the_file_that_names_it(tmp_path: Path) -> None:
    written(tmp_path, "people.csv", lon=LON, lat=LAT)
    table = plugin("table", path="people.csv", one_row_per_person=True).anchor(tmp_path)
    assert table.files() == [tmp_path / "people.csv"]
    assert table.load(REGION, np.random.default_rng(0)).size == 4
    assert plugin("table", path="/data/x.csv").anchor(tmp_path).path == "/data/x.csv"


def test_the_number_of_workers_is_not_public() -> None:
    assert plugin("table").public_count() is None


def test_a_table_without_a_path_says_so(tmp_path: Path) -> None:
    table = plugin("table").anchor(tmp_path)
    assert table.files() == []
    with pytest.raises(DataError, match="table: no file is given"):
        table.load(REGION, np.random.default_rng(0))


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_dates_are_times_of_the_day_on_which_most_have_begun(tmp_path: Path, name: str) -> None:
    """One who begins years before does not move the others."""
    when = ["2024-03-05T08:00:00", "2024-03-05T08:10:00", "2024-03-05T09:00:00", "1999-01-01T00:00:00"]
    stamps = [dt.datetime.fromisoformat(text) for text in when] if name.endswith("parquet") else when
    path = written(tmp_path, name, lon=LON, lat=LAT, worker=["a", "a", "b", "c"], timestamp=stamps)
    with gather_notices() as noticed:
        people = load(path).start_at(8 * 3600.0)
    assert people.recorded is not None
    assert people.recorded.time_s.tolist()[:3] == [0.0, 600.0, 3600.0]
    assert any("the run begins on 2024-03-05" in text for text in noticed)
    assert any(
        "dates in column 'timestamp' that state no time zone are taken as they stand" in text for text in noticed
    )
    stated = load(path, first_day="2024-03-04").start_at(0.0)
    assert stated.recorded is not None
    assert stated.recorded.time_s[0] == 32 * 3600.0


def test_dates_with_a_zone_are_shown_on_the_clock_of_the_run(tmp_path: Path) -> None:
    path = written(tmp_path, "p.csv", lon=LON[:1], lat=LAT[:1], worker=["a"], time=["2024-07-01T06:00:00Z"])
    recorded = load(path, time_zone="Europe/Vienna").recorded
    assert recorded is not None
    assert recorded.time_s.tolist() == [8 * 3600.0]
    with pytest.raises(UsageError, match="no zone called 'Vienna'"):
        load(path, time_zone="Vienna")


def test_a_first_day_is_for_dates(tmp_path: Path) -> None:
    path = written(tmp_path, "p.csv", lon=LON[:1], lat=LAT[:1], worker=["a"], time_s=[5])
    with pytest.raises(DataError, match="first_day is for dates"):
        load(path, first_day="2024-03-04")


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:32632", "EPSG:3857"])
def test_points_of_geoparquet_are_places_in_any_coordinates(tmp_path: Path, crs: str) -> None:
    import geopandas

    points = geopandas.points_from_xy(LON, LAT, crs="EPSG:4326").to_crs(crs)
    frame = geopandas.GeoDataFrame({"uid": list("abcd")}, geometry=points).rename_geometry("where")
    frame.to_parquet(tmp_path / "p.parquet")
    with gather_notices() as noticed:
        people = load(tmp_path / "p.parquet")
    np.testing.assert_allclose([people.x_m, people.y_m], metres(0, 1, 2, 3), atol=0.01)
    assert any("are converted to degrees" in text for text in noticed) == (crs != "EPSG:4326")


def test_areas_are_no_places_of_people(tmp_path: Path) -> None:
    import geopandas
    import shapely

    areas = geopandas.GeoDataFrame({"uid": ["a"]}, geometry=[shapely.box(10, 50, 11, 51)], crs="EPSG:4326")
    areas.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="column 'geometry' must hold points, one per row"):
        load(tmp_path / "a.parquet")


def test_a_check_refuses_what_a_run_would(tmp_path: Path) -> None:
    """Rows that nothing orders are found by looking at the file, before anything is run."""
    path = written(tmp_path, "people.csv", worker=["a", "b", "a", "c"], lon=LON, lat=LAT)
    with pytest.raises(DataError, match=r"several rows of a worker \(2 of worker a\)"):
        plugin("table", path=str(path)).look(REGION)
    assert plugin("table", path=str(path), keep="first").look(REGION).inside == 4


def test_a_column_of_times_that_nobody_asks_for_is_not_looked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "in.csv", worker=["a", "a", "b", "b"], lon=LON, lat=LAT)
    assert load(path, time_column=None, keep="first").x_m.tolist() == pytest.approx(metres(0, 2)[0])
