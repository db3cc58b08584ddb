"""Advice on metrics whose answer is known: three releases spend exactly three times epsilon."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from geodp.errors import GeodpError, ScenarioError, UsageError
from geodp.metrics import Measured
from geodp.scenario.schema import load_scenario
from geodp.sweeps.advice_text import advice_text, advice_values
from geodp.sweeps.advise import Advice, Search, Target, Tried, VariedField, advise, parse_target, private_files
from geodp.sweeps.executors import LocalExecutor
from tests.small import SMALL, small_file
from tests.sweeps import crashing
from tests.sweeps.small_sweep import QUICK

EPSILON = "curator.mechanism.epsilon"


def quick(folder: Path, **changes: Any) -> Path:
    return small_file(folder, QUICK | {"curator.release_every_s": 200} | changes)


def ask(path: Path, target: str, vary: str = EPSILON, **options: Any) -> Advice:
    return advise(path, target, vary, **({"seeds": 2, "workers": 1} | options))


def test_the_largest_epsilon_that_keeps_within_a_bound_is_found_to_the_precision(tmp_path: Path) -> None:
    found = ask(quick(tmp_path), "epsilon_spent<=1.2", low=0.1, high=1.0, precision=0.1)
    assert found.answer is not None
    assert found.next_step is not None
    assert not found.smallest
    assert found.answer.value <= 0.4 < found.next_step.value  # 3 · 0.4 = 1.2
    assert found.next_step.value <= found.answer.value * 1.12
    cost = found.step_cost()
    assert cost is not None
    assert cost.value == pytest.approx(3 * (found.next_step.value - found.answer.value))
    text = advice_text(found)
    assert "is the largest value found that meets epsilon_spent <= 1.2" in text
    assert "Next step up" in text
    assert found.releasable
    values = advice_values(found)
    assert values["value"] == found.answer.value
    assert values["tried"] == sorted(values["tried"], key=lambda one: one["value"])


class Pretend(Search):
    """A search whose runs are replaced by a function of the value."""

    def __init__(self, law: Any, whole: bool = False, target: str = "success_rate>=0.9") -> None:
        field = VariedField({}, Path("none.yaml"), "some.number")
        field.whole = whole
        super().__init__(parse_target(target), field, LocalExecutor(1), [0, 1, 2], None)
        self.law = law

    def try_value(self, value: float) -> Tried:
        if value not in self.known:
            y = self.law(value)
            measured = Measured(y, y - 0.01, y + 0.01, has_interval=True)
            self.known[value] = Tried(value, dict.fromkeys(self.seeds, y), measured, self.target.is_met(measured))
        return self.known[value]


def test_bisection_ends_at_the_edge() -> None:
    search = Pretend(lambda x: 1 - math.exp(-x))
    found = search.run(0.1, 30.0, 0.01, [])
    edge = -math.log(0.09)  # the lower end of the interval, 1 - exp(-x) - 0.01, is 0.9 there
    assert found.answer is not None
    assert found.next_step is not None
    assert found.smallest
    assert found.monotone
    assert found.next_step.value < edge <= found.answer.value
    assert found.answer.value / found.next_step.value < 1.011
    assert len(found.tried) < 20


def test_whole_numbers_are_found_exactly() -> None:
    found = Pretend(lambda n: n / 1000, whole=True).run(10, 5000, 0.05, [])
    assert found.answer is not None
    assert found.next_step is not None
    assert (found.answer.value, found.next_step.value) == (910, 909)


def test_no_value_and_every_value_are_said_clearly() -> None:
    none = Pretend(lambda x: 0.5 + 0.001 * x).run(1.0, 10.0, 0.05, [])
    assert none.answer is None
    assert "No value of some.number between 1 and 10 meets success_rate >= 0.9" in advice_text(none)
    assert "Nearest: 10 gives 0.51" in advice_text(none)
    every = Pretend(lambda x: 0.95 + 0.001 * x).run(1.0, 10.0, 0.05, [])
    assert every.answer is not None
    assert every.answer.value == 1.0
    assert every.next_step is None
    assert "Every value of some.number between 1 and 10 that was tried meets" in advice_text(every)
    assert "--low" in advice_text(every)


def test_a_metric_that_goes_up_and_down_is_refused() -> None:
    island = Pretend(lambda x: 0.95 if 2.5 < x < 4 else 0.5).run(1.0, 10.0, 0.02, [])
    assert island.answer is None
    assert island.next_step is None
    assert not island.monotone
    assert "success_rate is not monotone in some.number: it rises" in island.refused
    assert len(island.tried) == 5  # nothing is searched for between them
    assert advice_text(island).startswith("Refused: ")
    values = advice_values(island)
    assert (values["found"], values["monotone"], values["trend"]) == (False, False, "rises and falls")


def test_a_dip_that_the_first_look_misses_is_refused_too() -> None:
    dip = Pretend(lambda x: 0.2 + 0.1 * x - (0.3 if 7.4 < x < 7.7 else 0.0)).run(1.0, 10.0, 0.02, [])
    assert dip.refused
    assert dip.answer is None


@pytest.mark.parametrize(
    ("law", "target", "smallest", "words"),
    [
        (
            lambda x: 0.1 * x,
            ">=0.5",
            True,
            "rises as some.number grows: larger values are better for success_rate >= 0.5",
        ),
        (
            lambda x: 0.1 * x,
            "<=0.5",
            False,
            "rises as some.number grows: larger values are worse for success_rate <= 0.5",
        ),
        (lambda x: 1 - 0.1 * x, ">=0.5", False, "falls as some.number grows: larger values are worse"),
        (lambda x: 1 - 0.1 * x, "<=0.5", True, "falls as some.number grows: larger values are better"),
        (lambda _: 0.7, ">=0.5", True, "does not clearly change as some.number grows."),
    ],
)
def test_the_direction_is_stated(law: Any, target: str, smallest: bool, words: str) -> None:
    found = Pretend(law, target=f"success_rate{target}").run(1.0, 10.0, 0.05, [])
    assert found.answer is not None
    assert found.smallest is smallest
    assert words in advice_text(found)


@pytest.mark.parametrize(
    ("falls", "path"),
    [(True, EPSILON), (True, "device.mechanism.epsilon_per_m"), (False, EPSILON), (True, "server.batch_s")],
)
def test_success_that_noise_raises_at_a_fixed_target_is_sent_to_its_price(falls: bool, path: str) -> None:
    field = VariedField({}, Path("downtown.yaml"), path)
    search = Search(parse_target("success_rate>=0.85"), field, LocalExecutor(1), [0, 1, 2], None, plans_on_target=True)
    for value in field.space_values(0.03, 3.0):
        y = 0.9 - 0.02 * math.log(value) * (1 if falls else -1)
        search.known[value] = Tried(value, dict.fromkeys([0, 1, 2], y), Measured(y, y, y), met=y >= 0.85)
    found = search.run(0.03, 3.0, 0.99, [])
    if falls and path != "server.batch_s":
        assert found.answer is None
        assert "success_rate falls as" in found.refused
        assert "geodp advise downtown.yaml --within 0.1" in found.refused
        assert "--within" in advice_text(found)
    else:
        assert found.answer is not None
        assert not found.refused
        assert ("--within" in advice_text(found)) is (path == EPSILON)  # it may be read, with its price beside it


def test_answers_from_private_files_are_stamped(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("lon,lat\n" + "\n".join(f"10.0{n % 80:02d},50.0{n % 50:02d}" for n in range(200)) + "\n")
    source = {"kind": "table", "path": str(people), "one_row_per_person": True}
    changes = {"workers.source": source, "curator.expected_workers": 200}
    raw = {**QUICK, "curator.release_every_s": 200} | changes
    raw.pop("workers.source.count")
    path = small_file(tmp_path, raw)
    found = ask(path, "epsilon_spent<=1.2", low=0.3, high=0.5, precision=0.5)
    assert not found.releasable
    assert "NOT RELEASABLE: the scenario reads people.csv" in advice_text(found)
    assert advice_values(found)["releasable"] is False
    assert private_files(load_scenario(path)) == [people]
    assert private_files(load_scenario(quick(tmp_path))) == []


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("success_rate", "write it as METRIC>=NUMBER"),
        ("success_rate>=lots", "'lots' is not a number"),
        ("success_rate>=nan", "is not a number"),
        ("succes_rate>=0.9", "Did you mean 'success_rate'"),
        ("0.9<=success_rate", "write it as METRIC>=NUMBER"),
    ],
)
def test_malformed_targets_are_explained(target: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_target(target)


def test_targets_read_as_they_are_written() -> None:
    assert parse_target(" success_rate >= 0.9 ") == Target("success_rate", True, 0.9)
    assert parse_target("travel_distance_m<=500") == Target("travel_distance_m", False, 500.0)
    assert parse_target("success_rate>0.8") == Target("success_rate", True, 0.8, strict=True)


@pytest.mark.parametrize(("text", "met"), [(">0.8", False), (">=0.8", True), ("<0.8", False), ("<=0.8", True),
                                           (">0.7", True), ("<0.9", True), ("<0.7", False)])  # fmt: skip
def test_more_than_a_value_is_not_met_by_the_value_itself(text: str, met: bool) -> None:
    target = parse_target(f"success_rate{text}")
    assert target.is_met(Measured(0.8, 0.8, 0.8)) is met
    assert str(target) == f"success_rate {text.rstrip('0.789')} {text.lstrip('<>=')}"


@pytest.mark.parametrize(
    ("vary", "options", "words"),
    [
        ("curator.mechanism.epsilo", {}, "Did you mean 'epsilon'"),
        ("curator.mechanism.epsilo", {"low": 1.0, "high": 2.0}, "Did you mean 'epsilon'"),
        ("server.assignment.reward", {}, "is not a number but 'optimised'"),
        ("seed", {}, "averaged over"),
        (EPSILON, {"low": 2.0, "high": 1.0}, "range is empty"),
        (EPSILON, {"low": -1.0}, "--low -1 is not valid"),
        ("server.assignment.target_success", {}, "--high 9 .the default. is not valid; give --high"),
        (EPSILON, {"seeds": 1}, "at least 2"),
        (EPSILON, {"precision": 2.0}, "a share between 0 and 1"),
    ],
)
def test_bad_paths_and_ranges_are_explained(tmp_path: Path, vary: str, options: Any, words: str) -> None:
    with pytest.raises((UsageError, ScenarioError), match=words):
        ask(quick(tmp_path), "success_rate>=0.9", vary, **options)


def test_a_failing_run_is_an_error_with_the_command_that_repeats_it(tmp_path: Path) -> None:
    kind = "moody_for_advice"  # a process knows one plug-in of a name, and other tests have theirs
    (tmp_path / "moody.py").write_text(crashing.MOODY.replace("moody_for_a_test", kind))
    path = quick(tmp_path, plugins=["moody.py"], **{"workers.mobility": {"kind": kind}})
    with pytest.raises(GeodpError, match="the moody one refuses") as failed:
        ask(path, "success_rate>=0.9")
    assert "geodp run" in str(failed.value)
    assert SMALL["workers"]["mobility"] == {"kind": "random_waypoint"}


def test_the_command_line_answers_and_exits_1_when_there_is_no_answer(tmp_path: Path) -> None:
    path, file = quick(tmp_path), tmp_path / "advice.json"
    words = ["--vary", EPSILON, "--low", "0.3", "--high", "0.5", "--seeds", "2", "--workers", "1", "--json", str(file)]
    command = [sys.executable, "-m", "geodp", "advise", str(path), *words, "--precision", "0.5"]
    never = subprocess.run([*command, "--target", "epsilon_spent>=9"], capture_output=True, text=True, check=False)
    assert never.returncode == 1, never.stderr
    assert "No value" in never.stdout
    values = json.loads(file.read_text())
    assert (values["found"], values["value"], values["releasable"]) == (False, None, True)
    assert values["tried"][0]["mean"] == pytest.approx(0.9)
    wrong = subprocess.run([*command, "--target", "succes_rate>=9"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
