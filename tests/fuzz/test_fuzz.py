"""A small part of the fuzzer runs with the tests; the rest with `python -m tests.fuzz`."""

import json
from pathlib import Path

import pytest

from tests.fuzz.__main__ import main, tasks
from tests.fuzz.case import DATA, SCENARIO, Case, Command
from tests.fuzz.data_mutants import data_case
from tests.fuzz.good_files import write_inputs
from tests.fuzz.oracle import LATE, Ended, faults, judge
from tests.fuzz.scenario_mutants import scenario_case


@pytest.mark.slow
def test_some_hundred_damaged_files_end_as_they_should(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--cases", "300", "--seed", "1", "--state", str(tmp_path / "state.json")])
    printed = capsys.readouterr().out
    assert "300 of 300 cases: 250 scenarios, 50 data files" in printed
    assert code == 0, printed


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, told = tmp_path / "state.json", tmp_path / "told.json"
    assert main(["--cases", "4", "--state", str(state)]) == 0
    assert main(["--cases", "9", "--state", str(state), "--json", str(told)]) == 0
    done = [tuple(task) for task in json.loads(told.read_text())["done"]]
    assert sorted(done) == sorted(tasks(9))
    assert len(done[:4]) == len(set(done[:4]) & set(tasks(4)))
    assert "0 findings" in capsys.readouterr().out


def test_a_case_follows_from_its_seed_and_number_alone(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    for make in (scenario_case, data_case):
        first, second, other = (make(seed, 17, tmp_path, tmp_path) for seed in (3, 3, 4))
        assert first == second
        assert first.files != other.files


def test_every_sixth_case_is_a_data_file_and_none_is_met_twice() -> None:
    listed = list(tasks(12_000))
    assert len(set(listed)) == 12_000
    assert sum(kind == DATA for kind, _ in listed) == 2_000
    assert sum(kind == SCENARIO for kind, _ in listed) == 10_000


@pytest.mark.parametrize(
    ("command", "ended", "new", "found"),
    [
        (Command(["check", "x"], names="case.yaml"), Ended(2, "case.yaml: 1 problem", 0.1), set(), []),
        (Command(["check", "x"]), Ended(1, "unexpected KeyError: 'a'", 0.1), set(), ["traceback"]),
        (Command(["check", "x"]), Ended(1, "failed", 0.1), set(), ["exit code"]),
        (Command(["run", "x"]), Ended(3, "", 0.1), set(), ["exit code"]),
        (Command(["check", "x"], names="case.yaml"), Ended(2, "something is wrong", 0.1), set(), ["unnamed"]),
        (Command(["check", "x"]), Ended(0, "ok", 6.0), set(), ["slow check"]),
        (Command(["run", "x"], only_after=0), Ended(2, "no", 1.0), set(), [LATE]),
        (Command(["run", "x"]), Ended(2, "no", 1.0), {"run", "run.lock"}, ["left behind: run"]),
        (Command(["run", "x"]), Ended(0, "", 1.0), {"run", ".run.partial"}, ["left behind: .run.partial"]),
    ],
)
def test_every_fault_is_called_by_its_name(command: Command, ended: Ended, new: set[str], found: list[str]) -> None:
    assert faults(command, ended, new) == found


def test_a_planted_defect_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*_: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr("geodp.scenario.file.parse_yaml", defect)
    path = tmp_path / "case.yaml"
    case = Case(tmp_path, "planted", {"case.yaml": b"geodp: 1"}, [Command(["check", str(path)], names="case.yaml")])
    findings, ran = judge(case, SCENARIO, 0)
    assert [finding.fault for finding in findings] == ["traceback"]
    assert ran == 1
