"""`geodp publish trajectories`: a csv of one's own, release mode, public inputs, bad input."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodp.cli.main import main
from tests.curator.synthesis.small_town import TOWN, trips
from tests.publish.conftest import with_ledger

BOX = "--region=-0.03,-0.03,0.03,0.03"


@pytest.fixture
def private(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    trips(people=20).frame(TOWN).to_csv(path, index=False)
    return path


def publish(source: Path, *words: str, out: str = "out.csv") -> int:
    with pytest.raises(SystemExit) as done:
        main(["publish", "trajectories", str(source), "--out", str(source.parent / out), *with_ledger(source, *words)])
    return int(done.value.code or 0)


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "out.geoparquet"])
def test_synthetic_trips_have_the_columns_of_real_ones(private: Path, out: str) -> None:
    assert publish(private, "--epsilon", "1", BOX, "--seed", "1", out=out) == 0
    path = private.parent / out
    told = pd.read_csv(path) if out.endswith("csv") else pd.read_parquet(path)
    assert list(told.columns)[:5] == ["user", "trajectory", "time_s", "lon", "lat"]
    assert told["lon"].between(-0.03, 0.03).all()
    assert told["lat"].between(-0.03, 0.03).all()
    real = pd.read_csv(private)
    assert not set(told["lon"]) & set(real["lon"])
    assert not set(told["user"]) & set(real["user"])
    assert (told.groupby("trajectory", sort=False)["time_s"].diff().dropna() >= 0).all()
    stated = json.loads((private.parent / f"{out}.guarantee.json").read_text(encoding="utf-8"))
    assert stated["guarantee"]["unit"] == "user"
    assert stated["charged"]["epsilon"] == 1.0
    assert sum(stated["settings"]["epsilon_of_parts"].values()) == pytest.approx(1.0)
    assert stated["settings"]["trajectories_per_person"] == 10  # the default that was used
    assert not stated["releasable"]


def test_columns_may_be_called_otherwise(private: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish(private, "--epsilon", "1", BOX) == 0
    names = {"user": "driver", "trajectory": "trip", "time_s": "t", "lon": "lng", "lat": "y"}
    other = private.parent / "other.csv"
    pd.read_csv(private).rename(columns=names).to_csv(other, index=False)
    assert publish(other, "--epsilon", "1", BOX, out="same.csv") == 2
    assert "no column 'lat'" in capsys.readouterr().err
    assert publish(other, "--epsilon", "1", BOX, "--column", "lat=y", out="same.csv") == 0
    assert "column 'driver' is taken for whose a row is" in capsys.readouterr().err
    assert (private.parent / "same.csv").read_bytes() == (private.parent / "out.csv").read_bytes()
    words = [word for part, name in names.items() for word in ("--column", f"{part}={name}")]
    assert publish(other, "--epsilon", "1", BOX, *words, "--force", out="same.csv") == 0
    assert (private.parent / "same.csv").read_bytes() == (private.parent / "out.csv").read_bytes()
    assert publish(other, "--epsilon", "1", BOX, *words, "--format", "tdrive", "--force") == 2
    assert "tdrive has its own" in capsys.readouterr().err


def test_taxi_trips_of_porto_are_known_by_their_columns(tmp_path: Path) -> None:
    line = '"{0}","C",,,{1},1372636858,"A","False","[[-8.61,41.14],[-8.62,41.15],[-8.6{0},41.16]]"\n'
    head = "TRIP_ID,CALL_TYPE,ORIGIN_CALL,ORIGIN_STAND,TAXI_ID,TIMESTAMP,DAY_TYPE,MISSING_DATA,POLYLINE\n"
    path = tmp_path / "trips of july.csv"
    path.write_text(head + "".join(line.format(number, number % 3) for number in range(1, 9)), encoding="utf-8")
    assert publish(path, "--epsilon", "50", "--region=-8.7,41.1,-8.5,41.2") == 0
    assert (pd.read_csv(tmp_path / "out.csv")["lon"] < -8.5).all()


def test_point_lists_in_metres_need_their_origin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "brinkhoff.dat"
    path.write_text("".join(f"#{n}:\n>0:{200 + n},300;{900 + n},800;\n" for n in range(9)), encoding="utf-8")
    assert publish(path, "--epsilon", "50", BOX) == 2
    assert "--read origin=0,0" in capsys.readouterr().err
    assert publish(path, "--epsilon", "50", BOX, "--read", "origin=0,0") == 0
    assert publish(path, "--epsilon", "50", BOX, "--read", "orign=0,0", out="b.csv") == 2
    assert "--read for point_lists" in capsys.readouterr().err


def test_equal_seeds_give_equal_files(private: Path) -> None:
    for out in ("one.csv", "two.csv"):
        assert publish(private, "--epsilon", "1", BOX, "--seed", "5", out=out) == 0
    assert (private.parent / "one.csv").read_bytes() == (private.parent / "two.csv").read_bytes()


def test_trips_one_by_one_cost_a_person_epsilon_times_the_cap(private: Path) -> None:
    assert publish(private, "--epsilon", "0.5", "--unit", "trajectory", "--cap", "4", BOX) == 0
    stated = json.loads((private.parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert stated["guarantee"]["unit"] == "trajectory"
    assert stated["charged"]["epsilon"] == 2.0


@pytest.mark.parametrize("method", ["synthetic_trips", "dpt", "grid_markov", "ngram"])
def test_every_split_of_epsilon_is_in_the_ledger(private: Path, method: str) -> None:
    ledger = private.parent / "spent.csv"
    for _ in range(2):
        options = ("--unit", "person", "--method", method, "--ledger", str(ledger), "--force")
        assert publish(private, "--epsilon", "1.3", *options, BOX) == 0
    rows = pd.read_csv(ledger, comment="#")
    stated = json.loads((private.parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    parts = stated["settings"]["epsilon_of_parts"]
    assert list(rows["scope"]) == 2 * [f"everyone, simulated: {part}" for part in parts]
    assert rows["epsilon"].tolist() == pytest.approx(2 * list(parts.values()))
    assert set(rows["mechanism"]) == {method}
    assert rows["total"].iloc[-1] == 2.6
    assert rows["total"].iloc[len(parts) - 1] == 1.3


def test_a_variant_of_version_0_1_gives_what_its_method_gives(private: Path) -> None:
    options = ("--epsilon", "20", BOX, "--seed", "3", "--set", "most_points=50")
    assert publish(private, *options, out="default.csv") == 0
    for out, words in {"method": ("--method", "synthetic_trips"), "variant": ("--variant", "geodp")}.items():
        assert publish(private, *options, *words, out=f"{out}.csv") == 0
        assert (private.parent / f"{out}.csv").read_bytes() == (private.parent / "default.csv").read_bytes()
    assert publish(private, BOX, "--variant", "none", "--unit", "trajectory", out="none.csv") == 0
    assert publish(private, *options, "--variant", "dpt", "--method", "dpt", out="both.csv") == 2


def geolife(folder: Path, people: int = 4) -> Path:
    """Write a folder as GeoLife publishes it: walks of five minutes and more in the box, one fix out of order."""
    heading = "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"
    rng = np.random.default_rng(0)
    for person in range(people):
        lines = []
        for fix in range(40):
            when = 39744.25 + person / 100 + fix * 10 / 86400
            east, north = 0.0004 * fix - 0.01 + rng.normal(0, 1e-5), 0.0002 * person
            lines.append(f"{north:.6f},{east:.6f},0,492,{when:.10f},2008-10-23,06:00:00\n")
        path = folder / "Data" / f"{person:03d}" / "Trajectory" / "20081023060000.plt"
        path.parent.mkdir(parents=True)
        path.write_text(heading + "".join([*lines, lines[20]]))
    return folder


def test_folders_of_a_published_format_are_read_and_cleaned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = geolife(tmp_path / "walks")
    assert publish(source, "--epsilon", "50", BOX) == 0
    said = capsys.readouterr().out
    assert "Read as geolife." in said
    assert "left out: 4 rows (time goes backwards)" in said
    told = pd.read_csv(tmp_path / "out.csv")
    assert list(told.columns) == ["user", "trajectory", "time_s", "lon", "lat", "releasable"]
    assert publish(next(source.rglob("*.plt")), "--epsilon", "50", BOX, out="one.csv") == 0


def test_a_format_can_be_named_and_must_hold_trajectories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = geolife(tmp_path / "walks")
    assert publish(source, "--epsilon", "50", "--format", "geolife", BOX) == 0
    capsys.readouterr()
    for words, says in (
        (("--format", "snap_checkins"), "reads visits, not trajectories"),
        (("--format", "geolive"), "Did you mean 'geolife'"),
        (("--format", "tdrive"), "holds no file"),
    ):
        assert publish(source, "--epsilon", "50", *words, BOX, out="no.csv") == 2
        error = capsys.readouterr().err
        assert says in error
        assert "Nothing was released, nothing was charged" in error
    (tmp_path / "odd").mkdir()
    assert publish(tmp_path / "odd", "--epsilon", "50", BOX, out="no.csv") == 2
    assert "Name one with --format" in capsys.readouterr().err
    assert not list(tmp_path.glob("no.csv*"))


def without_ledger(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what was said, but for what is left in the ledger."""
    told = capsys.readouterr()
    return "\n".join(line for line in (told.out + told.err).splitlines() if not line.startswith("Ledger"))


@pytest.mark.usefixtures("opendp")
def test_a_release_of_a_published_format_quotes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = geolife(tmp_path / "walks")
    options = ("--epsilon", "50", "--mode", "release", BOX)
    assert publish(source, *options) == 2
    assert "say with --format what the folder holds" in capsys.readouterr().err
    assert publish(source, *options, "--format", "geolife") == 0
    said = without_ledger(capsys)
    assert "left out" not in said
    one, *others = sorted(source.rglob("*.plt"))
    one.write_text("what is this\n")
    assert publish(source, *options, "--format", "geolife", "--force") == 0
    assert without_ledger(capsys) == said, "one person's file that cannot be read"
    for file in others:
        file.write_bytes(b"")
    one.unlink()
    assert publish(source, *options, "--format", "geolife", "--force") == 0
    assert without_ledger(capsys) == said, "nobody's can be read"


def test_without_a_cap_trips_are_charged_one_by_one(private: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = private.parent / "spent.csv"
    options = ("--epsilon", "0.5", "--unit", "trajectory", "--ledger", str(ledger), "--budget", "0.8", BOX)
    assert publish(private, *options) == 0
    said = capsys.readouterr().out
    assert "ε = 0.5 per trip charged, 0.5 spent so far, 0.3 left" in said
    assert "Nothing is promised about all trips of one user together" in said
    rows = pd.read_csv(ledger, comment="#")
    assert set(rows["account"]) == {"trajectory"}
    assert rows["epsilon"].sum() == pytest.approx(0.5)
    before = (private.parent / "out.csv").read_bytes()
    assert publish(private, *options, "--force") == 1
    assert "0.3" in capsys.readouterr().err
    assert (private.parent / "out.csv").read_bytes() == before
    assert len(pd.read_csv(ledger, comment="#")) == len(rows)


@pytest.mark.usefixtures("opendp")
def test_a_release_prints_nothing_private_and_needs_its_region(
    private: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(private, "--epsilon", "1", "--mode", "release") == 2
    assert "--region" in capsys.readouterr().err
    assert publish(private, "--epsilon", "1", "--unit", "trajectory", "--mode", "release", BOX) == 2
    assert "--cap" in capsys.readouterr().err
    assert not (private.parent / "out.csv").exists()
    assert publish(private, "--epsilon", "1", "--mode", "release", "--region=-0.02,-0.02,0.02,0.02") == 0
    said = capsys.readouterr().out
    assert "RELEASABLE" in said
    assert "outside the region" not in said
    assert str(len(pd.read_csv(private))) not in said.replace(",", "")
    stated = json.loads((private.parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert stated["releasable"]


@pytest.mark.usefixtures("opendp")
def test_a_release_quotes_no_first_line_that_may_be_somebodys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.csv"
    path.write_text("Alice,home,08:00:00,E0.01,N0.01\nAlice,home,08:01:00,E0.02,N0.01\n")
    assert publish(path, "--epsilon", "1", BOX, "--mode", "release") == 2
    told = capsys.readouterr().err
    assert "no column 'user'" in told
    assert "Alice" not in told
    assert "E0.01" not in told
    assert {path.name for path in tmp_path.iterdir()} == {"in.csv"}


def test_a_region_read_off_the_data_voids_the_promise(private: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish(private, "--epsilon", "1") == 0
    assert "read off the private data" in capsys.readouterr().err
    stated = json.loads((private.parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert not stated["guarantee"]["holds"]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--unit", "week"], "unit"),
        (["--variant", "magic"], "variant"),
        (["--set", "epsilon=2"], "only one"),
        (["--region", "10,50,10.1,50.1"], "points lies inside the region"),
    ],
)
def test_bad_requests_release_and_charge_nothing(
    private: Path, capsys: pytest.CaptureFixture[str], words: list[str], fault: str
) -> None:
    region = [] if "--region" in words else [BOX]
    assert publish(private, "--epsilon", "1", *region, *words) == 2
    assert fault in capsys.readouterr().err
    assert {path.name for path in private.parent.iterdir()} == {"in.csv"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("user,trajectory,time_s,lon,lat\n", "no rows"),
        ("user,trajectory,lon,lat\na,1,0,0\n", "time_s"),
        ("user,trajectory,time_s,lon,lat\na,1,0,0.01,x\n", "lat"),
        ("", "in.csv"),
    ],
)
def test_bad_files_release_and_charge_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, fault: str
) -> None:
    path = tmp_path / "in.csv"
    path.write_text(text)
    assert publish(path, "--epsilon", "1", BOX) == 2
    assert fault in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"in.csv"}


def test_a_single_point_is_a_trip_too(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("user,trajectory,time_s,lon,lat\na,1,0,0.01,0.01\n")
    assert publish(path, "--epsilon", "1", BOX) == 0
    assert len(pd.read_csv(tmp_path / "out.csv")) >= 1


def test_the_map_shows_synthetic_trips_only(private: Path) -> None:
    page = private.parent / "map.html"
    trips(people=150).frame(TOWN).to_csv(private, index=False)
    assert publish(private, "--epsilon", "100", BOX, "--map", str(page)) == 0
    text = page.read_text(encoding="utf-8")
    assert "Synthetic trips" in text
    made = pd.read_csv(private.parent / "out.csv")["trajectory"].nunique()
    assert f"400 of {made:,} synthetic trips" in text, "what is left out is said"
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert np.char.find(text, "person-0000") < 0


def test_how_many_people_met_is_published_with_the_same_ledger(
    private: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(private, "--method", "meetings", "--epsilon", "1", BOX, "--seed", "1") == 0
    made = pd.read_csv(private.parent / "out.csv")
    assert list(made.columns) == ["met", "people", "releasable"]
    assert len(made) == 21
    stated = json.loads((private.parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert stated["charged"]["epsilon"] == 1.0
    assert stated["guarantee"]["unit"] == "user"
    assert "Each number is wrong by 41 on average" in capsys.readouterr().out
