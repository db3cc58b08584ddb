"""`geodp.publish.counts | visits | positions | trajectories`: what the commands do, on frames."""

import json
import warnings
from pathlib import Path
from typing import Any

import folium
import geopandas
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import geodp
from geodp.cli.main import app
from geodp.errors import BudgetSpent, DataError, DataWarning, OutputError, UsageError

BOX = (10.0, 50.0, 10.08, 50.05)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def make_venues(number: int = 12) -> pd.DataFrame:
    """Return a public list of venues."""
    rng = np.random.default_rng(5)
    lon, lat = rng.uniform(10.01, 10.07, number), rng.uniform(50.01, 50.04, number)
    return pd.DataFrame({"venue": [f"v{one}" for one in range(number)], "lon": lon, "lat": lat})


def make_visits(users: int = 30) -> pd.DataFrame:
    """Return who was where."""
    rng = np.random.default_rng(6)
    return pd.DataFrame(
        {"user": [f"u{one % users}" for one in range(90)], "venue": [f"v{one}" for one in rng.integers(0, 12, 90)]}
    )


def make_positions(users: int = 30) -> pd.DataFrame:
    """Return where everyone is."""
    rng = np.random.default_rng(7)
    lon, lat = rng.uniform(10.01, 10.07, users), rng.uniform(50.01, 50.04, users)
    return pd.DataFrame({"user": [f"u{one}" for one in range(users)], "lon": lon, "lat": lat})


def make_trips(users: int = 30) -> pd.DataFrame:
    """Return a trip of everyone."""
    starts, steps = make_positions(users), []
    for step in range(4):
        moved = starts.assign(lon=starts["lon"] + 0.002 * step, time_s=60.0 * step, trajectory=starts["user"])
        steps.append(moved)
    return pd.concat(steps, ignore_index=True)


def publish_by_command(kind: str, frame: pd.DataFrame, *options: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the table and the guarantee file that the command makes of the frame as a file."""
    folder = Path("by_command")
    folder.mkdir()
    frame.to_parquet(folder / "in.parquet")
    make_venues().to_csv(folder / "venues.csv", index=False)
    out = folder / "out.parquet"
    arguments = ["publish", kind, str(folder / "in.parquet"), "--out", str(out), *options]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.output
    return pd.read_parquet(out), json.loads(Path(f"{out}.guarantee.json").read_text(encoding="utf-8"))


CASES: dict[str, tuple[Any, dict[str, Any], tuple[str, ...]]] = {
    "counts": (make_visits, {"epsilon": 0.69, "cap": 5}, ("--epsilon", "0.69", "--cap", "5")),
    "visits": (make_visits, {"epsilon": 1.0, "cap": 5}, ("--epsilon", "1", "--cap", "5")),
    "positions": (make_positions, {"epsilon": 0.01, "cap": 1}, ("--epsilon", "0.01", "--cap", "1")),
    "trajectories": (make_trips, {"epsilon": 1.0, "cap": 1}, ("--epsilon", "1", "--cap", "1")),
}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.filterwarnings("ignore::geodp.errors.DataWarning")
def test_a_function_makes_what_its_command_makes(kind: str) -> None:
    make, arguments, options = CASES[kind]
    if kind in ("counts", "visits"):
        arguments, options = arguments | {"venues": make_venues()}, (*options, "--venues", "by_command/venues.csv")
    else:
        arguments, options = arguments | {"region": BOX}, (*options, "--region", "10,50,10.08,50.05")
    table, guarantee = publish_by_command(kind, make(), *options)
    made = getattr(geodp.publish, kind)(make(), out="ours.parquet", **arguments)
    shared = list(made.table.columns)
    pd.testing.assert_frame_equal(made.table, table[shared], check_dtype=False)
    assert made.path is not None
    stated = json.loads(Path("ours.parquet.guarantee.json").read_text(encoding="utf-8"))
    for key in ("mode", "releasable", "mechanism", "guarantee", "sentence", "settings", "charged", "accuracy"):
        assert stated[key] == guarantee[key], key
    assert made.accuracy.text == guarantee["accuracy"]["text"]
    assert made.guarantee.sentence() in guarantee["sentence"]
    assert isinstance(made.map(), folium.Map)
    assert made.ledger == Path("geodp-ledger.json")
    assert str(made.statement.request.source.parent) not in made.text
    assert not made.statement.request.source.exists(), "the private copy is gone"


def test_a_notebook_shows_promise_accuracy_table_and_map() -> None:
    made = geodp.publish.counts(make_visits().replace("v3", "<b>x"), epsilon=1.0, cap=5, venues=make_venues())
    page = made._repr_html_()
    assert "Accuracy: " in page
    assert "<th>count</th>" in page
    assert "<iframe" in page
    assert "<b>x" not in page
    unplaced = geodp.publish.counts(make_visits(), epsilon=1.0, cap=5, venues=make_venues()[["venue"]])
    assert "<iframe" not in unplaced._repr_html_()


def test_a_geodataframe_of_any_crs_is_published_as_its_table_is() -> None:
    table = make_positions()
    places = geopandas.points_from_xy(table["lon"], table["lat"], crs=4326)
    frame = geopandas.GeoDataFrame(table[["user"]], geometry=places).to_crs(32632)
    one = geodp.publish.positions(table, epsilon=0.01, cap=1, region=BOX)
    other = geodp.publish.positions(frame, epsilon=0.01, cap=1, region=BOX)
    assert np.allclose(one.table[["lon", "lat"]], other.table[["lon", "lat"]])
    assert other.to_geodataframe().crs.to_epsg() == 4326
    venues = make_venues()
    placed = geopandas.GeoDataFrame(
        venues[["venue"]], geometry=geopandas.points_from_xy(venues["lon"], venues["lat"], crs=4326)
    )
    counted = geodp.publish.counts(make_visits(), epsilon=1.0, cap=5, venues=placed.to_crs(32632))
    assert np.allclose(counted.table["lon"], venues["lon"])


def test_columns_of_other_names_and_numbers_as_names() -> None:
    visits = pd.DataFrame({"uid": [1, 2, 2], "poi": [10.0, 10.0, 11.0]})
    venues = pd.DataFrame({"id": [10, 11], "x": [10.01, 10.02], "y": [50.01, 50.02]})
    made = geodp.publish.counts(
        visits,
        epsilon=1e6,
        cap=2,
        method="laplace_counts",
        columns={"user": "uid", "venue": "poi"},
        venues=venues,
        venue_columns={"venue": "id", "lon": "x", "lat": "y"},
    )
    assert dict(zip(made.table["venue"], made.table["count"].round(), strict=True)) == {"10": 2.0, "11": 1.0}


def test_the_ledger_adds_up_and_refuses() -> None:
    ask: dict[str, Any] = {"epsilon": 0.6, "cap": 5, "venues": make_venues(), "ledger": "ledger.json"}
    geodp.publish.counts(make_visits(), budget=1.0, **ask)
    with pytest.raises(BudgetSpent, match=r"budget|left|spent"):
        geodp.publish.counts(make_visits(), out="second.csv", **ask)
    assert not Path("second.csv").exists()


def test_a_file_is_taken_as_it_is_and_has_the_ledger_of_its_folder() -> None:
    Path("held").mkdir()
    make_visits().to_csv("held/visits.csv", index=False)
    made = geodp.publish.counts("held/visits.csv", epsilon=1.0, cap=5, venues=make_venues())
    assert made.ledger is not None
    assert made.ledger.resolve() == Path("held/geodp-ledger.json").resolve()


def test_what_is_read_off_private_data_is_warned_of_in_the_words_of_python() -> None:
    with pytest.warns(DataWarning, match="venue list: read off the private data.*venues=…"):
        made = geodp.publish.counts(make_visits(), epsilon=1.0, cap=5)
    assert not made.guarantee.holds
    assert made.warnings


BAD: dict[str, tuple[Any, str, dict[str, Any], str]] = {
    "no epsilon": (make_visits, "counts", {}, "epsilon"),
    "negative epsilon": (make_visits, "counts", {"epsilon": -1}, "epsilon must be a finite number"),
    "no such mode": (make_visits, "counts", {"epsilon": 1, "mode": "relase"}, "mode must be 'simulate' or 'release'"),
    "private venues": (make_visits, "counts", {"epsilon": 1, "venues": make_visits()}, "venues: must be public"),
    "no such part": (make_visits, "counts", {"epsilon": 1, "columns": {"usr": "user"}}, "Did you mean 'user'"),
    "no such column": (make_visits, "counts", {"epsilon": 1, "columns": {"user": "uid"}}, "no column 'uid'"),
    "no columns": (lambda: pd.DataFrame({"a": [1]}), "counts", {"epsilon": 1}, "none of the columns user, venue"),
    "no users": (lambda: make_positions()[["lon", "lat"]], "positions", {"epsilon": 0.1, "cap": 1}, "user"),
    "empty": (lambda: make_visits().iloc[:0], "counts", {"epsilon": 1}, "no visits"),
    "no place": (lambda: make_positions().assign(lon=np.nan), "positions", {"epsilon": 0.1, "cap": 1}, "the data: "),
    "no method": (make_visits, "counts", {"epsilon": 1, "method": "guess"}, "guess"),
    "a number": (lambda: 3, "counts", {"epsilon": 1}, "must be a GeoDataFrame or a DataFrame, got int"),
    "a format for a frame": (make_trips, "trajectories", {"epsilon": 1, "format": "geolife"}, "name it instead"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_frame_or_argument_gets_a_clear_error(case: str) -> None:
    make, kind, arguments, message = BAD[case]
    arguments = arguments | ({"region": BOX} if kind != "counts" else {})
    arguments = arguments | ({"venues": make_venues()} if kind == "counts" and "venues" not in arguments else {})
    with pytest.raises((DataError, UsageError), match=message) as caught:
        getattr(geodp.publish, kind)(make(), **arguments)
    assert "--" not in str(caught.value)
    assert "geodp-frame" not in str(caught.value)
    assert not Path("geodp-ledger.json").exists(), "nothing is charged for an error"


def test_a_frame_without_a_crs_is_refused() -> None:
    table = make_positions()
    frame = geopandas.GeoDataFrame(table[["user"]], geometry=geopandas.points_from_xy(table["lon"], table["lat"]))
    with pytest.raises(UsageError, match=r"frame\.set_crs\(4326\)"):
        geodp.publish.positions(frame, epsilon=0.01, cap=1, region=BOX)


def test_an_unknown_argument_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="'ledgr'.*ledger"):
        geodp.publish.counts(make_visits(), epsilon=1.0, ledgr="x")  # type: ignore[call-arg]


def test_columns_that_are_given_as_arguments_are_told_their_place() -> None:
    with pytest.raises(TypeError, match=r"'user'.*columns=\{'user': 'uid'\}"):
        geodp.publish.counts(make_visits(), epsilon=1.0, user="uid")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"'time'.*columns=\{'time_s': 't'\}"):
        geodp.publish.trajectories(make_visits(), epsilon=1.0, time="t")  # type: ignore[call-arg]


def test_files_are_replaced_by_force_alone() -> None:
    ask: dict[str, Any] = {"epsilon": 1.0, "cap": 5, "venues": make_venues(), "out": "out.csv", "map_file": "map.html"}
    geodp.publish.counts(make_visits(), **ask)
    assert Path("map.html").exists()
    with pytest.raises(OutputError, match="force=True"):
        geodp.publish.counts(make_visits(), **ask)
    assert geodp.publish.counts(make_visits(), force=True, **ask).path == Path("out.csv")


def test_a_release_needs_a_ledger_and_opendp(monkeypatch: pytest.MonkeyPatch) -> None:
    ask: dict[str, Any] = {"epsilon": 1.0, "cap": 5, "venues": make_venues(), "mode": "release"}
    with pytest.raises(UsageError, match="ledger='FILE'"):
        geodp.publish.counts(make_visits(), **ask)
    monkeypatch.setitem(__import__("sys").modules, "opendp", None)
    monkeypatch.setitem(__import__("sys").modules, "opendp.prelude", None)
    with pytest.raises(geodp.GeodpError, match=r"geodp\[release\]|opendp|OpenDP"):
        geodp.publish.counts(make_visits(), ledger="ledger.json", **ask)
    assert not Path("ledger.json").exists()


def test_a_release_is_releasable_silent_and_total() -> None:
    pytest.importorskip("opendp")
    visits = make_visits().astype(object)
    visits.loc[0, "user"] = None
    visits["venue"] = [{"a": 1}, *visits["venue"][1:]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = geodp.publish.counts(
            visits, epsilon=1.0, cap=5, venues=make_venues(), mode="release", ledger="ledger.json"
        )
    assert made.releasable
    assert made.warnings == ()
    assert len(made.table) == 12
