"""`geodp publish counts`: a csv of one's own in both modes, the ledger, what is told, and bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.cli.main import main
from geodp.errors import DataError
from geodp.publish.private_visits import UserNumbering, read_visit_sets, visit_files
from geodp.tables.visits.generated_visits import Sizes, generate_histories
from geodp.tables.visits.venue_file import read_venue_list
from tests.publish.conftest import with_ledger

Files = tuple[Path, Path]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    histories, venues = generate_histories(Sizes(people=60, visits=12, venues=80), np.random.default_rng(0))
    visits = pd.DataFrame({"user": histories.people[histories.person], "venue": venues.name[histories.venue]})
    visits.to_csv(tmp_path / "in.csv", index=False)
    listed = pd.DataFrame({"venue": venues.name, "lon": venues.lon, "lat": venues.lat})
    listed.to_csv(tmp_path / "venues.csv", index=False)
    return tmp_path / "in.csv", tmp_path / "venues.csv"


def publish(files: Files, *words: str, out: str = "out.csv", venues: bool = True) -> int:
    source, listed = files
    public = ["--venues", str(listed)] if venues else []
    return run_cli(
        "publish", "counts", str(source), *public, "--out", str(source.parent / out), *with_ledger(source, *words)
    )


def run_cli(*words: str) -> int:
    with pytest.raises(SystemExit) as done:
        main(list(words))
    return int(done.value.code or 0)


def stated(files: Files, out: str = "out.csv") -> dict[str, object]:
    found: dict[str, object] = json.loads((files[0].parent / f"{out}.guarantee.json").read_text(encoding="utf-8"))
    return found


def left(files: Files) -> set[str]:
    return {path.name for path in files[0].parent.iterdir() if not path.name.endswith(".lock")} - {
        "in.csv",
        "venues.csv",
    }


def exact(files: Files) -> pd.Series:
    """Return the true counts in the order of the list."""
    visits, listed = pd.read_csv(files[0]).drop_duplicates(), pd.read_csv(files[1])
    return visits.groupby("venue").size().reindex(listed["venue"], fill_value=0)


@pytest.mark.parametrize("method", ["grouping_smoothing", "laplace_counts", "fourier_counts", "dpsense", "uniform"])
def test_every_venue_of_the_list_gets_a_count_and_the_guarantee_is_for_a_user(files: Files, method: str) -> None:
    assert publish(files, "--method", method, "--epsilon", "0.69", "--seed", "3") == 0
    told, listed = pd.read_csv(files[0].parent / "out.csv"), pd.read_csv(files[1])
    assert list(told.columns) == ["venue", "count", "lon", "lat", "releasable"]
    assert told["venue"].tolist() == listed["venue"].tolist(), "all of the public list, in its order"
    assert np.isfinite(told["count"]).all()
    promise = stated(files)["guarantee"]
    assert isinstance(promise, dict)
    assert (promise["epsilon"], promise["unit"], promise["neighbours"]) == (0.69, "user", "add_remove")
    assert not stated(files)["releasable"]


def test_with_a_huge_epsilon_the_counts_are_those_of_distinct_users(files: Files) -> None:
    assert publish(files, "--method", "laplace_counts", "--epsilon", "1e9", "--cap", "80") == 0
    told = pd.read_csv(files[0].parent / "out.csv")
    assert told["count"].to_numpy() == pytest.approx(exact(files).to_numpy(), abs=1e-3)


def test_the_same_seed_gives_the_same_file_and_another_does_not(files: Files) -> None:
    for out, seed in (("a.csv", "1"), ("b.csv", "1"), ("c.csv", "2")):
        assert publish(files, "--epsilon", "1", "--seed", seed, out=out) == 0
    first, second, third = ((files[0].parent / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert first == second != third


def test_geojson_geoparquet_and_a_map(files: Files) -> None:
    page = files[0].parent / "map.html"
    assert publish(files, "--epsilon", "1", "--map", str(page), out="out.geojson") == 0
    collection = json.loads((files[0].parent / "out.geojson").read_text(encoding="utf-8"))
    assert len(collection["features"]) == 80
    assert set(collection["features"][0]["properties"]) == {"venue", "count"}
    assert not collection["geodp"]["releasable"]
    assert "Published counts" in page.read_text(encoding="utf-8")
    assert publish(files, "--epsilon", "1", out="out.geoparquet") == 0
    import geopandas

    assert geopandas.read_parquet(files[0].parent / "out.geoparquet").geometry.iloc[0].geom_type == "Point"


@pytest.mark.usefixtures("opendp")
@pytest.mark.parametrize("method", ["grouping_smoothing", "laplace_counts", "fourier_counts", "dpsense", "uniform"])
def test_release_mode_tells_nothing_that_is_not_paid_for(
    files: Files, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(files, "--method", method, "--epsilon", "0.69", "--mode", "release") == 0
    told = capsys.readouterr()
    assert "RELEASABLE" in told.out
    assert stated(files)["releasable"]
    visits = pd.read_csv(files[0])
    for secret in (len(visits), len(visits.drop_duplicates())):
        assert f" {secret:,} " not in told.out + told.err
    assert "repeat" not in told.out
    assert "users have" not in told.out


def test_release_mode_refuses_a_derived_venue_list_and_simulate_mode_warns(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("opendp")
    assert publish(files, "--epsilon", "1", "--mode", "release", venues=False) == 2
    assert "--venues FILE" in capsys.readouterr().err
    assert left(files) == set()
    assert publish(files, "--epsilon", "1", venues=False) == 0
    assert "no privacy guarantee holds" in capsys.readouterr().err
    assert list(pd.read_csv(files[0].parent / "out.csv").columns) == ["venue", "count", "releasable"]
    promise = stated(files)["guarantee"]
    assert isinstance(promise, dict)
    assert not promise["holds"]


def test_what_does_not_keep_its_promise_is_not_released(files: Files) -> None:
    pytest.importorskip("opendp")
    assert publish(files, "--epsilon", "1", "--mode", "release", "--set", "variant=literal") == 1
    assert left(files) == set()
    assert publish(files, "--epsilon", "1", "--set", "variant=literal") == 0


@pytest.mark.usefixtures("opendp")
@pytest.mark.parametrize("mode", ["simulate", "release"])
@pytest.mark.parametrize("method", ["laplace_counts", "dpsense"])
def test_the_mean_error_from_all_visits_is_printed_and_written(
    files: Files, method: str, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(files, "--method", method, "--epsilon", "2", "--mode", mode) == 0
    accuracy = stated(files)["accuracy"]
    assert isinstance(accuracy, dict)
    assert accuracy["mean_error_low"] <= accuracy["mean_error"] <= accuracy["mean_error_high"]
    told = capsys.readouterr().out
    assert f"Counts are off by {accuracy['mean_error']:.3g} on average over the venues" in told
    assert "from the true numbers of users" in told
    assert accuracy["text"] in told


@pytest.mark.usefixtures("opendp")
@pytest.mark.parametrize("mode", ["simulate", "release"])
def test_a_method_whose_error_would_be_smaller_is_named(
    files: Files, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Laplace noise for caps of 80 is ±89 at this ε, where the mean count is 5: zeros are nearer."""
    assert publish(files, "--method", "laplace_counts", "--epsilon", "1", "--cap", "80", "--mode", mode) == 0
    told = capsys.readouterr().out
    assert "At the same ε other methods would be nearer: " in told
    assert "zeros by about" in told
    accuracy = stated(files)["accuracy"]
    assert isinstance(accuracy, dict)
    assert accuracy["mean_error_of_zeros"] < 0.9 * accuracy["mean_error"]


def test_the_default_is_the_method_that_wins_most_often(files: Files) -> None:
    assert publish(files, "--epsilon", "1") == 0
    assert stated(files)["mechanism"] == "grouping_smoothing"
    assert stated(files)["settings"]["variant"] == "geodp"  # type: ignore[index]
    assert publish(files, "--epsilon", "1", "--set", "variant=corrected", "--force") == 0
    assert stated(files)["settings"]["variant"] == "corrected"  # type: ignore[index]


def test_zeros_tell_nothing_and_cost_nothing(files: Files) -> None:
    pytest.importorskip("opendp")
    assert publish(files, "--method", "zeros", "--mode", "release") == 0
    assert (pd.read_csv(files[0].parent / "out.csv")["count"] == 0).all()
    promise = stated(files)["guarantee"]
    assert isinstance(promise, dict)
    assert (promise["epsilon"], promise["unit"], promise["holds"]) == (0.0, "user", True)


def test_columns_may_be_called_otherwise(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish(files, "--epsilon", "1") == 0
    usual = (files[0].parent / "out.csv").read_text(encoding="utf-8")
    for path, names in zip(
        files, ({"user": "uid", "venue": "poi"}, {"venue": "poi", "lon": "x", "lat": "y"}), strict=True
    ):
        pd.read_csv(path).rename(columns=names).to_csv(path, index=False)
    capsys.readouterr()
    assert publish(files, "--epsilon", "1", "--force") == 0
    assert "column 'poi' is taken for the venue" in capsys.readouterr().err
    listed = ["--venue-column", "venue=poi", "--venue-column", "lon=x", "--venue-column", "lat=y"]
    assert publish(files, "--epsilon", "1", "--force", *listed) == 0
    assert "column 'uid' is taken for whose a row is" in capsys.readouterr().err
    assert (files[0].parent / "out.csv").read_text(encoding="utf-8") == usual
    words = [*listed, "--column", "user=uid", "--column", "venue=poi"]
    assert publish(files, "--epsilon", "1", "--force", *words) == 0
    assert (files[0].parent / "out.csv").read_text(encoding="utf-8") == usual
    for wrong in ("uid", "person=uid", "user=", "user=poi"):
        assert publish(files, "--epsilon", "1", "--force", *words, "--column", wrong) == 2
    assert publish(files, "--epsilon", "1", "--force", "--column", "user=uid", "--column", "venue=uid") == 2
    assert "the column is user already" in capsys.readouterr().err
    assert publish(files, "--epsilon", "1", "--force", *words[:4], *words[6:]) == 2
    assert "no column 'lat'" in capsys.readouterr().err, "who names a longitude wants places"
    assert publish(files, "--epsilon", "1", "--force", *words, venues=False) == 2
    assert "give --venues FILE" in capsys.readouterr().err


def test_nothing_that_is_read_is_written_over(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    visits, venues = files
    before = venues.read_bytes()
    words = ["publish", "counts", str(visits), "--venues", str(venues), "--epsilon", "1", "--force"]
    for written in (["--out", str(venues)], ["--out", str(visits.parent / "o.csv"), "--map", str(venues)]):
        assert run_cli(*words, *written) == 2
        assert "cannot be both the venue list and" in capsys.readouterr().err
    folder = visits.parent / "private"
    folder.mkdir()
    part = folder / "part.csv"
    part.write_bytes(visits.read_bytes())
    for inside in (part, folder / "deeper" / "o.csv"):
        words = ["publish", "counts", str(folder), "--venues", str(venues), "--epsilon", "1", "--force"]
        assert run_cli(*words, "--out", str(inside)) == 2
        assert "the folder of the input" in capsys.readouterr().err
    assert part.read_bytes() == visits.read_bytes()
    assert venues.read_bytes() == before


def test_a_second_call_respects_the_ledger(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = ["--ledger", str(files[0].parent / "ledger.json")]
    assert publish(files, "--epsilon", "0.69", *ledger, "--budget", "1") == 0
    assert publish(files, "--epsilon", "0.69", *ledger, out="again.csv") == 1
    assert "short by ε=0.38" in capsys.readouterr().err
    assert not (files[0].parent / "again.csv").exists()
    assert publish(files, "--method", "dpsense", "--epsilon", "0.31", *ledger, out="again.csv") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give --epsilon"),
        (["--epsilon", "0"], "greater than 0"),
        (["--epsilon", "1", "--cap", "0"], "at least 1"),
        (["--epsilon", "1", "--method", "dpsens"], "Did you mean 'dpsense'"),
        (["--epsilon", "1", "--method", "dpsense", "--cap", "3"], "dpsense takes no --cap"),
        (["--epsilon", "1", "--max-theta", "3"], "takes no --max-theta"),
        (["--epsilon", "1", "--method", "dpsense", "--max-theta", "0"], "max_theta"),
        (["--epsilon", "1", "--set", "grouping=sampeld"], "grouping"),
        (["--epsilon", "1", "--set", "epsilon=2"], "give only one"),
        (["--epsilon", "1", "--mode", "releas"], "Did you mean 'release'"),
    ],
)
def test_bad_options_charge_nothing(
    files: Files, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(files, *words) == 2
    assert message in capsys.readouterr().err
    assert left(files) == set()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("user_id,uid,venue\nu,u,venue-000001\n", "'user_id' or 'uid' could say whose a row is"),
        ("user,shop\nu,venue-000001\n", "no column 'venue'"),
        ("user;venue\nu;venue-000001\n", "no column 'user'"),
    ],
)
@pytest.mark.parametrize("mode", ["simulate", "release"])
def test_missing_columns_release_nothing(
    files: Files, text: str, message: str, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if mode == "release":
        pytest.importorskip("opendp")
    files[0].write_text(text)
    assert publish(files, "--epsilon", "1", "--mode", mode) == 2
    assert message in capsys.readouterr().err
    assert left(files) == set()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,venue\n", "no visits"),
        ("user,venue\nu,elsewhere\n", "no visit names a venue of the public list"),
        ("user,venue\nu,venue-000001\nu,\n", "no venue, first in line 3"),
        ("user,venue\n,venue-000001\n", "no user, first in line 2"),
    ],
)
def test_bad_visits_are_told_when_simulating(
    files: Files, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files[0].write_text(text)
    assert publish(files, "--epsilon", "1") == 2
    assert message in capsys.readouterr().err
    assert left(files) == set()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("venue\n", "no venues"),
        ("venue\na\na\n", "twice"),
        ("shop\na\n", "no column 'venue'"),
        ("venue,lon,lat\nvenue-000001,50,190\n", "swapped"),
        ("venue,lon,lat\nvenue-000001,,50\n", "1 row has no lon or lat, first in line 2"),
    ],
)
def test_bad_venue_lists_release_nothing(
    files: Files, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files[1].write_text(text)
    assert publish(files, "--epsilon", "1") == 2
    assert message in capsys.readouterr().err
    assert left(files) == set()


@pytest.mark.usefixtures("opendp")
def test_release_mode_quotes_nobody_when_a_file_has_no_line_of_names(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    files[0].write_text("alice,clinic\nbob,cafe\n")
    assert publish(files, "--epsilon", "1", "--mode", "release", "--cap", "3") == 2
    told = capsys.readouterr()
    assert not [name for name in ("alice", "bob", "clinic", "cafe") if name in told.out + told.err]
    assert publish(files, "--epsilon", "1", "--cap", "3") == 2
    assert "clinic" in capsys.readouterr().err, "simulating, the message quotes"


@pytest.mark.usefixtures("opendp")
@pytest.mark.parametrize("mode", ["simulate", "release"])
@pytest.mark.parametrize("kind", ["bytes", "list"])
def test_users_that_are_no_words_are_refused_and_not_quoted(
    files: Files, capsys: pytest.CaptureFixture[str], mode: str, kind: str
) -> None:
    secret = pa.array([b"secret\xff\xfename"] * 2, pa.binary())
    users = {
        "bytes": secret,
        "list": pa.array([["secret"], ["secret"]]),
    }[kind]
    source = files[0].with_name("in.parquet")
    pq.write_table(pa.table({"user": users, "venue": ["a", "b"]}), source)
    assert publish((source, files[1]), "--epsilon", "1", "--cap", "2", "--mode", mode, "--debug") == 2
    error = capsys.readouterr().err
    assert "Nothing was released, nothing was charged" in error
    assert "secret" not in error
    assert "column 'user'" in error, "the type of a column is public"


def test_users_that_are_not_utf8_are_told_when_simulating(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    secret = pa.array([b"secret\xff\xfename"] * 2, pa.binary())
    source = files[0].with_name("in.parquet")
    users = pa.StringArray.from_buffers(2, *secret.buffers()[1:])
    pq.write_table(pa.table({"user": users, "venue": ["a", "b"]}), source)
    assert publish((source, files[1]), "--epsilon", "1", "--cap", "2") == 2
    assert "column 'user' holds words that are not UTF-8" in capsys.readouterr().err


def test_one_long_name_does_not_make_all_names_long() -> None:
    from geodp.privacy.keyed_choice import user_words

    words = user_words([*(str(number) for number in range(50_000)), "x" * 200_000, "a", "a\0"])
    assert len(set(words.tolist())) == words.size


def test_users_that_are_not_a_number_are_missing_not_one_person(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column of numbers has NaN where the user is unknown: several people must not pass as one user called nan."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    venue = pd.read_csv(files[1])["venue"].tolist()[:3]
    source = files[0].with_name("in.parquet")
    pq.write_table(pa.table({"user": np.array([1.0, np.nan, np.nan]), "venue": venue}), source)  # NaN, not null
    assert publish((source, files[1]), "--epsilon", "1", "--cap", "3") == 2
    assert "no user, first in row 2" in capsys.readouterr().err


def test_one_user_one_venue_and_a_user_beyond_the_cap(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    files[0].write_text("user,venue\nu,a\n")
    files[1].write_text("venue\na\n")
    for method in ("grouping_smoothing", "laplace_counts", "fourier_counts", "dpsense", "uniform"):
        assert publish(files, "--method", method, "--epsilon", "1", out=f"{method}.csv") == 0
    files[0].write_text("user,venue\n" + "".join(f"u,{n}\nu,{n}\n" for n in range(30)))
    files[1].write_text("venue\n" + "".join(f"{n}\n" for n in range(30)))
    capsys.readouterr()
    assert publish(files, "--method", "laplace_counts", "--epsilon", "1e9", "--cap", "4") == 0
    told = capsys.readouterr().out
    assert "30 visits repeat an earlier one" in told
    assert "1 of 1 users have more than 4 venues" in told
    assert pd.read_csv(files[0].parent / "out.csv")["count"].sum() == pytest.approx(4, abs=1e-3)


def test_places_are_needed_for_maps_and_geometry(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    listed = pd.read_csv(files[1])
    listed[["venue"]].to_csv(files[1], index=False)
    for words, out in ((["--map", "m.html"], "out.csv"), ([], "out.geojson"), (["--set", "grouping=space"], "out.csv")):
        assert publish(files, "--epsilon", "1", *words, out=out) == 2
        assert "lon and lat" in capsys.readouterr().err
    assert left(files) == set()


def test_a_region_chooses_among_the_venues_of_the_list(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    listed = pd.read_csv(files[1])
    west, east = listed["lon"].quantile([0.25, 0.75])
    south, north = listed["lat"].min() - 0.01, listed["lat"].max() + 0.01
    box = f"--region={west},{south},{east},{north}"
    assert publish(files, "--epsilon", "1e9", "--cap", "80", "--method", "laplace_counts", box) == 0
    told = pd.read_csv(files[0].parent / "out.csv").set_index("venue")["count"]
    assert set(told.index) == set(listed.loc[listed["lon"].between(west, east), "venue"])
    visits = pd.read_csv(files[0]).drop_duplicates()
    exact = visits["venue"].value_counts().reindex(told.index, fill_value=0)
    assert np.abs(told - exact).max() < 1e-3
    stated = json.loads((files[0].parent / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert stated["public_inputs"]["number_of_venues"] == len(told)
    assert stated["public_inputs"]["region"] == pytest.approx([west, south, east, north])
    capsys.readouterr()
    for words, says in (
        (("--region", "1,2,3,4"), "no venue of the public list lies inside"),
        (("--region", "3,2,1,4"), "west"),
        (("--region", "here"), "west,south,east,north"),
    ):
        assert publish(files, "--epsilon", "1", *words, out="no.csv") == 2
        error = capsys.readouterr().err
        assert says in error
        assert "Nothing was released, nothing was charged" in error
    assert publish(files, "--epsilon", "1", box, out="no.csv", venues=False) == 2
    assert "give --venues" in capsys.readouterr().err
    assert not list(files[0].parent.glob("no.csv*"))


def test_numbers_and_words_name_the_same_venue_in_csv_and_parquet(tmp_path: Path) -> None:
    listed = tmp_path / "venues.csv"
    listed.write_text("venue\n7\n12\ncafé x\n")
    venues = read_venue_list(listed)
    pd.DataFrame({"user": [1, 1, 2], "venue": [12, 12, 7]}).to_parquet(tmp_path / "in.parquet")
    (tmp_path / "in.csv").write_text("user,venue\n1,12\n1,12\n2,7\n2,café x\n")
    for name, counts in (("in.parquet", [1, 1, 0]), ("in.csv", [1, 1, 1])):
        read = read_visit_sets(tmp_path / name, venues, releasing=False)
        assert read.sets.counts().tolist() == counts


def test_names_are_numbered_as_they_are_met_across_batches() -> None:
    numbering = UserNumbering()
    assert numbering.numbers_of(pa.array(["b", "a", "b"])).tolist() == [0, 1, 0]
    assert numbering.numbers_of(pa.array(["c", "a", "c", "d"])).tolist() == [2, 1, 2, 3]
    assert numbering.numbers_of(pa.array([], pa.string())).tolist() == []
    assert numbering.names.to_pylist() == ["b", "a", "c", "d"]


def test_small_files_of_a_folder_are_looked_up_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look-up costs a table of all users so far: once per file would be slow for thousands of files."""
    (tmp_path / "venues.csv").write_text("venue\na\nb\n")
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(20):
        (folder / f"{part:02d}.csv").write_text(f"user,venue\nu{part},a\nu{part + 1},b\n")
    calls = []
    numbers_of = UserNumbering.numbers_of

    def watched(self: UserNumbering, column: pa.Array) -> Any:
        calls.append(len(column))
        return numbers_of(self, column)

    monkeypatch.setattr(UserNumbering, "numbers_of", watched)
    read = read_visit_sets(folder, read_venue_list(tmp_path / "venues.csv"), releasing=False)
    assert (read.sets.users, read.sets.counts().tolist(), calls) == (21, [20, 20], [40])


def test_a_long_file_is_read_in_batches_and_a_folder_file_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repeated visits are thrown out along the way: memory follows who visited what, not the length of the file."""
    from geodp.publish import private_visits
    from geodp.tables import formats

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"user": rng.integers(0, 50, 60_000), "venue": rng.integers(0, 20, 60_000)})
    frame.to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "venues.csv").write_text("venue\n" + "\n".join(str(n) for n in range(20)))
    venues = read_venue_list(tmp_path / "venues.csv")
    monkeypatch.setattr(formats, "_BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr(private_visits, "_GATHER_ROWS", 1500)
    monkeypatch.setattr(private_visits, "_COMPACT_AT", 2000)
    most = 0
    compact = private_visits.VisitCollector._compact

    def watched(self: private_visits.VisitCollector) -> None:
        nonlocal most
        most = max(most, self._visits.size + sum(part.size for part in self._new))
        compact(self)

    monkeypatch.setattr(private_visits.VisitCollector, "_compact", watched)
    read = read_visit_sets(tmp_path / "in.csv", venues, releasing=False)
    assert read.rows == 60_000
    assert most < 5000, "60,000 visits, of which 1,000 differ"
    assert read.sets.counts().tolist() == [50] * 20
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        frame.iloc[part::3].to_parquet(folder / f"{part}.parquet")
    parts = read_visit_sets(folder, venues, releasing=False)
    assert parts.sets.venue.tolist() != []
    assert parts.sets.counts().tolist() == [50] * 20
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="neither Parquet nor csv"):
        visit_files(tmp_path / "empty")
