"""What the benchmarks remember of earlier releases, and how they say what moved."""

import json
from pathlib import Path

import numpy as np
import pytest

from geodp import plugin
from geodp.privacy.noise import SimulatedNoise
from tests.benchmarks import __main__ as command
from tests.benchmarks import _history as history
from tests.benchmarks import _ranges as ranges
from tests.benchmarks import engine
from tests.benchmarks._figure import Figure


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(history, "HISTORY", tmp_path)
    return tmp_path


OLD = {
    "machine_cpus": 2,
    "radius_s": 0.1,
    "yardstick_radius_s_brentq": 10.0,
    "radius_s_ratio_brentq": 100.0,
    "map_mb": 4.0,
    "engine_s": 1.0,
    "sweep_s": None,
    "gone_s": 3.0,
}


def keep(folder: Path, version: str, **changes: float | None) -> None:
    (folder / f"{version}.json").write_text(json.dumps(OLD | changes))


def test_a_slower_machine_moves_no_figure_that_has_a_yardstick() -> None:
    now = OLD | {"machine_cpus": 64, "radius_s": 0.2, "yardstick_radius_s_brentq": 20.0}
    assert list(history.moves(OLD, now)) == []


def test_a_worse_ratio_and_a_larger_size_are_told() -> None:
    now = OLD | {"radius_s": 0.2, "radius_s_ratio_brentq": 50.0, "map_mb": 6.0, "engine_s": 1.1}
    size, ratio = [move.line() for move in history.moves(OLD, now)]
    assert size.startswith("map_mb ")
    assert size.endswith("+50%")
    assert ratio.endswith("worse: 100x → 50x of its yardstick")


def test_new_and_missing_figures_are_told() -> None:
    now = {key: value for key, value in OLD.items() if key != "gone_s"} | {"sweep_s": 2.0}
    lines = [move.line() for move in history.moves(OLD, now)]
    assert [line.split()[0] for line in lines] == ["gone_s", "sweep_s"]
    assert lines[0].endswith("not measured any more")
    assert lines[1].endswith("new")


def test_the_last_release_is_compared_with_the_one_before_by_number(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(folder, "0.9.0")
    keep(folder, "0.10.0", map_mb=8.0)
    keep(folder, "0.2.0", map_mb=1.0)
    assert command.main(["--compare"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "0.10.0 against 0.9.0: what moved by more than 20%"
    assert told[1].split() == ["map_mb", "4", "→", "8", "+100%"]


def test_figures_of_a_file_are_compared_with_the_last_release(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(folder, "0.2.0")
    file = folder / "mine.txt"
    file.write_text(json.dumps(OLD))
    assert command.main(["--compare", "--measured", str(file)]) == 0
    assert capsys.readouterr().out.strip().endswith("against 0.2.0: nothing moved by more than 20%")


def test_without_an_earlier_release_or_a_file_the_answer_is_bad_input(folder: Path) -> None:
    assert command.main(["--compare"]) == 2
    keep(folder, "0.2.0")
    assert command.main(["--compare", "--measured", str(folder / "none.json")]) == 2


def test_a_benchmark_that_is_run_is_compared_without_missing_the_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(folder, "0.2.0")
    monkeypatch.setattr(engine, "measure", lambda: [Figure("engine_s", 5.0)])
    command.main(["engine", "--compare"])
    assert capsys.readouterr().out.count("+400%") == 1


def test_the_history_is_kept_with_ratios_and_yardsticks() -> None:
    known = history.releases()
    assert known
    for release in known:
        ratios = [key for key in release.measured if "_ratio_" in key]
        assert ratios
        assert len(ratios) <= sum(key.startswith("yardstick_") for key in release.measured)


def test_rectangles_know_who_is_inside_and_read_releases_evenly() -> None:
    """Against a count of each by itself; exact counts on small cells miss a rectangle by its rim alone."""
    people = ranges.generated(ranges.SAN_FRANCISCO, 9, count=3000)
    asked = ranges.Rectangles.draw(people)
    edges = zip(asked.west, asked.south, asked.east, asked.north, strict=True)
    inside = [(people.x_m >= w) & (people.x_m < e) & (people.y_m >= s) & (people.y_m < n) for w, s, e, n in edges]
    assert asked.true.tolist() == [float(np.count_nonzero(each)) for each in inside]
    exact = plugin("no_privacy", cell_m=50).release(people, SimulatedNoise(np.random.default_rng(0)))
    assert asked.answer(exact) == pytest.approx(asked.true, abs=12)
    assert np.mean(np.abs(asked.answer(exact) - asked.true)) < 1.5


def test_sets_that_judge_are_not_those_that_defaults_were_chosen_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEODP_DATA", raising=False)
    assert not set(ranges.CHOSEN_ON) & set(ranges.JUDGED_ON)
    assert ranges.JUDGED_ON["geolife"]() is None, "real sets are left out where there are none"
    assert {"privtree", "hierarchical_grid", "dawa", "adaptive_grid"} <= set(ranges.KINDS)
