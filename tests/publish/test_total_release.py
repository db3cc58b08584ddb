"""A release is a total function of its private file: no row is refused, told or counted.

The noise of a release is replaced by a seeded stream, so that two runs draw the same answers: whatever else differs
between the files of two runs, in outputs, messages, exit code or statement, would tell something.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodp.cli.main import main
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.publish import pipeline

REGION = "--region=10.0,50.0,10.08,50.05"
VENUES = "venue,lon,lat\n" + "".join(
    f"v{number},{10.01 + number / 300},{50.01 + number / 500}\n" for number in range(12)
)
USERS = "user\n" + "".join(f"u{number}\n" for number in range(8))
RNG = np.random.default_rng(7)
KINDS: dict[str, tuple[str, list[str], list[str]]] = {
    "reports": (
        "positions",
        ["--epsilon", "0.05", "--cap", "2", REGION],
        [f"u{number % 8},{10.02 + 0.002 * number:.4f},50.02" for number in range(24)],
    ),
    "cells": (
        "positions",
        ["--mechanism", "uniform_grid", "--set", "cell_m=1000", "--epsilon", "1", "--cap", "2", REGION],
        [f"u{number % 8},{10.02 + 0.002 * number:.4f},50.02" for number in range(24)],
    ),
    "counts": (
        "counts",
        ["--method", "laplace_counts", "--epsilon", "1", "--cap", "2", "--venues", "venues.csv"],
        [f"u{number % 8},v{number % 11}" for number in range(40)],
    ),
    "visits": (
        "visits",
        ["--epsilon", "5", "--cap", "3", "--set", "clusters=2", "--venues", "venues.csv", "--users", "users.csv"],
        [f"u{number % 8},v{number % 11}" for number in range(40)],
    ),
    "trajectories": (
        "trajectories",
        ["--epsilon", "20", "--cap", "2", REGION],
        [
            f"u{who},t{trip},{60 * step},{10.02 + 0.01 * step},{50.01 + 0.004 * who}"
            for who in range(8)
            for trip in range(2)
            for step in range(4)
        ],
    ),
}
HEADERS = {
    "positions": "user,lon,lat",
    "counts": "user,venue",
    "visits": "user,venue",
    "trajectories": "user,trajectory,time_s,lon,lat",
}
PLACELESS = ["", "gone", "u1,", ",v1", "u1,nowhere", "gone,v1,v2", '"gone,v1', "u1,\0", '"u""1', "u1,u1"]
UNUSABLE = {
    "positions": [
        "gone,11.5,50.02",
        "gone,10.02,95",
        "gone,200,50.02",
        "gone,50.02,10.02",
        ",10.02,50.02",
        "gone,ten,50.02",
        "gone,nan,50.02",
        "gone,inf,50.02",
        "gone,,50.02",
        "gone,10.02",
        "gone,10.02,50.02,9",
        '"gone,10.02,50.02',
        "",
        "\0\0",
    ],
    "counts": PLACELESS,
    "visits": PLACELESS,
    "trajectories": [
        "gone,t0,0,11.5,50.02",
        "gone,t0,0,10.02,-95",
        "gone,t0,0,50.02,10.02",
        "gone,t0,noon,10.02,50.02",
        "gone,t0,1e16,10.02,50.02",
        "gone,t0,-inf,10.02,50.02",
        "gone,,0,10.02,50.02",
        ",t0,0,10.02,50.02",
        "gone,t0,0,10.02",
        '"gone,t0,0,10.02,50.02',
        "gone,t0,0,,50.02",
        "",
    ],
}
Publish = Callable[..., dict[str, object]]


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Publish:
    """Return a function that publishes lines of a kind in release mode, and returns everything that can be seen."""
    pytest.importorskip("opendp", reason="needs the extra release (OpenDP)")

    def same_answers(mode: str, **_: object) -> Noise:
        return SimulatedNoise(np.random.default_rng(3), releasable=True, mode=mode)

    monkeypatch.setattr(pipeline, "noise_source", same_answers)
    monkeypatch.chdir(tmp_path)
    Path("venues.csv").write_text(VENUES)
    Path("users.csv").write_text(USERS)

    def run(kind: str, lines: list[str], *more: str, content: bytes | None = None) -> dict[str, object]:
        command, options, _ = KINDS[kind]
        for old in ("out.csv", "out.csv.guarantee.json", "ledger.json"):
            Path(old).unlink(missing_ok=True)
        text = "\n".join([HEADERS[command], *lines, ""]).encode()
        Path("in.csv").write_bytes(text if content is None else content)
        words = ["--out", "out.csv", "--mode", "release", "--ledger", "ledger.json"]
        with pytest.raises(SystemExit) as done:
            main(["publish", command, "in.csv", *words, *options, *more])
        told = capsys.readouterr()
        found: dict[str, object] = {"code": done.value.code, "out": told.out, "err": told.err}
        if Path("out.csv").exists():
            stated = json.loads(Path("out.csv.guarantee.json").read_text(encoding="utf-8"))
            stated.pop("time")
            found |= {"bytes": Path("out.csv").read_bytes(), "guarantee": stated}
        return found

    return run


def unpaid(seen: dict[str, object]) -> list[object]:
    """Return exit code and messages but for the accuracy, which counts of venues measure with a part of their ε."""
    said = [line for line in str(seen["out"]).splitlines() if not line.startswith("Accuracy: ")]
    return [seen["code"], said, seen["err"]]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_cannot_be_used_leave_no_trace(publish: Publish, kind: str) -> None:
    command, _, sound = KINDS[kind]
    clean = publish(kind, sound)
    assert clean["code"] == 0, clean
    for row in UNUSABLE[command]:
        for place in (0, len(sound) // 2, len(sound)):
            assert publish(kind, [*sound[:place], row, *sound[place:]]) == clean, (row, place)
    bad_bytes = (
        "\n".join([HEADERS[command], *sound[:9]]).encode() + b"\n\xff\xfe,\xff\xff\n" + "\n".join(sound[9:]).encode()
    )
    assert publish(kind, [], content=bad_bytes) == clean


@pytest.mark.parametrize("kind", [*KINDS, "nobody listed"])
def test_nothing_at_all_is_published_like_everything_else(publish: Publish, kind: str) -> None:
    """Of messages, exit code and statement nothing tells how much, or whether anything, was in the file."""
    kind = "visits" if kind == "nobody listed" else kind
    command, _, sound = KINDS[kind]
    full = publish(kind, sound)
    for lines in ([], UNUSABLE[command], sound[:1]):
        found = publish(kind, lines)
        assert unpaid(found) == unpaid(full), lines
        stated, expected = found["guarantee"], full["guarantee"]
        assert isinstance(stated, dict)
        assert isinstance(expected, dict)
        of_the_output = {"sha256": "", "accuracy": ""}
        assert {**stated, **of_the_output} == {**expected, **of_the_output}


@pytest.mark.parametrize("kind", KINDS)
def test_warnings_of_libraries_are_not_heard(publish: Publish, kind: str, recwarn: pytest.WarningsRecorder) -> None:
    command, _, sound = KINDS[kind]
    assert publish(kind, [*sound, *UNUSABLE[command]])["code"] == 0
    assert [str(one.message) for one in recwarn] == []


def test_one_person_more_changes_no_message(publish: Publish) -> None:
    for kind, (command, _, sound) in KINDS.items():
        full = publish(kind, sound)
        without = publish(kind, [line for line in sound if not line.startswith("u3,")])
        assert unpaid(full) == unpaid(without), command


@pytest.mark.parametrize("numbers", [True, False])
def test_users_are_words_whatever_other_users_are_called(publish: Publish, numbers: bool) -> None:
    """A column of whole numbers with one word in it would be words, and 007 would be 7 without it."""
    users = ["007", "8", "9.0"] if numbers else ["ann", "bob", "cy"]
    lines = [f"{user},10.0{place},50.02" for user in users for place in (2, 3)]
    clean = publish("reports", lines)
    with_word = publish("reports", [*lines, "gone,11.5,50.02"])
    assert clean == with_word
    assert set(pd.read_csv("out.csv", dtype=str)["user"]) == set(users)


def test_with_a_public_list_of_users_nobody_shows_by_name(publish: Publish) -> None:
    """Everybody on the list may get a record, and nobody else: strangers leave no trace at all."""
    _, _, sound = KINDS["visits"]
    clean = publish("visits", sound)
    told = pd.read_csv("out.csv", dtype=str)
    assert set(told["user"]) <= {f"u{number}" for number in range(8)}
    assert publish("visits", [*sound, "stranger,v1", "stranger,v2"]) == clean
    absent = publish("visits", [line for line in sound if not line.startswith("u3,")])
    assert isinstance(absent["guarantee"], dict)
    assert "adding or removing it" in str(absent["guarantee"]["sentence"])
    assert absent["guarantee"]["not_hidden"] == ["who is in the public list of users"]


def test_a_named_person_may_be_there_or_not(publish: Publish) -> None:
    """Levels are public choices of single people: whether one of them has visits must not show."""
    _, _, sound = KINDS["visits"]
    Path("venues.csv").write_text(
        "".join(f"{line}{',area' if not row else ',a'}\n" for row, line in enumerate(VENUES.splitlines()))
    )
    Path("levels.csv").write_text("user,level\nu3,area\n")
    more = ("--personal-levels", "levels.csv", "--set", "level=area")
    full = publish("visits", sound, *more)
    without = publish("visits", [line for line in sound if not line.startswith("u3,")], *more)
    assert full["code"] == 0, full
    assert (full["code"], full["out"], full["err"]) == (without["code"], without["out"], without["err"])


def test_sparse_pings_are_told_in_a_simulation_and_not_in_a_release(
    publish: Publish, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether trips are sparse is a matter of the data: a release is made by its public settings alone."""
    _, options, dense = KINDS["trajectories"]
    sparse = [
        f"u{who},t{trip},{7200 * step},10.0{2 + step},50.02"
        for who in range(8)
        for trip in range(2)
        for step in range(2)
    ]
    released = publish("trajectories", sparse)
    assert (released["code"], released["out"], released["err"]) == tuple(
        publish("trajectories", dense)[what] for what in ("code", "out", "err")
    )
    publish("trajectories", sparse)
    with pytest.raises(SystemExit) as done:
        main(["publish", "trajectories", "in.csv", "--out", "simulated.csv", "--ledger", "other.json", *options])
    assert done.value.code == 0
    assert "rips have 2 points in the median, 7,200 s apart" in capsys.readouterr().err


@pytest.mark.parametrize(("unit", "change"), [("event", "adding or removing it"), ("user", "emptying it")])
def test_without_a_list_of_users_the_guarantee_says_that_names_stay(publish: Publish, unit: str, change: str) -> None:
    _, options, sound = KINDS["visits"]
    listed = publish("visits", sound, "--set", f"unit={unit}")["guarantee"]
    assert isinstance(listed, dict)
    assert "stays" not in str(listed["sentence"])
    main_options = [word for word in options if word not in ("--users", "users.csv")]
    with pytest.raises(SystemExit) as done:
        main(["publish", "visits", "in.csv", "--out", "two.csv", "--mode", "release", "--ledger", "two.json",
              *main_options, "--set", f"unit={unit}"])  # fmt: skip
    assert done.value.code == 0
    stated = json.loads(Path("two.csv.guarantee.json").read_text(encoding="utf-8"))
    assert f"{change} (the person's name stays) changes the odds" in stated["sentence"]
    assert stated["guarantee"]["emptied"]
    assert stated["not_hidden"] == ["which users are in the file: their names are published"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_without_a_usable_row_is_released_with_true_release_noise(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with a stand-in for it: the samplers of a release, too, are asked for nothing."""
    pytest.importorskip("opendp", reason="OpenDP is not installed: pip install 'geodp[release]'")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "venues.csv").write_text(VENUES)
    (tmp_path / "in.csv").write_text(f"{HEADERS[KINDS[kind][0]]}\nnothing,of,use,in,it,at,all\n")
    options = [part for part in KINDS[kind][1] if part not in ("--users", "users.csv")]
    command = ["publish", KINDS[kind][0], "in.csv", *options, "--out", "out.csv", "--mode", "release"]
    with pytest.raises(SystemExit) as done:
        main([*command, "--ledger", "ledger.json"])
    assert done.value.code == 0
