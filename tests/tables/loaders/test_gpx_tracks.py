from pathlib import Path

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.tables.formats import column_names, read_areas, row_count
from geodp.tables.loaders.gpx import Gpx
from geodp.tables.notices import gather_notices
from geodp.tables.published_formats import loader_for
from geodp.tables.reader import open_table

FIRST_S = 1_714_550_400.0  # 2024-05-01T08:00:00Z


def track(*segments: list[str], waypoint: bool = False) -> str:
    """Write a file of one track, a fix per time of each segment, going north."""
    text = '<wpt lon="10.0" lat="50.0"><name>Home</name></wpt>' if waypoint else ""
    text += "<trk>"
    for number, times in enumerate(segments):
        fixes = (
            f'<trkpt lon="{10 + number / 100}" lat="{50 + step / 1000}"><time>{time}</time></trkpt>'
            for step, time in enumerate(times)
        )
        text += f"<trkseg>{''.join(fixes)}</trkseg>"
    return f"<gpx>{text}</trk></gpx>"


def minutes(hour: int, count: int = 4) -> list[str]:
    return [f"2024-05-01T{hour:02d}:{minute:02d}:00Z" for minute in range(count)]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_segments_are_trips_and_files_are_people(tmp_path: Path) -> None:
    write(tmp_path / "ann.gpx", track(minutes(8), minutes(9)))
    write(tmp_path / "bob.gpx", track(minutes(8)))
    table = loader_for(tmp_path, None, {}).load(tmp_path).table().to_pandas()
    trips = table.groupby(["user", "trajectory"], sort=False).size()
    assert dict(trips) == {("ann", "ann 1.1"): 4, ("ann", "ann 1.2"): 4, ("bob", "bob 1.1"): 4}
    np.testing.assert_array_equal(table["time_s"][:4], FIRST_S + 60 * np.arange(4))
    np.testing.assert_allclose(table["lat"][:4], 50 + np.arange(4) / 1000)


def test_a_person_may_have_a_folder(tmp_path: Path) -> None:
    for name in ("monday", "tuesday"):
        write(tmp_path / "ann" / f"{name}.gpx", track(minutes(8)))
    table = Gpx(person="folder").load(tmp_path).table().to_pandas()
    assert set(table["user"]) == {"ann"}
    assert table["trajectory"].nunique() == 2


def test_fixes_without_a_time_are_left_out_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "ann.gpx", track([*minutes(8), "soon"], waypoint=True))
    loaded = Gpx().load(path)
    assert loaded.table().num_rows == 4
    assert loaded.dropped.total == 1
    assert list(loaded.dropped.notes.values()) == [1]


def test_a_damaged_file_among_many_changes_no_other_in_a_release(tmp_path: Path) -> None:
    whole = track(minutes(8))
    for name in ("ann", "cid"):
        write(tmp_path / f"{name}.gpx", whole)
    alone = Gpx().load(tmp_path, total=True).table()
    write(tmp_path / "bob.gpx", "<gpx><trk>")
    assert Gpx().load(tmp_path, total=True).table().equals(alone)
    with pytest.raises(DataError, match=r"bob\.gpx: cannot be read as GPX"):
        Gpx().load(tmp_path).table()


def test_a_file_of_tracks_is_a_table_of_trajectories(tmp_path: Path) -> None:
    path = write(tmp_path / "ann.gpx", track(minutes(8), waypoint=True))
    assert column_names(path) == ["user", "trajectory", "time_s", "lon", "lat"]
    with gather_notices() as noticed:
        (batch,) = list(open_table(path, ["user", "trajectory", "time_s", "lon", "lat"]).batches())
    np.testing.assert_array_equal(batch["time_s"], FIRST_S + 60 * np.arange(4))
    assert set(batch["user"].to_pylist()) == {"ann"}
    assert noticed == ["ann.gpx: 1 waypoints beside its tracks and routes are not read."]


def test_a_file_of_waypoints_is_a_list_of_venues(tmp_path: Path) -> None:
    path = write(tmp_path / "cafes.gpx", '<gpx><wpt lon="1" lat="2"><name>Cafe</name></wpt></gpx>')
    assert row_count(path) == 1
    (batch,) = list(open_table(path, ["venue", "lon", "lat"]).batches())
    assert batch["venue"].to_pylist() == ["Cafe"]
    assert (batch["lon"][0], batch["lat"][0]) == (1.0, 2.0)


def test_a_release_refuses_a_single_file_whose_contents_tell_its_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "ann.gpx", track(minutes(8)))
    with pytest.raises(DataError, match="name a folder of such files with --format gpx"):
        open_table(path, ["user", "lon", "lat"], releasing=True)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no track, no route and no waypoint"):
        column_names(write(tmp_path / "a.gpx", "<gpx></gpx>"))


def test_areas_are_outlines_of_tracks(tmp_path: Path) -> None:
    ring = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
    text = "".join(f'<trkpt lon="{x}" lat="{y}"/>' for x, y in ring)
    areas = read_areas(write(tmp_path / "a.gpx", f"<gpx><trk><trkseg>{text}</trkseg></trk></gpx>"))
    assert list(areas["name"]) == ["track 1.1"]
    assert areas.total_bounds.tolist() == [0.0, 0.0, 1.0, 1.0]
