"""`geodp check-data`: the holder of the data is told what a release keeps to itself, with lines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.cli.main import main
from geodp.errors import DataError, UsageError
from geodp.publish.data_check import FOR_THE_HOLDER, check_data
from geodp.publish.private_positions import read_rows
from geodp.tables.trajectories.files import read_points

TOWN = "10.0,50.0,10.08,50.05"
ODD = (
    "user,lon,lat\nann,10.01,50.01\n\nann,10.02\nbob,ten,50.01\nbob,10.03,50.02\n,10.03,50.02\n"
    'cy,12.0,50.02\n"dee,10.01,50.01\ncy,10.03,95\ncy,10.04,50.02\n'
)


def saved(folder: Path, text: str) -> Path:
    path = folder / "in.csv"
    path.write_text(text)
    return path


def run_cli(*words: str) -> int:
    with pytest.raises(SystemExit) as done:
        main(["check-data", *words])
    return int(done.value.code or 0)


def test_every_row_that_a_release_leaves_out_is_told_with_its_line(tmp_path: Path) -> None:
    path = saved(tmp_path, ODD)
    report = check_data(path, region=TOWN)
    assert report.kind == "positions"
    assert {reason: fault.first for reason, fault in report.faults.items()} == {
        "another number of columns, or quotes that are not closed": [4, 9],
        "no lon or lat": [5],
        "no user": [7],
        "a longitude beyond ±180 or a latitude beyond ±90": [10],
        "outside the region": [8],
    }
    released = read_rows(path, numbers=("lon", "lat"), names=("user",), releasing=True)
    assert released.size - 1 == report.usable == 3, "one row is left out by the region, which comes later"
    assert report.rows == 9
    assert report.people == {"people": 3.0, "median_rows": 1.0, "most_rows": 1.0}
    assert report.inside_share == pytest.approx(4 / 6)
    assert not report.sound


def test_the_command_says_whom_it_is_for_and_its_exit_code_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path, ODD)
    assert run_cli(str(path), "--region", TOWN) == 2
    assert capsys.readouterr().out.splitlines()[0] == FOR_THE_HOLDER
    assert run_cli(str(path), "--region", TOWN, "--json") == 2
    told = json.loads(capsys.readouterr().out)
    assert told["warning"] == FOR_THE_HOLDER
    assert told["left_out"]["outside the region"] == {"rows": 1, "first": [8]}
    sound = saved(tmp_path, "user,lon,lat\nann,10.01,50.01\nbob,10.02,50.01\n")
    assert run_cli(str(sound), "--region", TOWN) == 0
    assert run_cli(str(sound), "--kind", "visits") == 2
    assert run_cli(str(tmp_path / "absent.csv")) == 2


def test_swapped_columns_and_files_without_a_usable_row_look_wrong(tmp_path: Path) -> None:
    swapped = "user,lon,lat\n" + "".join(f"u{number},50.01,10.0{number}\n" for number in range(8))
    told = check_data(saved(tmp_path, swapped), region=TOWN)
    assert told.looks_wrong == [
        "not one row can be used.",
        "100 % of the places would fit with lat and lon swapped, in the columns' names or in --region "
        "(west,south,east,north).",
    ]
    assert check_data(saved(tmp_path, "user,lon,lat\n")).looks_wrong == ["the file has column names but no rows."]


def test_visits_are_held_against_the_list_of_venues(tmp_path: Path) -> None:
    (tmp_path / "venues.csv").write_text("venue,lon,lat\na,10.01,50.01\nb,10.02,50.02\nb,10.02,50.02\n")
    path = saved(tmp_path, "user,venue\nann,a\nann,b\nbob,c\nbob,\n")
    with pytest.raises(DataError, match="twice"):
        check_data(path, venues=tmp_path / "venues.csv")
    assert check_data(tmp_path / "venues.csv").looks_wrong == [
        "1 venues are named twice: a public list is refused then."
    ]
    (tmp_path / "venues.csv").write_text("venue\na\nb\n")
    assert check_data(tmp_path / "venues.csv").sound
    report = check_data(path, venues=tmp_path / "venues.csv")
    assert (report.kind, report.rows, report.usable) == ("visits", 4, 2)
    assert report.faults["a venue that is not in the list"].first == [4]
    assert report.faults["no venue"].first == [5]


def test_absurd_times_and_sparse_pings_are_told(tmp_path: Path) -> None:
    lines = [f"u{who},t,{hour * 3600},10.0{hour},50.01" for who in range(4) for hour in range(3)]
    text = "\n".join(["user,trajectory,time_s,lon,lat", *lines, "u9,t,1e14,10.01,50.01", "u9,t,soon,10.01,50.01", ""])
    path = saved(tmp_path, text)
    report = check_data(path)
    assert (report.kind, report.usable) == ("trajectories", 12)
    assert report.usable == read_points(path, releasing=True).size
    assert report.faults["a time_s that is no time in seconds"].first == [14]
    assert report.looks_wrong[0].startswith("trips have 3 points in the median, 3,600 s apart")


def test_parquet_rows_are_numbered_from_one_and_points_may_be_a_column(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(
        pa.table({"user": ["a", None, "b"], "lon": [10.01, 10.02, np.nan], "lat": [50.01, 50.01, 50.01]}), path
    )
    report = check_data(path)
    assert {reason: fault.first for reason, fault in report.faults.items()} == {
        "no user": [2],
        "no lon or lat": [3],
    }
    import geopandas

    frame = pd.DataFrame({"user": ["a", "b"]})
    points = geopandas.points_from_xy([10.01, 10.02], [50.01, 99.0])
    geopandas.GeoDataFrame(frame, geometry=points, crs="EPSG:4326").to_parquet(path)
    assert check_data(path, "positions").faults["a longitude beyond ±180 or a latitude beyond ±90"].first == [2]


def test_columns_may_be_called_otherwise_and_unknown_kinds_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, "who,x,y\nann,10.01,50.01\n")
    report = check_data(path, "positions", called={"user": "who", "lon": "x", "lat": "y"})
    assert report.sound
    with pytest.raises(UsageError, match="use one of positions"):
        check_data(path, "places")
    alone = check_data(saved(tmp_path, "lon,lat\n10.01,50.01\n"))
    assert "--one-row-per-person" in alone.notices[0]


def test_a_geojson_file_is_checked_and_its_refusal_by_a_release_is_said(tmp_path: Path) -> None:
    path = tmp_path / "places.geojson"
    point = {"type": "Point", "coordinates": [10.005, 50.005]}
    feature = {"type": "Feature", "properties": {"user": "a"}, "geometry": point}
    path.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    report = check_data(path)
    assert report.usable == 1
    assert "places.geojson: a release refuses GeoJSON" in report.text()
    with pytest.raises(DataError, match="GeoJSON states no columns"):
        read_rows(path, numbers=("lon", "lat"), names=("user",), releasing=True)
