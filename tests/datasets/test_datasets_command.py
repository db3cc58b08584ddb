"""`geodp datasets`: what is known, made-up files, conversion whole or not at all, and a description that is private."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodp.cli.main import main
from geodp.datasets.table_folders import table_folder
from geodp.errors import OutputError, UsageError
from geodp.tables.published_formats import loader_for, loaders
from tests.tables.loaders.test_visit_loaders import SNAP, TSMC, write


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as done:
        main(["datasets", *map(str, words)])
    return int(done.value.code or 0)


def test_list_says_how_to_get_each_set_and_what_it_becomes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list") == 0
    text = capsys.readouterr().out
    for words in ("gowalla", "brightkite", "foursquare_nyc", "generated_visits", "sample_positions", "snap_checkins"):
        assert words in text
    assert "get: SNAP" in text
    assert "becomes visits: user" in text


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_made_visits_follow_from_the_seed_and_can_be_published(tmp_path: Path, ending: str) -> None:
    sizes = ("--people", 20, "--visits", 5, "--venues", 60, "--as", ending)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run("make", "--out", tmp_path / name, "--seed", seed, *sizes) == 0
    first, again, other = ((tmp_path / name / f"visits.{ending}").read_bytes() for name in "abc")
    assert first == again != other
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    visits, venues = (read(tmp_path / "a" / f"{name}.{ending}") for name in ("visits", "venues"))
    assert list(visits.columns) == ["user", "venue", "time_s"]
    assert list(venues.columns) == ["venue", "lon", "lat", "city", "district", "street", "category"]
    assert set(visits["venue"]) <= set(venues["venue"])
    made = {name: str(tmp_path / "a" / f"{name}.{ending}") for name in ("visits", "venues")}
    words = ["--level", "district", "--epsilon", "1", "--cap", "10", "--out", str(tmp_path / "out.csv")]
    with pytest.raises(SystemExit) as done:
        main(["publish", "visits", made["visits"], "--venues", made["venues"], *words])
    assert not done.value.code


def test_convert_writes_visits_and_the_venues_where_they_were_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = TSMC.replace("470", "471").replace("40.7198", "40.7298")
    source = write(tmp_path / "dataset_TSMC2014_NYC.txt", [TSMC, moved, TSMC, "half a line"])
    assert run("convert", source, "--out", tmp_path / "nyc") == 0
    assert sorted(path.name for path in (tmp_path / "nyc").iterdir()) == [
        "dropped.json",
        "venues.parquet",
        "visits.parquet",
    ]
    visits, venues = (pd.read_parquet(tmp_path / "nyc" / f"{name}.parquet") for name in ("visits", "venues"))
    assert visits["user"].tolist() == ["470", "471"]
    assert venues.to_dict("records") == [
        {"venue": "49bbd6c0f964a520f453", "lon": -74.0026, "lat": 40.7198, "category": "Café"}
    ]
    dropped = json.loads((tmp_path / "nyc" / "dropped.json").read_text(encoding="utf-8"))
    assert dropped["reasons"] == {"another number of columns": 1, "the same as an earlier row": 1}
    assert dropped["notes"] == {"a venue more than 100 m from where it was stated first": 1}
    assert dropped["stamp"].startswith("private")
    assert "2 of 4 rows kept, read as foursquare_tsmc2014" in capsys.readouterr().out
    assert run("convert", source, "--out", tmp_path / "nyc") == 2
    assert "exists already" in capsys.readouterr().err
    assert run("convert", source, "--out", tmp_path / "nyc", "--force", "--as", "csv") == 0
    assert pd.read_csv(tmp_path / "nyc" / "visits.csv")["user"].tolist() == [470, 471]


@pytest.mark.parametrize(
    ("name", "lines", "words", "message"),
    [
        ("x_totalCheckins.txt", ["a,b"] * 3, (), "cannot be used"),
        ("x_totalCheckins.txt", [*SNAP, *[TSMC] * 9], (), "another number of columns"),
        ("x.txt", SNAP, (), "its name tells no format. Name one with --format"),
        ("x.txt", SNAP, ("--format", "snap_checkin"), "Did you mean 'snap_checkins'"),
        ("x_totalCheckins.txt", SNAP, ("--set", "regions=1"), "regions"),
        ("x_totalCheckins.txt", SNAP, ("--as", "xlsx"), "use one of parquet, csv"),
        ("x_totalCheckins.txt.gz", SNAP * 500, (), "cannot be read to its end"),
    ],
)
def test_what_cannot_be_converted_leaves_nothing_behind(
    tmp_path: Path,
    name: str,
    lines: list[str],
    words: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = write(tmp_path / name, lines)
    if name.endswith(".gz"):
        source.write_bytes(source.read_bytes()[:-20])
    assert run("convert", source, "--out", tmp_path / "out", *words) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_describe_counts_and_says_that_the_numbers_are_private(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path / "a_totalCheckins.txt", [*SNAP, SNAP[0], SNAP[0].replace("2010-10-19", "2009-01-01")])
    assert run("describe", source, "--json", tmp_path / "facts.json") == 0
    text = capsys.readouterr().out
    assert text.startswith("PRIVATE: exact numbers")
    facts = json.loads((tmp_path / "facts.json").read_text(encoding="utf-8"))
    assert (facts["rows"], facts["users"], facts["venues"], facts["rows_in_file"]) == (5, 2, 4, 6)
    assert (facts["first_time"], facts["last_time"]) == ("2009-01-01T23:55:27+00:00", "2010-10-19T23:55:27+00:00")
    assert facts["box"] == [-97.79514, 30.235909, -97.749395, 30.269103]
    assert facts["rows_per_user"] == {"0": 2.0, "0.25": 2.25, "0.5": 2.5, "0.75": 2.75, "0.95": 2.95, "1": 3.0}
    assert facts["left_out"] == {"the same as an earlier row": 1}


def test_describe_measures_laws_of_movement_and_calls_them_private(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"a,v{number % 2},{number * 86400},{2 + 0.01 * (number % 2)},48" for number in range(12)]
    source = write(tmp_path / "visits.csv", ["user,venue,time_s,lon,lat", *rows])
    assert run("describe", source, "--laws", "--zone", "Europe/Paris", "--json", tmp_path / "facts.json") == 0
    text = capsys.readouterr().out
    assert text.startswith("PRIVATE: exact numbers")
    assert "jump, median: 0.744" in text  # 0.01 degrees at 48 degrees north
    found = json.loads((tmp_path / "facts.json").read_text(encoding="utf-8"))["laws_of_movement"]
    assert found["visits_by_hour"][1] == 12  # midnight in UTC
    assert (found["laws"]["wait_p50_h"], found["laws"]["entropy_uncorrelated_bits"]) == (24.0, 1.0)
    assert run("describe", source, "--laws", "--zone", "Mars/Base") == 2
    assert "no time zone 'Mars/Base'" in capsys.readouterr().err
    timeless = write(tmp_path / "timeless.csv", ["user,venue,lon,lat", "a,v,2,48"])
    assert run("describe", timeless, "--laws") == 2
    assert "need rows with a time and a place" in capsys.readouterr().err
    timed = write(tmp_path / "timed.csv", ["user,venue,time_s", "a,v,0", "a,w,3600", "a,unlisted,7200"])
    listed = write(tmp_path / "list.csv", ["venue,lon,lat", "v,2,48", "w,2.01,48"])
    assert run("describe", timed, "--laws", "--venues", listed) == 0
    assert "of 2 visits of 1 people" in capsys.readouterr().out


def test_describe_reads_what_make_and_convert_write(tmp_path: Path) -> None:
    assert run("make", "--out", tmp_path / "made", "--people", 5, "--visits", 5, "--venues", 20) == 0
    assert run("describe", tmp_path / "made" / "visits.parquet") == 0
    source = write(tmp_path / "a_totalCheckins.txt", SNAP)
    assert run("convert", source, "--out", tmp_path / "out", "--as", "csv") == 0
    assert run("describe", tmp_path / "out" / "visits.csv", "--json", tmp_path / "facts.json") == 0
    facts = json.loads((tmp_path / "facts.json").read_text(encoding="utf-8"))
    assert (facts["format"], facts["rows"], facts["venues"]) == ("visits_table", 4, 4)


@pytest.mark.parametrize("name", ["nowhere", "nowhere.csv", "nowhere_totalCheckins.txt"])
@pytest.mark.parametrize("command", ["convert", "describe"])
def test_a_file_that_is_not_there_is_called_that(
    tmp_path: Path, command: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", tmp_path / "out") if command == "convert" else ()
    assert run(command, tmp_path / name, *out) == 2
    assert "no such file" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("region", "message"), [("1,2,3", "write west,south,east,north"), ("3,2,1,4", "west (3) must be less than east")]
)
def test_trips_are_made_up_in_a_sound_region_only(
    tmp_path: Path, region: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("make", "--out", tmp_path / "out", "--trips", "5", f"--region={region}") == 2
    said = capsys.readouterr().err
    assert message in said
    assert "charged" not in said
    assert not list(tmp_path.iterdir())


def test_the_name_of_a_file_tells_its_format() -> None:
    for name, kind in [
        ("loc-gowalla_totalCheckins.txt.gz", "snap_checkins"),
        ("dataset_TSMC2014_TKY.txt", "foursquare_tsmc2014"),
        ("mine.csv", "visits_table"),
    ]:
        assert loader_for(Path(name), None, {}).kind == kind
    with pytest.raises(UsageError, match="its name tells no format"):
        loader_for(Path("mine.xml"), None, {})


def test_a_folder_with_other_things_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(OutputError, match=r"'thesis\.tex'"), table_folder(tmp_path / "out", force=True) as folder:
        (folder / "visits.csv").write_text("user\n", encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "thesis.tex").is_file()


def test_every_published_set_names_where_to_get_it() -> None:
    for cls in loaders().values():
        for one in cls.datasets:
            assert one.what
            assert one.get
    assert np.unique([one.name for cls in loaders().values() for one in cls.datasets]).size >= 4


def test_trips_are_made_converted_and_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("make", "--trips", 60, "--people", 10, "--points", 8, "--out", tmp_path / "made") == 0
    file = tmp_path / "made" / "trajectories.parquet"
    assert run("describe", file) == 0
    text = capsys.readouterr().out
    assert "trajectories: 60" in text
    assert "rows: 480" in text
    assert run("convert", file, "--set", "every_s=30", "--as", "csv", "--out", tmp_path / "csv") == 0
    assert "read as trajectories_table" in capsys.readouterr().out
    found = pd.read_csv(tmp_path / "csv" / "trajectories.csv")
    assert list(found) == ["user", "trajectory", "time_s", "lon", "lat"]


def test_a_track_that_cannot_be_read_leaves_nothing_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "half.dat"
    broken.write_text("#0:\n>0:10,50;10.01,50\n" * 3000 + "#1:\n")
    assert run("convert", broken, "--out", tmp_path / "out") == 2
    assert "breaks off" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["half.dat"]
