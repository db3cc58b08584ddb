"""Nobody's cleaned trips, and nobody's visits, change with anyone else's data, for every format and option."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.tables.loaders import Loader
from geodp.tables.loaders import tracks as _tracks
from geodp.tables.loaders.cabspotting import Cabspotting
from geodp.tables.loaders.foursquare_tsmc2014 import FoursquareTsmc2014
from geodp.tables.loaders.geolife import GeoLife
from geodp.tables.loaders.point_lists import PointLists
from geodp.tables.loaders.porto_taxi import PortoTaxi
from geodp.tables.loaders.snap_checkins import SnapCheckins
from geodp.tables.loaders.tdrive import TDrive
from geodp.tables.loaders.trajectories_table import TrajectoriesTable
from geodp.tables.loaders.visits_table import VisitsTable
from geodp.tables.trajectories import cleaning
from geodp.tables.trajectories.files import gather_points, read_points
from tests.tables.loaders.test_trajectory_formats import PLT

Rng = np.random.Generator
START_S = 1_213_084_687
ABSURD_S = (0.0, -5e9, 9e10, 4e15, 1e19, 253_402_300_799.0, 1e-9)
REGION = Region(10.0, 50.0, 10.1, 50.1)


@dataclass
class Track:
    """What one person recorded, in the order of the file."""

    user: str
    name: str
    time_s: np.ndarray
    lon: np.ndarray
    lat: np.ndarray

    @property
    def fixes(self) -> list[tuple[float, float, float]]:
        return list(zip(self.time_s.tolist(), self.lon.tolist(), self.lat.tolist(), strict=True))


def track(rng: Rng, user: str, name: str, *, absurd: bool = False) -> Track:
    """Make up a walk with silences, stays, jumps, repeats and rows out of order."""
    count = int(rng.integers(2, 30))
    step_s = rng.choice([1, 5, 60, 300, 2000], count, p=[0.2, 0.3, 0.3, 0.15, 0.05]).astype(float)
    time_s = START_S + rng.integers(0, 9000) + np.cumsum(step_s * (rng.random(count) < 0.9))
    moves = rng.normal(0, 0.0004, (2, count)) * rng.choice([0.0, 1.0, 30.0], count, p=[0.4, 0.55, 0.05])
    lon, lat = 10.05 + np.cumsum(moves[0]), 50.05 + np.cumsum(moves[1])
    if rng.random() < 0.2:
        time_s = time_s[::-1].copy()
    if absurd:
        wrong = rng.random(count) < 0.4
        wrong[-1] = True
        time_s[wrong] = rng.choice(ABSURD_S, np.count_nonzero(wrong))
        lon[rng.random(count) < 0.2] = rng.choice([0.0, 179.99, -179.99])
        lat[rng.random(count) < 0.2] = rng.choice([0.0, 89.99, -89.99])
    return Track(user, name, time_s, lon, lat)


def crowd(rng: Rng, *, absurd: bool) -> list[Track]:
    """Return tracks of other people, more sane ones than absurd ones, lest the whole file looks wrong."""
    people = [f"o{number}" for number in range(int(rng.integers(1, 9)))]
    return [track(rng, who, str(name), absurd=absurd and name == 0) for who in people for name in range(3)]


def mixed(rng: Rng, own: list[Track], others: list[Track]) -> list[Track]:
    """Return all tracks in a random order in which the own ones keep theirs."""
    turns = rng.permutation([True] * len(own) + [False] * len(others))
    mine, theirs = iter(own), iter(others)
    return [next(mine) if turn else next(theirs) for turn in turns]


def geolife_files(folder: Path, tracks: list[Track], rng: Rng) -> Path:
    for number, each in enumerate(tracks):
        path = folder / "Data" / each.user / "Trajectory" / f"{each.name}.plt"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (f"{lat},{lon},0,0,{25569 + time / 86400:.10f},d,t\n" for time, lon, lat in each.fixes)
        path.write_text(PLT + "".join(lines) + ("bad,line\n" if number % 5 == 4 else ""))
    return folder


def dated(time_s: float) -> str:
    stamp = np.datetime64(int(min(max(time_s, -6e10), 2.5e11)), "s")
    return str(stamp).replace("T", " ")


def tdrive_file(folder: Path, tracks: list[Track], rng: Rng) -> Path:
    """Write the lines of all taxis into one file, mixed."""
    lines = [[f"{each.user},{dated(time)},{lon},{lat}\n" for time, lon, lat in each.fixes] for each in tracks]
    users = [each.user for each in tracks]
    own = [line for user, part in zip(users, lines, strict=True) if user == "me" for line in part]
    theirs = [line for user, part in zip(users, lines, strict=True) if user != "me" for line in part]
    turns = rng.permutation([True] * len(own) + [False] * len(theirs))
    mine, others = iter(own), iter(theirs)
    path = folder / "all.txt"
    path.write_text("".join(next(mine) if turn else next(others) for turn in turns))
    return path


def cab_files(folder: Path, tracks: list[Track], rng: Rng) -> Path:
    for user in dict.fromkeys(each.user for each in tracks):
        own = [fix for each in tracks if each.user == user for fix in each.fixes]
        lines = (f"{lat} {lon} {number // 4 % 2} {time:.0f}\n" for number, (time, lon, lat) in enumerate(own))
        (folder / f"new_{user}.txt").write_text("".join(lines))
    return folder


def porto_file(folder: Path, tracks: list[Track], rng: Rng) -> Path:
    """Write a row per trip; some trips of one taxi share their name."""
    lines = [
        f'{each.name[:1]},{each.user},{each.time_s[0]:.0f},"{[[lon, lat] for _, lon, lat in each.fixes]}"\n'
        for each in tracks
    ]
    path = folder / "train.csv"
    path.write_text("TRIP_ID,TAXI_ID,TIMESTAMP,POLYLINE\n" + "".join(lines))
    return path


def list_file(folder: Path, tracks: list[Track], rng: Rng) -> Path:
    path = folder / "some.dat"
    lists = ((each.user, ";".join(f"{lon},{lat}" for _, lon, lat in each.fixes)) for each in tracks)
    path.write_text("".join(f"#{user}:\n>0:{points};\n" for user, points in lists))
    return path


def table_file(folder: Path, tracks: list[Track], rng: Rng) -> Path:
    """Write rows of all people mixed, times of some people as dates, and cells that hold nothing of use."""
    rows: list[tuple[Any, ...]] = []
    for each in tracks:
        as_dates = each.user != "me" and rng.random() < 0.3
        rows += [(each.user, each.name, dated(t) if as_dates else t, lon, lat) for t, lon, lat in each.fixes]
    own, others = [row for row in rows if row[0] == "me"], [row for row in rows if row[0] != "me"]
    others += [("o0", "NA", "when?", "east", 50.05), ("1e5", "nan", "", 10.05, 50.05)] if others else []
    turns = rng.permutation([True] * len(own) + [False] * len(others))
    mine, theirs = iter(own), iter(others)
    frame = pd.DataFrame([next(mine) if turn else next(theirs) for turn in turns])
    frame.columns = ["user", "trajectory", "time_s", "lon", "lat"]
    frame.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


CLEANING: list[dict[str, Any]] = [
    {},
    {"every_s": 7.0},
    {"every_s": 30.0, "gap_s": None, "stay_s": None, "max_speed_mps": None},
    {"gap_s": 100.0, "stay_s": 60.0, "stay_m": 50.0, "least_points": 3},
    {"stay_s": 120.0, "gap_s": None, "max_speed_mps": 5.0, "least_points": 1},
    {"region": "10.0,50.0,10.1,50.1", "stay_s": 60.0, "every_s": 20.0, "gap_s": 500.0},
]
FORMATS: dict[str, tuple[type[Loader], Callable[[Path, list[Track], Rng], Path]]] = {
    "geolife": (GeoLife, geolife_files),
    "tdrive": (TDrive, tdrive_file),
    "cabspotting": (Cabspotting, cab_files),
    "porto_taxi": (PortoTaxi, porto_file),
    "point_lists": (PointLists, list_file),
    "trajectories_table": (TrajectoriesTable, table_file),
}


def mine(loader: Loader, path: Path) -> pd.DataFrame:
    parts: list[pa.RecordBatch] = []
    try:
        parts.extend(loader.load(path))
    except DataError as error:
        assert "no trip is left" in str(error)
    frame = pa.Table.from_batches(parts).to_pandas() if parts else pd.DataFrame({"user": []})
    return frame[frame["user"] == "me"].reset_index(drop=True)


@pytest.mark.parametrize("fields", CLEANING, ids=lambda fields: "-".join(fields) or "default")
@pytest.mark.parametrize("kind", FORMATS)
def test_nobodys_trips_change_with_anyone_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, fields: dict[str, Any]
) -> None:
    monkeypatch.setattr(_tracks, "_ROWS_AT_ONCE", 40)  # batches end in other places with other people
    cls, write = FORMATS[kind]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        own = [track(rng, "me", str(number)) for number in (1, 1, 12)]
        seen = []
        for case, others in enumerate(([], crowd(rng, absurd=False), crowd(rng, absurd=True))):
            folder = tmp_path / f"{seed}-{case}"
            folder.mkdir()
            seen.append(mine(cls.model_validate(fields), write(folder, mixed(rng, own, others), rng)))
        for other in seen[1:]:
            pd.testing.assert_frame_equal(seen[0], other, check_exact=True)


def test_nobodys_trips_change_when_points_are_gathered_and_clipped(tmp_path: Path) -> None:
    """The plain reader: sorting, repeated times, the region, the cap."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        own = [track(rng, "me", str(number)) for number in range(4)]
        seen = []
        for case, others in enumerate(([], crowd(rng, absurd=False), crowd(rng, absurd=True))):
            path = tmp_path / f"{seed}-{case}.csv"
            rows = [(each.user, each.name, *fix) for each in mixed(rng, own, others) for fix in each.fixes]
            frame = pd.DataFrame(rows, columns=["user", "trajectory", "time_s", "lon", "lat"])
            frame[frame["time_s"].abs() < 1e11].to_csv(path, index=False)
            trips, _ = read_points(path).within(REGION)
            kept = trips.keep_at_most(2, b"key")
            numbers = np.flatnonzero(kept.people[kept.person] == "me")
            points = np.concatenate([np.arange(kept.first[i], kept.first[i + 1]) for i in numbers])
            names = [] if kept.names is None else [str(name) for name in kept.names[numbers]]
            seen.append((names, kept.time_s[points].tolist(), kept.x_m[points].tolist(), kept.y_m[points].tolist()))
        assert seen[0] == seen[1] == seen[2]


def test_an_absurd_time_moves_no_other_trip() -> None:
    """Once a common clock for all tracks: 1e15 s in one of them left the others no digits for seconds."""
    ordinary = np.array([0.0, 0.3, 0.9, 1.7])
    first, place = np.array([0, 4, 6]), np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    for late_s in (10.0, 1e15, 1e300):
        time_s = np.append(ordinary, [0.0, late_s])
        offset, at, lon, lat = cleaning.resample_tracks(first, time_s, place, place, 0.5)
        np.testing.assert_array_equal(at[: offset[1]], [0.0, 0.5, 1.0, 1.5, 1.7])
        np.testing.assert_allclose(lon[: offset[1]], np.interp([0, 0.5, 1, 1.5, 1.7], ordinary, place[:4]), rtol=1e-15)
        np.testing.assert_array_equal(lon, lat)
        stays = cleaning.cut_at_stays(first, time_s, place, place, stay_m=10.0, stay_s=0.4)
        assert stays.kept[:4].tolist() == [True, False, False, True]
    assert offset[2] - offset[1] == 2, "a trip of 1e300 s keeps its own fixes"


def foursquare_line(user: str, venue: str, time_s: float, lon: object, lat: object) -> str:
    when = pd.Timestamp(int(time_s), unit="s").strftime("%a %b %d %H:%M:%S +0000 %Y")
    return f"{user}\t{venue}\tx\tBar\t{lat}\t{lon}\t-240\t{when}\n"


def snap_line(user: str, venue: str, time_s: float, lon: object, lat: object) -> str:
    return f"{user}\t{pd.Timestamp(int(time_s), unit='s').strftime('%Y-%m-%dT%H:%M:%SZ')}\t{lat}\t{lon}\t{venue}\n"


def visit_line(user: str, venue: str, time_s: float, lon: object, lat: object) -> str:
    when: object = pd.Timestamp(int(time_s), unit="s") if user in ("me", "o1") else time_s
    return f"{user},{venue},{when},{lon},{lat}\n"


VISITS: dict[str, tuple[Loader, str, str, Callable[..., str]]] = {
    "foursquare": (FoursquareTsmc2014(), "dataset_TSMC2014_NYC.txt", "", foursquare_line),
    "foursquare_local": (
        FoursquareTsmc2014(local_time=True, region="10,50,10.1,50.1"), "a.txt", "", foursquare_line,
    ),
    "snap": (SnapCheckins(region="10,50,10.1,50.1"), "checkins.txt", "", snap_line),
    "table": (VisitsTable(time_zone="Europe/Vienna"), "visits.csv", "user,venue,time_s,lon,lat\n", visit_line),
}  # fmt: skip


@pytest.mark.parametrize("kind", VISITS)
def test_nobodys_visits_change_with_anyone_elses(tmp_path: Path, kind: str) -> None:
    loader, name, heading, line = VISITS[kind]
    for seed in range(10):
        rng = np.random.default_rng(seed)

        def visits(rng: Rng, user: str, *, odd: bool = False) -> list[str]:
            rows = [
                line(user, f"v{rng.integers(9)}", START_S + rng.integers(99), *rng.uniform([10, 50], [10.1, 50.1]))
                for _ in range(int(rng.integers(1, 20)))
            ]
            wrong = [line(user, "v1", -5e9, "far", "+50.05"), line("2", "Ünïcode", 2e11 if "t" in kind else 5, 0, 0)]
            return rows + (wrong if odd else []) + rows[:1]

        own, seen = visits(rng, "me"), []
        for case, company in enumerate(([], ["o1", "o2"], ["o1", "o2", "o3"])):
            others = [row for who in company for row in visits(rng, who, odd=case == 2)]
            turns = rng.permutation([True] * len(own) + [False] * len(others))
            mine_, theirs = iter(own), iter(others)
            path = tmp_path / f"{seed}-{case}" / name
            path.parent.mkdir()
            path.write_text(heading + "".join(next(mine_) if turn else next(theirs) for turn in turns))
            seen.append(mine(loader, path))
        for other in seen[1:]:
            pd.testing.assert_frame_equal(seen[0], other, check_exact=True)
    assert len(seen[0])


def test_points_of_a_loader_are_gathered_person_by_person(tmp_path: Path) -> None:
    """Parts of a trip get names that depend on that trip alone."""
    rng = np.random.default_rng(3)
    own, seen = [track(rng, "me", "1") for _ in range(3)], []
    for case, others in enumerate((crowd(rng, absurd=False), crowd(rng, absurd=True))):
        folder = tmp_path / str(case)
        folder.mkdir()
        batches = PortoTaxi(gap_s=30.0).load(porto_file(folder, mixed(rng, own, others), rng))
        parts = (
            {"user": b.column(0), "trajectory": b.column(1)}
            | {name: b.column(name).to_numpy() for name in ("time_s", "lon", "lat")}
            for b in batches
        )
        points = gather_points(folder, parts)
        kept = points.people[points.person] == "me"
        seen.append((points.labels[points.label[kept]].tolist(), points.time_s[kept].tolist()))
    assert seen[0] == seen[1]
