"""Published formats of trajectories: what is read, cleaned, counted and refused."""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodp.errors import DataError
from geodp.tables.loaders import TRAJECTORIES, Dropped, Loader
from geodp.tables.loaders.cabspotting import Cabspotting
from geodp.tables.loaders.geolife import GeoLife
from geodp.tables.loaders.point_lists import PointLists
from geodp.tables.loaders.porto_taxi import PortoTaxi
from geodp.tables.loaders.tdrive import TDrive
from geodp.tables.loaders.trajectories_table import TrajectoriesTable

PLT = "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"


def read(loader: Loader, path: Path) -> tuple[pd.DataFrame, Dropped]:
    loaded = loader.load(path)
    table = loaded.table()
    assert table.column_names == list(TRAJECTORIES)
    return table.to_pandas(), loaded.dropped


def plt_file(folder: Path, user: str, name: str, rows: str) -> Path:
    path = folder / "Data" / user / "Trajectory" / f"{name}.plt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PLT + rows)
    return path


def test_geolife_reads_people_times_and_places(tmp_path: Path) -> None:
    plt_file(
        tmp_path,
        "000",
        "20081023025304",
        "39.984702,116.318417,0,492,39744.1201851852,2008-10-23,02:53:04\n"
        "39.984683,116.318450,0,492,39744.1202546296,2008-10-23,02:53:10\n",
    )
    plt_file(
        tmp_path,
        "001",
        "20081024000000",
        "39.9,116.3,0,0,39745,2008-10-24,00:00:00\n39.91,116.31,0,0,39745.01,2008-10-24,00:14:24\n",
    )
    (tmp_path / "Data" / "000" / "labels.txt").write_text("Start Time\tEnd Time\n")
    found, dropped = read(GeoLife(), tmp_path)
    assert found["user"].tolist() == ["000", "000", "001", "001"]
    assert found["trajectory"].tolist() == ["20081023025304"] * 2 + ["20081024000000"] * 2
    assert found["time_s"].tolist()[:2] == [1224730384, 1224730390]
    assert found["lon"].tolist()[0] == 116.318417
    assert found["lat"].tolist()[0] == 39.984702
    assert (dropped.rows, dropped.total) == (4, 0)


def test_geolife_counts_what_it_leaves_out(tmp_path: Path) -> None:
    def row(lat: float, lon: float, second: float) -> str:
        return f"{lat},{lon},0,0,{39744 + second / 86400:.10f},2008-10-23,00:00:00\n"

    good = [row(39.90 + i / 1000, 116.3, 10 * i) for i in range(6)]
    bad = [row(39.905, 116.3, 20), row(39.95, 117.9, 61), row(39.906, 116.3, 62), row(400, 116.3, 70)]
    plt_file(tmp_path, "000", "1", "".join([*good, *bad, row(39.907, 116.3, 80)]))
    found, dropped = read(GeoLife(), tmp_path)
    assert len(found) == 8
    assert dropped.rows == 11
    assert sorted(dropped.reasons.values()) == [1, 1, 1]
    assert {"time goes backwards"} <= set(dropped.reasons)


def test_a_folder_with_another_format_in_it_names_the_file(tmp_path: Path) -> None:
    plt_file(tmp_path, "000", "1", "39.9,116.3,0,0,39744,2008-10-23,00:00:00\n39.9,116.3,0,0,39744.001,x,y\n")
    stranger = plt_file(tmp_path, "001", "2", "")
    stranger.write_text("lat,lon\n1,2\n")
    with pytest.raises(DataError, match=r"2\.plt: is not a GeoLife file"):
        read(GeoLife(), tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds no file called \*\.plt"):
        read(GeoLife(), tmp_path / "empty")


def test_tdrive_cuts_a_taxis_week_into_trips_and_skips_empty_files(tmp_path: Path) -> None:
    lines = ["1,2008-02-02 15:36:08,116.51172,39.92123", "1,2008-02-02 15:46:08,116.51135,39.93883"]
    lines += ["1,2008-02-02 16:16:08,116.59,39.91034", "1,2008-02-02 16:20:08,116.60,39.92"]
    (tmp_path / "1.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "2.txt").write_text("")
    (tmp_path / "3.txt").write_text("3,2008-02-02 13:00:00,116.4,39.9\n3,2008-02-02 13:01:00,116.41,39.9\n")
    found, dropped = read(TDrive(), tmp_path)
    assert found["trajectory"].tolist() == ["1-1", "1-1", "1-2", "1-2", "3", "3"]
    assert found["time_s"].tolist()[0] == pd.Timestamp("2008-02-02 15:36:08", tz="UTC").timestamp()
    assert dropped.notes == {"files without a row": 1}


def test_tdrive_in_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("37.75134 -122.39488 0 1213084687\n" * 5)
    with pytest.raises(DataError, match="cannot be used"):
        read(TDrive(), tmp_path / "1.txt")
    (tmp_path / "2.txt").write_text("1,2008-02-02 15:36:08,39.92123,116.51172\n1,2008-02-02 15:36:09,39.9,116.5\n")
    with pytest.raises(DataError, match="lat and lon swapped"):
        read(TDrive(), tmp_path / "2.txt")


def test_cabspotting_is_turned_round_and_cut_at_fares(tmp_path: Path) -> None:
    rows = [(37.7500 + i / 1000, -122.39, int(2 <= i < 5), 1_213_084_000 + 60 * i) for i in range(8)]
    text = "".join(f"{lat} {lon} {fare} {time}\n" for lat, lon, fare, time in reversed(rows))
    (tmp_path / "new_abboip.txt").write_text(text)
    (tmp_path / "_cabs.txt").write_text('<cab id="abboip" updates="8"/>\n')
    found, dropped = read(Cabspotting(), tmp_path)
    assert set(found["user"]) == {"abboip"}
    assert found.groupby("trajectory", sort=False)["time_s"].apply(lambda t: t.is_monotonic_increasing).all()
    assert found.groupby("trajectory", sort=False).size().tolist() == [3, 3, 2]
    assert dropped.total == 0
    fares, counted = read(Cabspotting(trips="fares"), tmp_path)
    assert fares["time_s"].tolist() == [1_213_084_000 + 60 * i for i in (2, 3, 4)]
    assert counted.total == 5


def test_porto_unrolls_polylines(tmp_path: Path) -> None:
    heading = "TRIP_ID,CALL_TYPE,ORIGIN_CALL,ORIGIN_STAND,TAXI_ID,TIMESTAMP,DAY_TYPE,MISSING_DATA,POLYLINE\n"
    rows = (
        '"T1","C","","","20000589","1372636858","A","False","[[-8.618643,41.141412],[-8.618499,41.141376]]"\n'
        '"T2","B","","7","20000596","1372637303","A","True","[[-8.639847,41.159826],[-8.64,41.16],[-8.65,41.16]]"\n'
        '"T3","C","","","20000320","1372636951","A","False","[]"\n'
        '"T4","C","","","20000320","1372636951","A","False","[[-8.6, 41.1]]"\n'
    )
    path = tmp_path / "train.csv.gz"
    path.write_bytes(gzip.compress((heading + rows).encode()))
    found, dropped = read(PortoTaxi(), path)
    assert found["user"].tolist() == ["20000589"] * 2 + ["20000596"] * 3
    assert found["time_s"].tolist() == [1372636858, 1372636873, 1372637303, 1372637318, 1372637333]
    assert found["lon"].tolist()[:2] == [-8.618643, -8.618499]
    assert dropped.reasons == {"trips of fewer fixes than least_points": 1}
    assert sum(dropped.notes.values()) == 1


@pytest.mark.parametrize("line", ["[[-8.6,41.1],[-8.6]]", "[[-8.6,41.1,3]]", "(-8.6,41.1)", "[[-8.6,x]]"])
def test_a_broken_polyline_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "train.csv"
    path.write_text(f'TRIP_ID,TAXI_ID,TIMESTAMP,POLYLINE\n1,1,0,"{line}"\n')
    with pytest.raises(DataError, match="POLYLINE"):
        read(PortoTaxi(), path)


def test_point_lists_are_trajectories_of_people_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "brinkhoff.dat"
    path.write_text("#0:\n>0:10.01,50.01;10.02,50.01;10.03,50.02;\n#1:\n>0:10.05,50.05;10.06,50.05\n")
    found, _ = read(PointLists(step_s=30), path)
    assert found["user"].tolist() == ["0"] * 3 + ["1"] * 2
    assert found["time_s"].tolist() == [0, 30, 60, 0, 30]
    assert found["lat"].tolist() == [50.01, 50.01, 50.02, 50.05, 50.05]
    swapped, _ = read(PointLists(order="latlon"), path)
    assert swapped["lat"].tolist()[0] == 10.01


def test_point_lists_in_plane_units_need_an_origin(tmp_path: Path) -> None:
    path = tmp_path / "plane.dat"
    path.write_text("#0:\n>0:1000,2000;1100,2000\n")
    with pytest.raises(DataError, match="plane units: set origin=LON,LAT"):
        read(PointLists(), path)
    found, _ = read(PointLists(origin="10,50", unit_m=2), path)
    metres = (found["lat"].iloc[0] - 50) * np.pi / 180 * 6_371_008.8
    assert metres == pytest.approx(4000)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#0:\n1,2;3,4\n", "line 2 is neither"),
        ("user,lon,lat\n", "line 1 is neither"),
        ("#0:\n>0:1,2;3,4\n#1:\n", "breaks off"),
        ("#0:\n>0:1,2;3;4,5,6\n", "trajectory '0' is not a list"),
        ("#0:\n>0:1,2;x,4\n", "trajectory '0' is not a list"),
        ("", "empty"),
    ],
)
def test_other_text_is_no_point_list(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a.dat"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        read(PointLists(), path)


def test_a_table_in_any_order_with_dates_and_other_names(tmp_path: Path) -> None:
    path = tmp_path / "fixes.csv"
    path.write_text(
        "who,when,longitude,latitude\nb,2020-01-01T00:01:00Z,10.01,50\na,2020-01-01T00:00:10Z,10.02,50\n"
        "b,2020-01-01T00:00:00Z,10.0,50\na,2020-01-01T00:00:00Z,10.02,50.001\na,2020-01-01T00:00:00Z,10.02,50.001\n"
    )
    names = {"user_column": "who", "time_column": "when", "lon_column": "longitude", "lat_column": "latitude"}
    found, dropped = read(TrajectoriesTable(trajectory_column=None, **names), path)
    assert found["user"].tolist() == ["b", "b", "a", "a"]
    assert found["time_s"].diff().tolist()[1::2] == [60, 10]
    assert dropped.reasons == {"a time that the track already has": 1}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".geoparquet"])
def test_tables_of_all_kinds_are_read_and_resampled(tmp_path: Path, suffix: str) -> None:
    from geodp.geometry import Region
    from geodp.tables.trajectories.table import Trajectories
    from tests.tables.trajectories.hand_made import save_trajectories

    region = Region(10.0, 50.0, 10.1, 50.1)
    people = np.array(["a"], dtype=object)
    trips = Trajectories(
        people, np.array([0, 2]), np.array([0]), np.array([0.0, 60]), np.array([0.0, 600]), np.zeros(2)
    )  # fmt: skip
    save_trajectories(tmp_path / f"t{suffix}", trips, region)
    found, _ = read(TrajectoriesTable(every_s=20), tmp_path / f"t{suffix}")
    assert found["time_s"].tolist() == [0, 20, 40, 60]
    np.testing.assert_allclose(np.diff(found["lon"], 2), 0, atol=1e-6)


def test_a_region_leaves_out_what_lies_elsewhere_and_tells_swapped_columns(tmp_path: Path) -> None:
    path = tmp_path / "fixes.csv"
    path.write_text("user,trajectory,time_s,lon,lat\na,1,0,10.1,50\na,1,60,10.11,50\na,1,120,11,50\n")
    found, dropped = read(TrajectoriesTable(region="10,49,10.5,51"), path)
    assert len(found) == 2
    assert dropped.reasons == {"outside the region": 1}
    with pytest.raises(DataError, match="swapped"):
        read(TrajectoriesTable(region="49,10,51,10.5"), path)
    with pytest.raises(DataError, match="cannot be used|no trip is left"):
        read(TrajectoriesTable(region="20,20,21,21"), path)


def test_nothing_but_single_fixes_is_no_trip(tmp_path: Path) -> None:
    path = tmp_path / "fixes.csv"
    path.write_text("user,trajectory,time_s,lon,lat\na,1,0,10.1,50\nb,1,60,10.11,50\n")
    with pytest.raises(DataError, match="no trip is left .*2: trips of fewer fixes"):
        read(TrajectoriesTable(), path)


def test_tracks_that_go_on_over_many_batches_stay_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import geodp.tables.loaders.tracks as module

    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 10)
    for taxi in range(4):
        times = pd.date_range("2008-02-02", periods=[7, 40, 3, 25][taxi], freq="60s")
        rows = [f"{taxi},{t:%Y-%m-%d %H:%M:%S},{116 + i / 100:.5f},39.9" for i, t in enumerate(times)]
        (tmp_path / f"{taxi}.txt").write_text("\n".join(rows) + "\n")
    found, _ = read(TDrive(), tmp_path)
    assert found.groupby("trajectory").size().to_dict() == {"0": 7, "1": 40, "2": 3, "3": 25}


def test_files_that_break_off_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.csv.gz"
    whole = gzip.compress(b"user,trajectory,time_s,lon,lat\n" + b"a,1,0,10.1,50\n" * 100_000)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError):
        read(TrajectoriesTable(), path)


@pytest.mark.skipif("GEODP_DATA" not in os.environ, reason="GEODP_DATA names no folder of real data")
def test_real_porto_trips_are_read() -> None:
    path = Path(os.environ["GEODP_DATA"]) / "porto_sample" / "porto_train_1k.csv.gz"
    if not path.is_file():
        pytest.skip(f"GEODP_DATA holds no {path.name}")
    found, dropped = read(PortoTaxi(), path)
    assert found["trajectory"].nunique() > 950
    assert dropped.total < 0.01 * dropped.rows
    assert found["lat"].between(40.5, 42).all()
    step = found.groupby("trajectory")["time_s"].diff().dropna()
    assert (step % 15 == 0).all()
