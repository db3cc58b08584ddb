"""Trajectories in files: what is read, left out, refused, and written whole."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.tables.notices import gather_notices
from geodp.tables.trajectories.files import read_points, read_trajectories
from geodp.tables.trajectories.table import Trajectories
from tests.tables.trajectories.hand_made import save_trajectories

REGION = Region(10.0, 50.0, 10.1, 50.1)
HEADER = "user,trajectory,time_s,lon,lat\n"


def saved(folder: Path, rows: str, header: str = HEADER) -> Path:
    path = folder / "trips.csv"
    path.write_text(header + rows)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".geoparquet"])
def test_what_is_written_is_read_back(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(1)
    first = np.append(0, np.cumsum(rng.integers(1, 9, 500)))
    count = int(first[-1])
    x_m, y_m = REGION.sample(count, rng)
    table = Trajectories(
        np.array(["a", "b", "c"], dtype=object), first, rng.integers(0, 3, 500), np.arange(count, dtype=float), x_m, y_m
    )
    save_trajectories(tmp_path / f"trips{suffix}", table, REGION)
    found, left = read_trajectories(tmp_path / f"trips{suffix}", REGION)
    assert left.outside == left.repeated == left.unordered == left.lost == 0
    np.testing.assert_array_equal(found.first, table.first)
    np.testing.assert_array_equal(found.person, table.person)
    np.testing.assert_allclose(found.x_m, table.x_m, atol=0.02)
    assert [path.name for path in tmp_path.iterdir()] == [f"trips{suffix}"]


def test_geoparquet_with_points_alone_is_read(tmp_path: Path) -> None:
    import geopandas

    frame = pd.DataFrame({"user": [7, 7], "trajectory": [1, 1], "time_s": [0, 60]})
    points = geopandas.points_from_xy([10.01, 10.02], [50.01, 50.02])
    geopandas.GeoDataFrame(frame, geometry=points, crs=4326).to_parquet(tmp_path / "points.parquet")
    found, _ = read_trajectories(tmp_path / "points.parquet", REGION)
    assert (found.size, found.points, found.people.tolist()) == (1, 2, [7])


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    rows = (
        "a,1,0,10.01,50.01\na,1,60,10.02,50.01\na,1,60,10.03,50.01\na,1,30,10.04,50.01\n"
        "b,1,0,10.05,50.05\nb,2,0,11,50\nc,9,0,10.01,50.01\nc,9,60,10.9,50.01\n"
    )
    found, left = read_trajectories(saved(tmp_path, rows), REGION)
    assert (left.points, left.outside, left.repeated, left.unordered, left.lost, left.single) == (8, 2, 1, 1, 1, 2)
    assert found.time_s.tolist() == [0, 30, 60, 0, 0]
    assert len(left.remarks()) == 5


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("", "no rows"),
        ("a,1,0,,50\n", "no lon or lat, first in line 2"),
        (",1,0,10,50\n", "no user"),
        ("a,1,0,10,95\n", "beyond"),
        ("a,1,0,39.9,116.3\na,1,1,39.9,116.3\n", "look swapped"),
        ("a,1,0,50.05,10.05\na,1,1,50.05,10.05\n", "100 % would lie inside with lat and lon swapped"),
        ("a,1,0,20,20\n", "none of its 1 points lies inside the region"),
        ("a,1,noon,10,50\n", "no time_s that can be read .*, first in line 2"),
        ("a,1,0,10.05,50.05\na,1,1e308,10.05,50.05\n", "a time_s that is no time in seconds, first in line 3"),
    ],
)
def test_bad_rows_are_refused_with_a_reason(tmp_path: Path, rows: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_trajectories(saved(tmp_path, rows), REGION)


def test_a_file_without_the_columns_says_which_and_guesses(tmp_path: Path) -> None:
    with gather_notices() as noticed:
        assert read_points(saved(tmp_path, "a,1,0,10,50\n", "taxi_id,trajectory,time_s,lon,lat\n")).size == 1
    assert ["'taxi_id' is taken for whose a row is" in text for text in noticed] == [True]
    with pytest.raises(DataError, match="no column 'user'.*say --column user=NAME"):
        read_points(saved(tmp_path, "a,1,0,10,50\n", "colour,trajectory,time_s,lon,lat\n"))
    with pytest.raises(DataError, match="numbers instead of column names"):
        read_points(saved(tmp_path, "", "1,2,3,10.0,50.0\n"))
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(DataError, match="empty"):
        read_points(tmp_path / "empty.csv")


@pytest.mark.parametrize("content", [b"user,trajectory\rtime_s,lon\rlat,1\r", bytes(range(1, 256)) * 8])
def test_bytes_that_are_no_csv_are_bad_input(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd.csv").write_bytes(content)
    with pytest.raises(DataError, match="odd.csv: "):
        read_points(tmp_path / "odd.csv")


def test_points_out_of_order_are_counted_also_where_trips_are_mixed(tmp_path: Path) -> None:
    """Of trip 1 the times 0, 2, 1, 3 stand in this order, of trip 2 the times 9, 8, 7: three came too late."""
    rows = "".join(f"a,{trip},{time},10.05,50.0{time}\n" for trip, time in zip("1212121", "0928173", strict=True))
    found, left = read_trajectories(saved(tmp_path, rows), REGION)
    assert left.unordered == 3
    assert found.time_s.tolist() == [0, 1, 2, 3, 7, 8, 9]


@pytest.mark.parametrize(
    "row",
    ["a,1,4321.5x,10,50", "a,1,0,50.05,10.05", "a,1,1e13,10.05,50.05", ",1,0,10.05,50.05", "a,1,0,10.05", '"a,1,0'],
)
def test_a_release_leaves_a_row_out_that_it_cannot_use(tmp_path: Path, row: str) -> None:
    found, _ = read_trajectories(
        saved(tmp_path, f"b,1,0,10.05,50.05\n{row}\nb,1,60,10.06,50.05\n"), REGION, releasing=True
    )
    assert found.time_s.tolist() == [0, 60]
    alone, _ = read_trajectories(saved(tmp_path, f"{row}\n"), REGION, releasing=True)
    assert alone.size == 0
