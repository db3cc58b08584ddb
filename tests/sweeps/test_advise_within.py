"""Prices at equal success: the interval against numbers worked out by hand, and small scenarios from end to end."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import geodp
from geodp.errors import GeodpError, OutputError, ScenarioError, UsageError
from geodp.metrics.intervals import Measured
from geodp.runs.equal_success import calibrate_scenario
from geodp.scenario.file import read_yaml
from geodp.sweeps.advice_text import price_text, price_values
from geodp.sweeps.advise_within import LEAST_TASKS, PriceAdvice, PriceSearch
from geodp.sweeps.executors import LocalExecutor
from geodp.sweeps.prices import Priced, PriceProgress, Prices, cost_ratio
from geodp.sweeps.varied_epsilon import SpentBudget, VariedEpsilon, find_epsilon
from tests.small import small, small_file
from tests.sweeps.small_sweep import QUICK

EPSILON = "curator.mechanism.epsilon"
TINY = QUICK | {"workers.source.count": 1500, "tasks.demand.per_hour": 240, "curator.mechanism.cell_m": 500}
TINIER = TINY | {"duration_s": 300, "tasks.demand.per_hour": 120}
NEAR = {"low": 0.01, "high": 8.0, "success": 0.6, "precision": 0.99, "workers": 1}


def test_the_ratio_is_the_exponential_of_students_interval_of_logarithms() -> None:
    # Logarithms of the ratios: 0.1, 0.2, 0.3, mean 0.2, sd 0.1; t(0.975; 2) = 4.302653, over √3 = 2.484138.
    reference = [10.0, 20.0, 40.0]
    found = cost_ratio([cost * math.exp(gap) for cost, gap in zip(reference, (0.1, 0.2, 0.3), strict=True)], reference)
    assert found.value == pytest.approx(1.221403, abs=1e-6)
    assert found.low == pytest.approx(math.exp(0.2 - 0.2484138), abs=1e-6)
    assert found.high == pytest.approx(math.exp(0.2 + 0.2484138), abs=1e-6)


def test_one_seed_that_never_gets_there_makes_the_price_infinite() -> None:
    assert cost_ratio([12.0, math.inf, 11.0], [10.0, 10.0, 10.0]) == Measured(math.inf, has_interval=True)


class Pretend(Prices):
    """Prices whose calibrations are replaced by a law of epsilon: the cost, or infinity."""

    def __init__(self, law: Any, within: float = 0.1, path: str = EPSILON) -> None:
        scenario = small(TINY)
        raw = {key: value for key, value in json.loads(scenario.model_dump_json()).items() if value is not None}
        epsilon = VariedEpsilon(raw, Path("none.yaml"), path, scenario)
        super().__init__(epsilon, 0.9, within, LocalExecutor(1), list(range(8)), None, None)
        self.law, self.asked = law, 0

    def _calibrate(self, scenarios: Any, finish: Any = None) -> Any:
        found = {}
        for value in scenarios:
            self.asked += 1
            cost = 10.0 if value == math.inf else self.law(value)
            found[value] = {
                seed: _row(None if cost == math.inf else cost * (1 + 0.001 * (seed % 2))) for seed in self.seeds
            }
            if finish is not None:
                finish(value, found[value])
        return found


def _row(cost: float | None) -> dict[str, float | None]:
    same = {"cost_at_success": cost, "expected_at_success": 0.9 if cost else 0.7, "taken_at_success": 0.9}
    same |= {"target_at_success": 0.9, "travel_at_success_m": 250.0, "reward_at_success": 5.0, "tasks": 400.0}
    return same | {"fixed_success": 0.88, "fixed_cost": 9.0, "runs": 3.0, "mixed": 0.0}


def search(law: Any, low: float = 0.03, high: float = 3.0, *, open_ends: bool = True, **options: Any) -> PriceAdvice:
    prices = Pretend(law, **options)
    return PriceSearch(prices, 0.15, open_ends=(open_ends, open_ends)).run(low, high, [])


def test_the_smallest_epsilon_that_is_within_is_closed_in_on() -> None:
    found = search(lambda epsilon: 10 * (1 + 0.1 / epsilon))  # 10 % at epsilon 1, and a little for the interval
    assert found.answer is not None
    assert found.next_step is not None
    assert found.next_step.value < 1.01 <= found.answer.value
    assert found.answer.value <= found.next_step.value / (1 - 0.15)
    assert found.monotone
    assert [one.value for one in found.tried][:3] == [0.03, 0.095, 0.3]
    assert all(one.enough == (one.value >= found.answer.value) for one in found.tried)
    text = price_text(found)
    assert text.startswith(
        f"{EPSILON} = {found.answer.value:.4g} is the smallest value found whose price is within 10 %"
    )
    assert "no_privacy, cell_m 500" in text
    assert "Whoever takes a task travels 250 instead of 250 m, for a reward of 5.00 instead of 5.00." in text
    assert "Take care" not in text
    assert "Not monotone" not in text
    values = price_values(found)
    assert values["value"] == found.answer.value
    assert values["reference"]["cost_at_success"] == pytest.approx(10.005)
    assert values["spent"] == found.answer.value  # one release, at 0 s
    json.dumps(values, allow_nan=False)


def test_the_range_grows_where_nobody_gave_it() -> None:
    late = search(lambda epsilon: 10 * (1 + 1 / epsilon))
    assert late.answer is not None
    assert 10 < late.answer.value < 12
    never = search(lambda epsilon: 10 * (1 + 1 / epsilon), open_ends=False)
    assert never.answer is None
    assert price_text(never).startswith(f"No value of {EPSILON} between 0.03 and 3 is within 10 % of exact counts")
    assert "Nearest: 3 asks 1.333 (1.333 to 1.333) times" in price_text(never)
    early = search(lambda epsilon: 10 * (1 + 0.001 / epsilon))
    assert early.answer is not None
    assert early.answer.value == pytest.approx(0.01, rel=0.2)


def test_a_success_never_reached_is_infinitely_dear_and_said_to_be() -> None:
    found = search(lambda epsilon: math.inf if epsilon < 0.2 else 10.5)
    assert found.answer is not None
    assert 0.2 <= found.answer.value < 0.24
    assert found.tried[0].ratio.value == math.inf
    assert "infinite (on 8 of 8 seeds)" in price_text(found)
    row = price_values(found)["tried"][0]
    assert (row["cost_ratio"], row["missed"], row["enough"]) == (None, 8, False)
    nowhere = search(lambda _: math.inf)
    assert nowhere.answer is None
    assert "none reaches the success" in price_text(nowhere)


def test_a_price_that_rises_with_epsilon_is_said_to_and_the_safe_side_is_answered() -> None:
    found = search(lambda epsilon: 12.0 if 0.5 < epsilon < 1.5 else 10.5)
    assert not found.monotone
    assert "Not monotone: the price clearly rises from" in price_text(found)
    assert found.answer is not None
    assert found.answer.value >= 1.5  # not 0.03, which is enough by itself, too


def test_few_tasks_and_a_budget_that_is_too_small_are_told() -> None:
    found = search(lambda _: 10.0)
    few = replace(found, tasks=(120, 140), spent=SpentBudget(6, 6.0, "over the run", 1.8, "curator.budget.epsilon"))
    assert not few.enough_tasks
    assert f"120 tasks in a run are few for a calibration ({LEAST_TASKS} or more are better)" in price_text(few)
    assert "6 per person over the run, for 6 releases. The scenario's budget is 1.8: raise" in price_text(few)
    private = replace(found, private_files=[Path("people.csv")])
    assert "NOT RELEASABLE: the scenario reads people.csv" in price_text(private)
    assert price_values(private)["releasable"] is False


def test_the_reference_that_fails_is_an_error_that_says_what_to_do() -> None:
    prices = Pretend(lambda _: 10.0)
    prices._calibrate = lambda scenarios, finish=None: {math.inf: dict.fromkeys(range(8), _row(None))}  # type: ignore[method-assign]
    with pytest.raises(
        GeodpError, match=r"exact counts \(no_privacy, cell_m 500\) do not reach .* 0.9 on 8 of 8 seeds"
    ):
        prices.price_reference()


def test_time_left_follows_from_what_calibrations_took() -> None:
    assert PriceProgress(total=10).seconds_left() is None
    assert PriceProgress(total=10, done=4, workers=2, seconds=[1.0, 3.0]).seconds_left() == 6.0
    assert PriceProgress(total=10, done=12, workers=2, seconds=[1.0]).seconds_left() == 0.0


@pytest.mark.slow
def test_a_small_scenario_is_priced_from_end_to_end_and_again_from_its_folder(tmp_path: Path) -> None:
    path, out, seen = small_file(tmp_path, TINIER), tmp_path / "advice", list[PriceProgress]()
    found = geodp.advise_within(path, 0.5, out=out, on_progress=seen.append, **NEAR)  # type: ignore[arg-type]
    assert found.reference.what == "no_privacy, cell_m 500"
    assert found.seeds == list(range(8))
    assert len(found.tried[0].costs) == 8
    assert found.tried[0].ratio.value is not None
    assert found.tried[0].ratio.value > found.tried[-1].ratio.value  # type: ignore[operator]  # 0.01 is dearer than 8
    for one in (*found.tried, found.reference.priced):
        for own in one.by_seed.values():
            assert abs(own["expected_at_success"] - 0.6) <= 0.002  # type: ignore[operator]
    assert not found.enough_tasks
    before = (out / "results.jsonl").read_text()
    assert len(before.splitlines()) == 8 * (len(found.tried) + 1) == seen[-1].done
    assert json.loads((out / "advice.json").read_text()) == price_values(found)
    assert (out / "figures" / "price_by_epsilon.png").read_bytes()[:4] == b"\x89PNG"
    drawing = (out / "figures" / "price_by_epsilon.svg").read_text()
    again = geodp.advise_within(path, 0.5, out=out, **NEAR)  # type: ignore[arg-type]
    assert price_values(again) == price_values(found)
    assert (out / "results.jsonl").read_text() == before  # nothing was made again
    assert (out / "figures" / "price_by_epsilon.svg").read_text() == drawing
    lines = before.splitlines(keepends=True)
    (out / "results.jsonl").write_text("".join(lines[:-3]) + lines[-1][:40])  # killed in the middle of a line
    resumed = geodp.advise_within(path, 0.5, out=out, **NEAR)  # type: ignore[arg-type]
    assert price_values(resumed) == price_values(found)
    assert sorted((out / "results.jsonl").read_text().count(f'"seed": {seed},') for seed in range(8)) == sorted(
        before.count(f'"seed": {seed},') for seed in range(8)
    )


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "love.txt").write_text("dear")
    with pytest.raises(OutputError, match="not empty, and not the folder of advice"):
        geodp.advise_within(small_file(tmp_path, TINY), 0.1, out=tmp_path / "letters")


def test_the_budget_follows_epsilon_and_the_reference_has_none(tmp_path: Path) -> None:
    changes = TINY | {"curator.budget": {"epsilon": 0.5, "when_spent": "fail"}, "curator.release_every_s": 200}
    path = small_file(tmp_path, changes)
    base = geodp.load_scenario(path, {"curator.budget.epsilon": 5.0})
    epsilon = VariedEpsilon(read_yaml(path), path, EPSILON, base)
    spent = epsilon.sum_spent(2.0)
    assert spent is not None
    assert (spent.releases, spent.total, spent.stated) == (3, 6.0, 5.0)
    scenario, name = epsilon.reference()
    assert name == "no_privacy, cell_m 500"
    assert scenario.curator is not None
    assert scenario.curator.budget.epsilon is None


def test_phones_that_report_by_themselves_are_held_against_exact_reports(tmp_path: Path) -> None:
    changes = {"curator": None, "device.mechanism": {"kind": "planar_laplace", "epsilon_per_m": 0.01}}
    changes |= {"server.assignment": {"kind": "nearest_report"}}
    raw = {key: value for key, value in TINY.items() if not key.startswith("curator")}
    path = small_file(tmp_path, raw | changes)
    base = geodp.load_scenario(path)
    assert find_epsilon(base, None) == "device.mechanism.epsilon_per_m"
    epsilon = VariedEpsilon(read_yaml(path), path, "device.mechanism.epsilon_per_m", base)
    scenario, name = epsilon.reference()
    assert scenario.device.mechanism.kind == "none"
    assert name == "device.mechanism none: exact reports"
    noisy, exact = (calibrate_scenario(one, 0, 0.5) for one in (base, scenario))
    assert noisy.cost > exact.cost > 1


@pytest.mark.parametrize("assignment", ["geocast", "reward_radius"])
@pytest.mark.parametrize(
    ("mechanism", "cell_m"),
    [
        ({"kind": "contour", "cell_m": 400}, "400"),
        ({"kind": "contour"}, None),  # the guideline's, for exact counts
        ({"kind": "uniform_grid", "cell_m": 600}, "600"),
        ({"kind": "adaptive_grid"}, None),
        ({"kind": "quadtree"}, None),
        ({"kind": "kd_tree"}, None),
        ({"kind": "dpcube"}, None),
        ({"kind": "kalman_counts", "cells": {"kind": "uniform_grid", "cell_m": 700}}, "700"),
    ],
)
def test_any_mechanism_and_assignment_can_be_asked(
    tmp_path: Path, mechanism: dict[str, Any], cell_m: str | None, assignment: str
) -> None:
    raw = {key: value for key, value in TINIER.items() if not key.startswith("curator.mechanism")}
    path = small_file(tmp_path, raw | {"curator.mechanism": mechanism, "server.assignment": {"kind": assignment}})
    base = geodp.load_scenario(path)
    assert find_epsilon(base, None) == EPSILON
    epsilon = VariedEpsilon(read_yaml(path), path, EPSILON, base)
    made = epsilon.scenario(2.5)
    assert made.curator is not None
    assert made.curator.mechanism.guarantee().epsilon == 2.5
    reference, name = epsilon.reference()
    assert reference.curator is not None
    assert reference.curator.mechanism.kind == "no_privacy"
    assert reference.server == base.server
    assert reference.workers == base.workers
    number = name.removeprefix("no_privacy, cell_m ")
    assert number == cell_m if cell_m is not None else 100 < float(number) < 5000


@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({}, {"within": 0.0}, "--within: a share above 0"),
        ({}, {"within": math.nan}, "--within: a share above 0"),
        ({}, {"seeds": 7}, "at least 8"),
        ({}, {"precision": 1.0}, "a share between 0 and 1"),
        ({}, {"success": 0.999}, "can be priced"),
        ({}, {"vary": "curator.mechanism.cell_m"}, "--within asks for an epsilon.*has curator.mechanism.epsilon"),
        ({}, {"vary": "curator.mechanism.epsilonn"}, "Did you mean 'epsilon'"),
        ({}, {"low": 2.0, "high": 1.0}, "range is empty"),
        ({"curator.mechanism": {"kind": "no_privacy"}}, {}, "no_privacy has none"),
        ({"compare": {"a": {}, "b": {}}}, {}, "compares arms"),
        ({"server.mode": "worker_selected"}, {}, "plans no offers"),
        (
            {"curator.budget": {"epsilon": 1.0, "split": "even"}},
            {},
            "has no effect, because curator.budget.split is even",
        ),
    ],
)
def test_wrong_questions_are_explained(
    tmp_path: Path, changes: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    raw = {key: value for key, value in TINY.items() if not any(key.startswith(f"{other}.") for other in changes)}
    with pytest.raises((UsageError, ScenarioError), match=words):
        geodp.advise_within(small_file(tmp_path, raw | changes), **({"within": 0.1} | options))


def test_a_failing_run_names_the_command_that_repeats_it(tmp_path: Path) -> None:
    from tests.sweeps import crashing

    kind = "moody_for_prices"  # a process knows one plug-in of a name, and other tests have theirs
    (tmp_path / "moody.py").write_text(crashing.MOODY.replace("moody_for_a_test", kind))
    path = small_file(tmp_path, TINY | {"plugins": ["moody.py"], "workers.mobility": {"kind": kind}})
    with pytest.raises(GeodpError, match="the moody one refuses") as failed:
        geodp.advise_within(path, 0.1, workers=1)
    assert f"geodp run {path} --seed" in str(failed.value)


@pytest.mark.slow
def test_the_command_line_prints_answer_table_and_plot(tmp_path: Path) -> None:
    path, file = small_file(tmp_path, TINIER), tmp_path / "advice.json"
    words = ["--low", "4", "--high", "8", "--success", "0.5", "--workers", "1", "--json", str(file), "--out", "here"]
    command = [sys.executable, "-m", "geodp", "advise", str(path), *words, "--precision", "0.9"]
    made = subprocess.run([*command, "--within", "1.5"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert f"{EPSILON} = 4 is the smallest value found" in made.stdout
    assert "plot: here/figures/price_by_epsilon.png" in made.stdout
    assert "calibrations" in made.stderr
    values = json.loads(file.read_text())
    assert (values["found"], values["value"], values["within"]) == (True, 4.0, 1.5)
    assert [row["value"] for row in values["tried"]] == [4.0, 5.0, 6.0, 7.0, 8.0]
    none = subprocess.run([*command, "--within", "0.0001"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert none.returncode == 1, none.stderr
    assert "No value" in none.stdout
    target = ["--target", "success_rate>=0.5"]
    for wrong in ([], ["--within", "0.1", *target], target, ["--within", "-1"], ["--within", "much"]):
        answer = subprocess.run([*command, *wrong], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert answer.returncode == 2, wrong
        assert answer.stderr


def test_priced_values_know_on_how_many_seeds_they_failed() -> None:
    rows = {0: _row(10.0), 1: _row(None), 2: _row(12.0)}
    one = Priced(1.0, rows, Measured(math.inf), enough=False)
    assert (one.missed, one.costs) == (1, [10.0, math.inf, 12.0])
    assert one.average("cost_at_success").value == 11.0
