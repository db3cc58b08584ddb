"""Published formats read for a release: nothing that a line or one of many files holds is refused or changes others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from geodp.errors import DataError
from geodp.tables.loaders import Loader
from geodp.tables.loaders.cabspotting import Cabspotting
from geodp.tables.loaders.geolife import GeoLife
from geodp.tables.loaders.point_lists import PointLists
from geodp.tables.loaders.porto_taxi import PortoTaxi
from geodp.tables.loaders.tdrive import TDrive
from geodp.tables.loaders.trajectories_table import TrajectoriesTable

HEADING = "Geolife trajectory\n" + "a line of heading\n" * 5
PORTO = '"TRIP_ID","TAXI_ID","TIMESTAMP","POLYLINE"\n'
FORMATS: dict[str, tuple[Loader, str, str, list[str], list[str]]] = {
    "cabspotting": (
        Cabspotting(),
        "new_one.txt",
        "",
        [f"37.7{step} -122.4{step} 1 {1211018404 + 60 * step}" for step in range(5)],
        ["37.71 -122.41 2 1211018500", "37.71", "north west 1 1211018500", "37.71 -122.41 1 never", "\0 \0 \0 \0"],
    ),
    "tdrive": (
        TDrive(),
        "1.txt",
        "",
        [f"1,2008-02-02 15:3{step}:00,116.4{step},39.9{step}" for step in range(5)],
        ["1,yesterday,116.4,39.9", "1,2008-02-02 15:36:00,116.4", "1,2008-02-02 15:36:00,999,39.9", ",,,", "\0"],
    ),
    "geolife": (
        GeoLife(),
        "1.plt",
        HEADING,
        [f"39.90{step},116.40{step},0,100,39744.25{step},2008-10-23,06:00:00" for step in range(5)],
        ["39.9,116.4", "north,east,0,100,39744.25,2008-10-23,06:00:00", ",,,,,,", "39.9,116.4,0,100,,,"],
    ),
    "porto_taxi": (
        PortoTaxi(),
        "train.csv",
        PORTO,
        [f'"t{trip}","2000","1372636858","[[-8.61,41.14],[-8.61{trip},41.141],[-8.612,41.142]]"' for trip in range(3)],
        [
            '"t9","2000","1372636858","[[-8.61,41.14],[x,41.15]]"',
            '"t9","2000","soon","[[1,2],[1,3]]"',
            '"t9',
            '"t9","","",""',
        ],
    ),
    "point_lists": (
        PointLists(),
        "trips.dat",
        "",
        [f"#{trip}:\n>0:8.01,53.0{trip};8.02,53.0{trip};8.03,53.0{trip};" for trip in range(1, 4)],
        [">0:8.01,53.01;", "#9:\nwhat", "#9:\n>0:8.01;53.01", "#9:\n>0:a,b;c,d", "hello"],
    ),
    "trajectories_table": (
        TrajectoriesTable(),
        "in.csv",
        "user,trajectory,time_s,lon,lat\n",
        [f"u{who},t,{60 * step},10.0{step},50.0{who}" for who in range(3) for step in range(4)],
        ["gone,t,noon,10.01,50.01", '"gone,t,0,10.01,50.01', "gone,t,0", "gone,t,0,10.01,95", ",t,0,10.01,50.01", "\0"],
    ),
}


def loaded(loader: Loader, path: Path) -> list[dict[str, Any]]:
    return [row for batch in loader.load(path, total=True) for row in batch.to_pylist()]


@pytest.mark.parametrize("kind", FORMATS)
def test_lines_that_cannot_be_read_change_nothing(tmp_path: Path, kind: str) -> None:
    loader, name, heading, sound, odd = FORMATS[kind]
    path = tmp_path / name
    path.write_text(heading + "\n".join([*sound, ""]))
    clean = loaded(loader, path)
    assert clean
    assert clean == [row for batch in loader.load(path) for row in batch.to_pylist()], "as it is read otherwise"
    for line in odd:
        for place in (0, 1, len(sound)):
            path.write_text(heading + "\n".join([*sound[:place], line, *sound[place:], ""]))
            assert loaded(loader, path) == clean, (line, place)
    path.write_bytes((heading + "\n".join([*sound, ""])).encode() + b"\xff\xfe\xff\n")
    assert loaded(loader, path) == clean


@pytest.mark.parametrize("kind", FORMATS)
def test_nothing_usable_is_nothing_and_no_error(tmp_path: Path, kind: str) -> None:
    loader, name, heading, _, odd = FORMATS[kind]
    path = tmp_path / name
    path.write_text(heading + "\n".join([*odd, ""]))
    assert loaded(loader, path) == []
    with pytest.raises(DataError):
        list(loader.load(path))


@pytest.mark.parametrize("kind", ["cabspotting", "tdrive", "geolife"])
def test_one_of_many_files_that_is_none_changes_nothing(tmp_path: Path, kind: str) -> None:
    loader, name, heading, sound, _ = FORMATS[kind]
    (tmp_path / name).write_text(heading + "\n".join([*sound, ""]))
    clean = loaded(loader, tmp_path)
    for content in (b"", b"what is this\n", b"\0\xff" * 50):
        (tmp_path / name.replace("1", "2").replace("one", "two")).write_bytes(content)
        assert loaded(loader, tmp_path) == clean
    for file in tmp_path.iterdir():
        file.unlink()
    assert loaded(loader, tmp_path) == [], "a folder without anybody's file"
