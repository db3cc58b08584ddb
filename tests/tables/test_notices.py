"""What was dropped or guessed is said once, where people look, and never while releasing."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import geodp
from geodp.cli.main import main
from geodp.errors import DataError
from geodp.tables.notices import gather_notices, guess, notice, notice_cap, silence_notices
from geodp.tables.usual_columns import OTHER_NAMES, candidates
from tests.small import small, small_file


def test_all_who_gather_hear_a_notice_once() -> None:
    with gather_notices() as outer:
        notice("one")
        with gather_notices() as inner:
            notice("two")
            notice("two")
    assert (outer, inner) == (["one", "two"], ["two"])


def test_a_notice_that_nobody_gathers_is_a_warning_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    notice("three rows dropped")
    assert [(record.levelno, record.message) for record in caplog.records] == [(logging.WARNING, "three rows dropped")]


def test_a_release_says_nothing_and_guesses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with gather_notices() as noticed, silence_notices(), caplog.at_level("DEBUG", logger="geodp"):
        notice("three rows dropped")
        with pytest.raises(DataError, match="'uid' is taken. A release guesses nothing: name it"):
            guess("'uid' is taken.", instead="name it")
    assert noticed == []
    assert caplog.records == []


def test_names_of_columns_stand_for_one_thing_only() -> None:
    plain = [name.replace("_", "") for names in OTHER_NAMES.values() for name in set(names)]
    assert len(plain) == len(set(plain))
    assert candidates("user", ["User-ID", "x", "mood"]) == ["User-ID"]
    assert candidates("lon", ["x", "Longitude"]) == ["Longitude"]


def people(path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"user": np.arange(600) % 200, "lon": rng.uniform(10, 10.3, 600), "lat": 50.1})
    frame.loc[:11, "lon"] = 12.0
    frame.to_csv(path, index=False)
    return path


def test_what_a_run_guessed_and_dropped_is_on_the_console_and_under_take_care(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table of `user` without `worker` once made every row a person."""
    source = {"kind": "table", "path": str(people(tmp_path / "people.csv")), "keep": "last"}
    changes = {"workers.source": source, "workers.mobility": {"kind": "static"}, "curator.expected_workers": 200}
    file = small_file(tmp_path, {"region": {"west": 10.0, "south": 50.0, "east": 10.3, "north": 50.2}, **changes})
    with pytest.raises(SystemExit) as done:
        main(["run", str(file), "--out", str(tmp_path / "run")])
    assert not done.value.code
    told = capsys.readouterr().err
    run = geodp.open_run(tmp_path / "run")
    assert run.folder.workers == 200
    assert len(run.notices) == 2
    careful = run.summary().partition("## Take care")[2].partition("\n## ")[0]
    for text in (
        "people.csv: column 'user' is taken for whose a row is (no column 'worker').",
        "people.csv: 12 of 600 points (2 %) lie outside the region and are dropped.",
    ):
        assert text in run.notices
        assert told.count(text) == 1, "said once, as a warning"
        assert f"warning: {text}" in told
        assert text in careful
        assert text in (run.path / "run.log").read_text(encoding="utf-8")


def test_arms_share_the_notices_of_their_world(tmp_path: Path) -> None:
    source = {"kind": "table", "path": str(people(tmp_path / "people.csv")), "keep": "last"}
    scenario = small(
        {
            "region": {"west": 10.0, "south": 50.0, "east": 10.3, "north": 50.2},
            "workers.source": source,
            "workers.mobility": {"kind": "static"},
            "curator.expected_workers": 200,
            "compare": {"a": {}, "b": {"curator.mechanism.epsilon": 5.0}},
        }
    )
    run = geodp.run(scenario, tmp_path / "run", draw_map=False)
    assert [len(arm.notices) for arm in run.arms.values()] == [2, 2]
    assert "`a`, `b`: people.csv: column 'user' is taken" in run.summary()


def test_a_cap_that_binds_is_said() -> None:
    with gather_notices() as noticed:
        notice_cap("dpt", np.array([1, 12, 30]), 10, "trips")
        notice_cap("dpt", np.array([1, 2]), 10, "trips")
        notice_cap("dpt", np.array([100]), None, "trips")
    assert noticed == ["dpt: 22 of 43 trips are beyond the cap of 10 per person and are not used (2 people have more)."]


def test_a_run_says_which_cap_of_a_publication_binds(tmp_path: Path) -> None:
    changes = {
        "workers.visit_source": {"kind": "generated_visits", "mean_visits": 20, "venues": 50},
        "publish": [{"kind": "laplace_counts", "epsilon": 1.0, "cap": 2}],
    }
    run = geodp.run(small(changes), tmp_path / "run", draw_map=False)
    assert any("laplace_counts: " in text and "beyond the cap of 2 per person" in text for text in run.notices)
