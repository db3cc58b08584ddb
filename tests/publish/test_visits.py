"""`geodp publish visits`: a csv of one's own, release mode, levels with any names, bad input."""

import json
import os
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodp.cli.main import main
from geodp.errors import DataError, UsageError
from geodp.tables.visits.generated_visits import Sizes, generate_histories
from geodp.tables.visits.venue_file import find_nested_columns, read_venues
from tests.publish.conftest import with_ledger


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    histories, venues = generate_histories(Sizes(people=20, visits=10, venues=60), np.random.default_rng(0))
    visits = pd.DataFrame({"user": histories.people[histories.person], "venue": venues.name[histories.venue]})
    visits.to_csv(tmp_path / "in.csv", index=False)
    listed = {"venue": venues.name, "lon": venues.lon, "lat": venues.lat, "category": venues.category}
    levels = {"ward": venues.levels["district"], "town": venues.levels["city"]}
    pd.DataFrame(listed | levels).to_csv(tmp_path / "venues.csv", index=False)
    return tmp_path / "in.csv", tmp_path / "venues.csv"


def publish(files: tuple[Path, Path], *words: str) -> int:
    source, venues = files
    out = source.parent / "out.csv"
    with pytest.raises(SystemExit) as done:
        main(
            ["publish", "visits", str(source), "--venues", str(venues), "--out", str(out), *with_ledger(source, *words)]
        )
    return int(done.value.code or 0)


def test_visits_move_among_listed_venues_and_the_guarantee_says_so(files: tuple[Path, Path]) -> None:
    assert publish(files, "--level", "ward", "--epsilon", "1", "--cap", "10") == 0
    out = files[0].parent / "out.csv"
    told, listed = pd.read_csv(out), pd.read_csv(files[1])
    assert list(told.columns) == ["user", "venue", "lon", "lat", "releasable"]
    assert set(told["venue"]) <= set(listed["venue"])
    assert set(told["user"]) <= set(pd.read_csv(files[0])["user"])
    assert told.equals(told.sort_values(["user", "venue"], kind="stable").reset_index(drop=True))
    place = told.merge(listed, on="venue", suffixes=("", "_listed"))
    assert np.abs(place["lon"] - place["lon_listed"]).max() < 1e-6
    stated = json.loads((files[0].parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert stated["guarantee"]["epsilon"] == 1.0
    assert stated["guarantee"]["unit"] == "event"
    assert stated["per_person"]["epsilon"] == 10.0
    assert stated["charged"]["epsilon"] == 10.0
    assert not stated["releasable"]
    assert stated["public_inputs"]["levels"] == ["town", "ward"]


def test_a_user_at_a_time_costs_epsilon_once(files: tuple[Path, Path]) -> None:
    assert publish(files, "--epsilon", "2", "--cap", "10", "--set", "unit=user") == 0
    stated = json.loads((files[0].parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert stated["per_person"]["epsilon"] == 2.0


def test_without_a_cap_nothing_is_promised_about_a_user(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(files, "--epsilon", "1", "--set", "cap=null") == 0
    stated = json.loads((files[0].parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert stated["guarantee"]["unit"] == "event"
    assert stated["per_person"]["unit"] == "nothing"
    assert stated["charged"] == {"account": "event", "epsilon": 1.0}
    assert "Nothing is promised about all visits of one user together" in capsys.readouterr().out
    assert publish(files, "--epsilon", "1", "--set", "cap=null", "--mode", "release", "--force") == 2
    assert "give --cap N" in capsys.readouterr().err


def test_a_region_chooses_among_the_venues_of_the_list(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    listed = pd.read_csv(files[1])
    middle = listed["lon"].median()
    box = f"--region={middle},{listed['lat'].min() - 0.01},{listed['lon'].max() + 0.01},{listed['lat'].max() + 0.01}"
    assert publish(files, "--epsilon", "1", "--cap", "10", box) == 0
    told = pd.read_csv(files[0].parent / "out.csv")
    assert set(told["venue"]) <= set(listed.loc[listed["lon"] >= middle, "venue"])
    assert "visits are to venues not in the list, left out" in capsys.readouterr().out
    assert publish(files, "--epsilon", "1", "--cap", "10", "--region", "1,2,3,4", "--force") == 2
    assert "no venue of the public list lies inside" in capsys.readouterr().err


def test_a_cap_doubles_the_noise_that_is_stated(files: tuple[Path, Path]) -> None:
    spread = []
    for cap in ("10", "null"):
        assert publish(files, "--epsilon", "1", "--set", f"cap={cap}", "--force") == 0
        stated = json.loads((files[0].parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
        spread.append(stated["accuracy"]["count_noise"])
    assert spread == [pytest.approx(1 / np.sinh(1 / scale), abs=1e-4) for scale in (4.0, 2.0)]


def test_methods_that_are_not_private_are_refused_in_release_mode(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(files, "--epsilon", "1", "--mode", "release", "--set", "variant=literal") == 1
    assert "own places" in capsys.readouterr().err
    assert not (files[0].parent / "out.csv").exists()
    assert not (files[0].parent / "geodp-ledger.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epsilon", "1", "--level", "wart"], "wart"),
        (["--epsilon", "1", "--method", "prilocaton"], "Did you mean 'prilocation'"),
        ([], "give --epsilon"),
        (["--epsilon", "1", "--cap", "0"], "at least 1"),
        (["--epsilon", "1", "--set", "clusters=61"], "61 clusters are more than the 60 venues"),
        (["--epsilon", "1", "--method", "k_anonymous_visits"], "takes no --epsilon"),
    ],
)
def test_bad_input_charges_nothing(
    files: tuple[Path, Path], words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(files, *words) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in files[0].parent.iterdir()) == ["in.csv", "venues.csv"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,venue\nu,\n", "no venue, first in line 2"),
        ("user,venue\nu,elsewhere\n", "no visit names a venue"),
        ("user,shop\nu,a\n", "no column 'venue'"),
        ("user,venue\n", "no visits"),
    ],
)
def test_bad_visits_are_refused(
    files: tuple[Path, Path], text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files[0].write_text(text, encoding="utf-8")
    assert publish(files, "--epsilon", "1") == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("opendp")
def test_release_mode_quotes_nobody_when_a_file_has_no_line_of_names(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    files[0].write_text("alice,clinic\nbob,cafe\n")
    assert publish(files, "--epsilon", "1", "--mode", "release", "--cap", "3") == 2
    told = capsys.readouterr()
    assert not [name for name in ("alice", "bob", "clinic", "cafe") if name in told.out + told.err]
    assert publish(files, "--epsilon", "1", "--cap", "3") == 2
    assert "clinic" in capsys.readouterr().err, "simulating, the message quotes"


def test_users_that_are_not_a_number_are_missing_not_one_person(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A column of numbers has NaN where the user is unknown: several people must not pass as one user called nan."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    venue = pd.read_csv(files[1])["venue"].tolist()[:3]
    source = files[0].with_name("in.parquet")
    pq.write_table(pa.table({"user": np.array([1.0, np.nan, np.nan]), "venue": venue}), source)  # NaN, not null
    assert publish((source, files[1]), "--epsilon", "1", "--cap", "3") == 2
    assert "no user, first in row 2" in capsys.readouterr().err


def test_a_venue_list_with_gaps_swapped_columns_or_none(tmp_path: Path) -> None:
    path = tmp_path / "venues.csv"
    path.write_text("venue,lon,lat\na,40.7,-120.0\n", encoding="utf-8")
    with pytest.raises(DataError, match="lat and lon look swapped"):
        read_venues(path)
    path.write_text("venue,lon,lat\na,,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="no lon or lat"):
        read_venues(path)
    path.write_text("venue,lon\na,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column 'lat'"):
        read_venues(path)
    path.write_text("venue,lon,lat,city\na,1,1,X\nb,1,2,\n", encoding="utf-8")
    from geodp.tables.visits.hierarchy import hierarchy_of

    with pytest.raises(DataError, match="gaps"):
        hierarchy_of(read_venues(path, ["city"]))
    with pytest.raises(UsageError, match="no level 'street'"):
        hierarchy_of(read_venues(path, ["city"]), ["street"])


def test_levels_are_the_columns_that_hold_the_finest_one() -> None:
    columns = {
        "note": np.array(["p", "q", "p", "q"], dtype=np.object_),
        "street": np.array(["a", "b", "c", "c"], dtype=np.object_),
        "city": np.array(["X", "X", "Y", "Y"], dtype=np.object_),
    }
    assert find_nested_columns(columns, "street") == ["city", "street"]
    assert find_nested_columns(columns, None) == ["city", "street"]


def nothing_done(files: tuple[Path, Path]) -> bool:
    return not [path for path in files[0].parent.iterdir() if path.name.startswith("out.")]


def areas_file(files: tuple[Path, Path], *edges: float) -> Path:
    """Write areas side by side between the edges, over the country of the generator, named strip-0, strip-1, …"""
    import geopandas
    from shapely.geometry import box

    shapes = [box(west, 40, east, 60) for west, east in pairwise(edges)]
    names = [f"strip-{number}" for number in range(len(shapes))]
    path = files[0].parent / "areas.geojson"
    geopandas.GeoDataFrame({"name": names}, geometry=shapes, crs="EPSG:4326").to_file(path)
    return path


def test_levels_can_come_from_files_of_areas(files: tuple[Path, Path]) -> None:
    middle = float(pd.read_csv(files[1])["lon"].median())
    path = areas_file(files, 0, middle, 20)
    words = ["--areas", f"half={path}:name", "--level", "half"]
    assert publish(files, "--epsilon", "1", *words) == 0
    stated = json.loads((files[0].parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert stated["public_inputs"]["levels"] == ["half"]
    assert stated["public_inputs"]["areas"] == {"half": "areas.geojson"}


def test_venues_outside_every_area_are_refused_or_left_out(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    listed = pd.read_csv(files[1])
    middle = float(listed["lon"].median())
    path = areas_file(files, middle, 20)
    assert publish(files, "--epsilon", "1", "--areas", f"half={path}:name") == 2
    assert "30 venues lie outside every area" in capsys.readouterr().err
    assert nothing_done(files)
    assert publish(files, "--epsilon", "1", "--areas", f"half={path}:name", "--leave-out") == 0
    told = pd.read_csv(files[0].parent / "out.csv")
    assert set(told["venue"]) <= set(listed.loc[listed["lon"] >= middle, "venue"])


def test_areas_that_overlap_are_refused(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    import geopandas
    from shapely.geometry import box

    path = files[0].parent / "areas.geojson"
    shapes = [box(0, 40, 20, 60), box(10, 40, 20, 60)]
    geopandas.GeoDataFrame({"name": ["a", "b"]}, geometry=shapes, crs="EPSG:4326").to_file(path)
    assert publish(files, "--epsilon", "1", "--areas", f"half={path}:name") == 2
    assert "areas overlap" in capsys.readouterr().err
    assert nothing_done(files)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("half", "write LEVEL=FILE:COLUMN"),
        ("half=missing.geojson:name", "no such file"),
        ("half=in.csv:name", "the areas of level 'half' must be public, and this is the private data"),
        ("half=venues.csv:name", "areas must be polygons|cannot be read as areas"),
        ("half={areas}:code", "no column 'code'"),
    ],
)
def test_bad_areas_are_refused(
    files: tuple[Path, Path],
    text: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(files[0].parent)
    path = areas_file(files, 0, 20)
    assert publish(files, "--epsilon", "1", "--areas", text.format(areas=path)) == 2
    assert re.search(message, capsys.readouterr().err)
    assert nothing_done(files)


def test_a_list_with_gaps_in_a_level_is_refused_or_its_venues_left_out(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    listed = pd.read_csv(files[1])
    listed.loc[:4, ["ward", "town"]] = None
    listed.to_csv(files[1], index=False)
    assert publish(files, "--epsilon", "1", "--level", "ward") == 2
    assert "gaps: 5 venues have no" in capsys.readouterr().err
    assert nothing_done(files)
    assert publish(files, "--epsilon", "1", "--level", "ward", "--leave-out") == 0
    told = set(pd.read_csv(files[0].parent / "out.csv")["venue"])
    assert not told & set(listed["venue"][:5])
    stated = json.loads((files[0].parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert stated["public_inputs"]["levels"] == ["town", "ward"]


def test_columns_may_be_called_otherwise(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    pd.read_csv(files[0]).rename(columns={"user": "uid", "venue": "poi"}).to_csv(files[0], index=False)
    pd.read_csv(files[1]).rename(columns={"venue": "poi", "lon": "x"}).to_csv(files[1], index=False)
    assert publish(files, "--epsilon", "1") == 2
    assert "no column 'lon'. Did you mean 'x'?" in capsys.readouterr().err
    assert nothing_done(files)
    assert publish(files, "--epsilon", "1", "--venue-column", "lon=x") == 0
    told = capsys.readouterr().err
    assert "warning: in.csv: column 'uid' is taken for whose a row is (no column 'user')." in told
    assert "warning: in.csv: column 'poi' is taken for the venue (no column 'venue')." in told
    guessed = (files[0].parent / "out.csv").read_bytes()
    words = ["--column", "user=uid", "--column", "venue=poi", "--venue-column", "venue=poi", "--venue-column", "lon=x"]
    assert publish(files, "--epsilon", "1", *words, "--force") == 0
    assert (files[0].parent / "out.csv").read_bytes() == guessed
    assert list(pd.read_csv(files[0].parent / "out.csv").columns) == ["user", "venue", "lon", "lat", "releasable"]
    assert publish(files, "--epsilon", "1", "--column", "person=uid", "--force") == 2
    assert "PART one of user, venue" in capsys.readouterr().err


def test_users_whose_visits_are_all_elsewhere_get_noise_like_everyone(files: tuple[Path, Path]) -> None:
    """Names are public; whether a user has listed visits is not, so noise alone decides whether rows appear."""
    with files[0].open("a", encoding="utf-8") as file:
        file.write("lonely,elsewhere\n")
    assert publish(files, "--epsilon", "0.1") == 0
    assert "lonely" in set(pd.read_csv(files[0].parent / "out.csv")["user"])


def test_single_users_may_have_levels_of_their_own(files: tuple[Path, Path]) -> None:
    users = sorted(pd.read_csv(files[0])["user"].unique())
    levels = files[0].parent / "levels.csv"
    pd.DataFrame({"user": users[:3], "level": ["town", "", "ward"]}).to_csv(levels, index=False)
    assert publish(files, "--epsilon", "1", "--level", "ward", "--personal-levels", str(levels)) == 0
    stated = json.loads((files[0].parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert stated["settings"]["personal_levels"] == {users[0]: "town", users[2]: "ward"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,level\nnobody,town\n", "nobody is called 'nobody'"),
        ("user,level\nperson-00001,towm\n", "no level called 'towm'. Did you mean 'town'"),
        ("user,level\nperson-00001,town\nperson-00001,ward\n", "two levels"),
        ("user,level\n,town\n", "1 row has no user, first in line 2"),
        ("user,grade\nperson-00001,town\n", "no column 'level'"),
    ],
)
def test_bad_personal_levels_are_refused(
    files: tuple[Path, Path], text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = files[0].parent / "levels.csv"
    levels.write_text(text, encoding="utf-8")
    assert publish(files, "--epsilon", "1", "--personal-levels", str(levels)) == 2
    assert message in capsys.readouterr().err
    assert nothing_done(files)


FOURSQUARE = Path(os.environ.get("GEODP_DATA", "")) / "foursquare_nyc"


@pytest.mark.skipif("GEODP_DATA" not in os.environ, reason="GEODP_DATA is not set: no real data to try on")
def test_real_check_ins_of_new_york_with_boroughs_neighbourhoods_and_tracts(tmp_path: Path) -> None:
    venues = pd.read_csv(FOURSQUARE / "venues.csv.gz")[["poi", "lon", "lat", "category"]]
    units = pd.read_csv(FOURSQUARE / "venue_hierarchy.csv.gz", dtype={"tract": str})
    venues = venues.merge(units[["poi", "borough", "neighbourhood", "tract"]], on="poi", how="left")
    venues.to_csv(tmp_path / "venues.csv", index=False)
    source = FOURSQUARE / "checkins.parquet"
    words = ["--column", "venue=poi", "--venue-column", "venue=poi", "--level", "neighbourhood", "--leave-out"]
    files = (tmp_path / "in.csv", tmp_path / "venues.csv")
    pd.read_parquet(source).to_csv(files[0], index=False)
    assert publish(files, "--epsilon", "1", *words) == 0
    told = pd.read_csv(tmp_path / "out.csv")
    stated = json.loads((tmp_path / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert stated["public_inputs"]["levels"] == ["borough", "neighbourhood"]
    assert set(told["venue"]) <= set(venues.dropna(subset=["borough"])["poi"])
    assert told["user"].nunique() == 1083


def test_places_per_metre_need_no_number_of_clusters(files: tuple[Path, Path]) -> None:
    """The number that follows from a short list of venues has no effect there, and must not be refused."""
    few = pd.read_csv(files[1]).head(12)
    few.to_csv(files[1], index=False)
    assert publish(files, "--epsilon", "0.01", "--set", "variant=geoind_em") == 0
