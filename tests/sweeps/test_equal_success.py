"""Calibration: on laws whose answer is known, and on small runs whose truth is worked out anew."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geodp
from geodp.errors import GeodpError, UsageError
from geodp.metrics.effort import NotifiedWorkers
from geodp.metrics.protocol import find_decided_tasks
from geodp.run_folder.folder import RunFolder
from geodp.runs.equal_success import (
    COLUMNS,
    HIGHEST,
    LOWEST,
    MOST_RUNS,
    WITHIN,
    Calibrated,
    Planned,
    calibrate,
    calibrate_scenario,
    measure_plan,
    with_target,
)
from geodp.runs.run import run_into
from geodp.sweeps.equal_success import price_job, price_jobs
from tests.small import small, small_file
from tests.sweeps.small_sweep import QUICK

TINY = QUICK | {"workers.source.count": 1500, "tasks.demand.per_hour": 240}
"""About forty tasks, an eighth of a second."""


def hazard(target: float) -> float:
    return -math.log1p(-target)


def planned(law: Callable[[float], float]) -> Callable[[float], Planned]:
    """Make runs whose success is a law of the target, and which ask ten people for every willing one."""
    return lambda target: Planned(target, law(target), asked=10 * hazard(law(target)), taken=law(target))


@pytest.mark.parametrize("factor", [0.4, 0.8, 1.0, 1.3, 3.0])
@pytest.mark.parametrize("power", [0.6, 1.0, 1.5])
@pytest.mark.parametrize("success", [0.5, 0.7, 0.9, 0.95])
def test_the_target_is_found_in_a_few_runs_where_success_is_a_smooth_law_of_it(
    factor: float, power: float, success: float
) -> None:
    # ln(-ln(1 - success)) is a straight line of that of the target, plus a bend: like too many or too few people.
    def law(target: float) -> float:
        return -math.expm1(-factor * hazard(target) ** power * math.exp(0.05 * math.sin(3 * hazard(target))))

    found = calibrate(planned(law), success)
    if law(HIGHEST) < success - WITHIN:
        assert found.cost == math.inf
        return
    assert found.found is not None
    assert abs(law(found.found.target) - success) <= WITHIN
    assert found.runs <= 8
    assert found.cost == pytest.approx(10 * hazard(success), rel=0.03)


def test_a_server_that_is_right_about_people_needs_one_run() -> None:
    found = calibrate(planned(lambda target: target), 0.9)
    assert found.runs == 1
    assert found.cost == pytest.approx(10 * math.log(10))
    assert found.first is found.found


def test_a_success_that_no_target_reaches_costs_infinitely_much() -> None:
    found = calibrate(planned(lambda target: 0.85 * target), 0.9)
    assert found.cost == math.inf
    assert found.found is None
    assert found.last.target == pytest.approx(HIGHEST)
    assert found.runs <= 5
    columns = found.columns()
    assert list(columns) == list(COLUMNS)
    assert (columns["cost_at_success"], columns["target_at_success"]) == (None, None)
    assert columns["expected_at_success"] == pytest.approx(0.85 * HIGHEST)


def test_where_even_the_lowest_target_asks_too_many_that_is_the_price() -> None:
    found = calibrate(planned(lambda target: 0.95 + 0.04 * target), 0.9)
    assert found.found is not None
    assert found.found.target == pytest.approx(LOWEST)
    assert found.cost == pytest.approx(10 * hazard(0.95 + 0.04 * LOWEST))
    assert not found.mixed


def test_where_success_jumps_over_what_is_wanted_both_sides_are_mixed() -> None:
    found = calibrate(planned(lambda target: 0.95 if target > 0.83 else 0.8), 0.9)
    assert found.mixed
    assert found.cost == pytest.approx(10 * (hazard(0.8) + 2 / 3 * (hazard(0.95) - hazard(0.8))))
    assert found.found is not None
    assert found.found.success == 0.9
    assert found.found.target == pytest.approx(0.83, abs=0.01)
    assert found.runs <= 12


def test_a_law_that_trembles_is_met_all_the_same() -> None:
    # Other offers make other people busy: success trembles with the target, here by up to 0.004 either way.
    for seed in range(20):
        tremble = np.random.default_rng(seed).uniform(-0.004, 0.004, size=100_000)
        found = calibrate(planned(lambda target, by=tremble: 0.9 * target + 0.06 + by[int(target * 99_999)]), 0.9)  # type: ignore[misc]
        assert found.found is not None
        assert abs(found.found.success - 0.9) <= WITHIN
        assert abs(found.cost - 10 * hazard(0.9)) <= 10 * 0.03  # 0.002 of success, and what a mixture bends
        assert found.runs <= MOST_RUNS


def test_a_small_run_is_measured_by_what_its_folder_says(tmp_path: Path) -> None:
    scenario = small(TINY)
    found = calibrate_scenario(scenario, 3, 0.6)
    assert found.found is not None
    assert abs(found.found.success - 0.6) <= WITHIN
    last = found.last
    assert last != found.first
    # The same run by the usual way, and its numbers worked out anew.
    same = with_target(scenario, last.target).model_copy(update={"seed": 3})
    run_into(tmp_path, same, draw_map=False, summarise=False)
    run = RunFolder(tmp_path)
    fate, truth, asked = find_decided_tasks(run), run.offer_truth["expected_success"], NotifiedWorkers().per_task(run)
    assert last.tasks == len(fate)
    assert last.success == pytest.approx(sum(truth.get(task, 0.0) for task in fate.index) / len(fate), abs=1e-12)
    assert last.asked == pytest.approx(sum(asked.get(task, 0.0) for task in fate.index) / len(fate))
    assert last.taken == run.metrics["success_rate"]
    assert last.travel_m == pytest.approx(run.metrics["travel_distance_m"])
    assert last.reward == pytest.approx(run.metrics["reward_per_completed"])


def test_a_task_without_an_offer_counts_as_a_failure_that_asked_nobody(tmp_path: Path) -> None:
    # Batches are a minute apart and answers take one: who waits no longer than 90 s may come to no offer at all.
    scenario = small(TINY | {"tasks.patience_s": 90})
    run_into(tmp_path, scenario, draw_map=False, summarise=False)
    run = RunFolder(tmp_path)
    fate = find_decided_tasks(run)
    without = fate.index.difference(run.offer_truth.index)
    assert 3 <= without.size < len(fate) - 5
    made = measure_plan(run, 0.9)
    offered = run.offer_truth["expected_success"].reindex(fate.index).dropna()
    assert made.success == pytest.approx(offered.sum() / (offered.size + without.size))


def test_all_targets_meet_one_world_which_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from geodp.simulation import engine

    built: list[int] = []
    build = engine.build_world

    def count(scenario: Any, streams: Any) -> Any:
        built.append(scenario.seed)
        return build(scenario, streams)

    monkeypatch.setattr(engine, "build_world", count)
    found = calibrate_scenario(small(TINY), 2, 0.5)
    assert built == [2]
    assert found.runs > 1


def test_a_job_gives_the_same_numbers_as_the_library(tmp_path: Path) -> None:
    path = small_file(tmp_path, TINY)
    table = geodp.cost_at_success(path, 0.6, seeds=2, first_seed=3, workers=1)
    here = calibrate_scenario(geodp.load_scenario(path), 3, 0.6)
    assert table.loc[3, "cost_at_success"] == here.cost
    assert list(table.columns) == [*COLUMNS, "tasks"]
    job = price_jobs(geodp.load_scenario(path), "x", [3], 0.6)[0]
    outcome = price_job(job)
    assert outcome["status"] == "ok"
    assert outcome["metrics"]["cost_at_success"] == here.cost
    assert outcome["metrics"]["fixed_success"] == here.first.success
    other = price_jobs(geodp.load_scenario(path), "x", [3], 0.7)[0]
    assert other["run_id"] != job["run_id"]


def test_a_success_out_of_reach_is_an_infinite_row_of_the_table(tmp_path: Path) -> None:
    path = small_file(tmp_path, TINY | {"workers.source.count": 100})
    table = geodp.cost_at_success(path, 0.9, seeds=1, workers=1)
    assert table["cost_at_success"].tolist() == [math.inf]
    assert pd.isna(table["target_at_success"].iloc[0])
    assert 0 < table["expected_at_success"].iloc[0] < 0.9


@pytest.mark.parametrize(
    ("changes", "success", "words"),
    [
        ({}, 0.01, "between 0.05 and 0.99 can be priced"),
        ({}, 0.999, "between 0.05 and 0.99 can be priced"),
        ({"compare": {"a": {}, "b": {}}}, 0.9, "compares arms"),
        ({"server.mode": "worker_selected"}, 0.9, "plans no offers"),
    ],
)
def test_what_has_no_price_is_refused(tmp_path: Path, changes: dict[str, Any], success: float, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        geodp.cost_at_success(small_file(tmp_path, TINY | changes), success, seeds=1, workers=1)


def test_an_assignment_without_a_target_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "nowhere.py").write_text(
        "from typing import ClassVar\n"
        "from geodp.server.assignment import Assignment\n"
        "class AskNobody(Assignment):\n"
        '    """Ask nobody."""\n'
        '    kind: ClassVar[str] = "ask_nobody_for_a_test"\n'
        '    reads: ClassVar[frozenset[str]] = frozenset({"cells"})\n'
        "    def offers(self, tasks, view):\n"
        "        return []\n"
    )
    changes = {"plugins": ["nowhere.py"], "server.assignment": {"kind": "ask_nobody_for_a_test"}}
    with pytest.raises(UsageError, match="'ask_nobody_for_a_test' has no target_success"):
        geodp.cost_at_success(small_file(tmp_path, TINY | changes), seeds=1)


def test_a_run_without_a_decided_task_has_no_price() -> None:
    with pytest.raises(GeodpError, match="no task was decided"):
        calibrate_scenario(
            small(TINY | {"duration_s": 61, "server.batch_s": 60, "curator.release_every_s": 60}), 0, 0.9
        )


def test_the_price_of_a_calibration_is_that_of_the_run_found() -> None:
    run = Planned(0.8, 0.9, asked=12.5, taken=0.91, travel_m=200.0, reward=4.0, tasks=30)
    assert Calibrated(0.9, run, run, run, 1).columns() == {
        "cost_at_success": 12.5,
        "target_at_success": 0.8,
        "expected_at_success": 0.9,
        "taken_at_success": 0.91,
        "travel_at_success_m": 200.0,
        "reward_at_success": 4.0,
    }
