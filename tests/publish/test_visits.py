"""`geodp publish visits`: a csv of one's own, release mode, levels with any names, bad input."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodp.cli import main
from geodp.errors import DataError, UsageError
from geodp.visits.generated_histories import Sizes, generated_histories
from geodp.visits.venue_file import nested_columns, read_venues


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    histories, venues = generated_histories(Sizes(people=20, visits=10, venues=60), np.random.default_rng(0))
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
        main(["publish", "visits", str(source), "--venues", str(venues), "--out", str(out), *words])
    return int(done.value.code or 0)


def test_visits_move_among_listed_venues_and_the_guarantee_says_so(files: tuple[Path, Path]) -> None:
    assert publish(files, "--level", "ward", "--epsilon", "1", "--cap", "10") == 0
    out = files[0].parent / "out.csv"
    told, listed = pd.read_csv(out), pd.read_csv(files[1])
    assert list(told.columns) == ["user", "venue", "lon", "lat"]
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
    assert stated["charged"] is None
    assert "Nothing is promised about all visits of one user together" in capsys.readouterr().out
    assert publish(files, "--epsilon", "1", "--set", "cap=null", "--mode", "release", "--force") == 2
    assert "give --cap N" in capsys.readouterr().err


def test_a_cap_doubles_the_noise_that_is_stated(files: tuple[Path, Path]) -> None:
    spread = []
    for cap in ("10", "null"):
        assert publish(files, "--epsilon", "1", "--set", f"cap={cap}", "--force") == 0
        stated = json.loads((files[0].parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
        spread.append(stated["accuracy"]["count_noise"])
    assert spread == [4.0, 2.0]


def test_methods_that_are_not_private_are_refused_in_release_mode(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(files, "--epsilon", "1", "--mode", "release", "--set", "variant=literal") == 1
    assert "own places" in capsys.readouterr().err
    assert not (files[0].parent / "out.csv").exists()
    assert not (files[0].parent / "out.csv.ledger.json").exists()


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
        ("user,venue\nu,\n", "no venue, first in row 1"),
        ("user,venue\nu,elsewhere\n", "no visit names a venue"),
        ("user,place\nu,a\n", "no column 'venue'"),
        ("user,venue\n", "no visits"),
    ],
)
def test_bad_visits_are_refused(
    files: tuple[Path, Path], text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files[0].write_text(text, encoding="utf-8")
    assert publish(files, "--epsilon", "1") == 2
    assert message in capsys.readouterr().err


def test_a_venue_list_with_gaps_swapped_columns_or_none(tmp_path: Path) -> None:
    path = tmp_path / "venues.csv"
    path.write_text("venue,lon,lat\na,40.7,-120.0\n", encoding="utf-8")
    with pytest.raises(DataError, match="seem to be swapped"):
        read_venues(path)
    path.write_text("venue,lon,lat\na,,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="no place"):
        read_venues(path)
    path.write_text("venue,lon\na,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column 'lat'"):
        read_venues(path)
    path.write_text("venue,lon,lat,city\na,1,1,X\nb,1,2,\n", encoding="utf-8")
    from geodp.visits.hierarchy import hierarchy_of

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
    assert nested_columns(columns, "street") == ["city", "street"]
    assert nested_columns(columns, None) == ["city", "street"]
