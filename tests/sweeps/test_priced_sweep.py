"""Sweeps that price their runs at equal success."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geodp
from geodp.errors import ScenarioError
from geodp.metrics.intervals import mean
from geodp.runs.equal_success import COLUMNS, calibrate_scenario
from geodp.sweeps.output import with_infinite_costs
from geodp.sweeps.sweep import sweep_jobs
from geodp.sweeps.sweep_file import load_sweep
from geodp.sweeps.tables import pair_gaps
from tests.sweeps.small_sweep import sweep_file

PRICED = {"at_success": 0.5, "seeds": [1, 2], "plot": {"y": "cost_at_success"}}
FEW = {"duration_s": 300, "workers.source.count": 1500}


def test_a_sweep_prices_its_runs_at_equal_success_and_resumes(tmp_path: Path) -> None:
    grids: list[dict[str, Any]] = [{"curator.mechanism.epsilon": [0.01, 2.0]}]
    path = sweep_file(tmp_path, PRICED | {"grids": grids}, base=FEW)
    made = geodp.sweep(path, tmp_path / "out", workers=1)
    runs = made.runs
    assert set(COLUMNS) <= set(runs.columns)
    assert (runs["expected_at_success"] - 0.5).abs().max() <= 0.002
    for row in runs.itertuples():
        scenario = geodp.load_scenario(tmp_path / "small.yaml", {"curator.mechanism.epsilon": row.epsilon_spent})
        assert row.cost_at_success == calibrate_scenario(scenario, row.seed, 0.5).cost
    assert {"cost_at_success", "target_at_success"} <= set(made.summary["metric"])
    assert (
        "workers asked per task at equal success"
        in (tmp_path / "out" / "figures" / "cost_at_success_by_epsilon.svg").read_text()
    )
    results = tmp_path / "out" / "results.jsonl"
    lines = results.read_text().splitlines(keepends=True)
    results.write_text("".join(lines[:2]))
    table = (tmp_path / "out" / "runs.parquet").read_bytes()
    geodp.sweep(path, tmp_path / "out", workers=1)
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == table
    assert results.read_text().splitlines(keepends=True)[:2] == lines[:2]  # they were not made again
    plain = {
        job["run_id"] for job in sweep_jobs(load_sweep(sweep_file(tmp_path, {"grids": grids}, base=FEW)), tmp_path)
    }
    assert not plain & set(runs["run_id"])  # a run without a price is another one


def test_a_success_out_of_reach_is_an_infinite_cost_that_no_mean_passes_over() -> None:
    rows = [("c0000", 1, 4.0, 0.9), ("c0000", 2, None, 0.4), ("c0001", 1, 5.0, 0.9), ("c0001", 2, None, 0.3),
            ("c0002", 1, None, None), ("c0002", 2, 6.0, 0.9)]  # fmt: skip
    runs = pd.DataFrame(rows, columns=["cell", "seed", "cost_at_success", "expected_at_success"])
    costs = with_infinite_costs(runs)["cost_at_success"]
    assert costs.tolist()[:4] == [4.0, math.inf, 5.0, math.inf]
    assert math.isnan(costs[4])  # a run that failed has no price at all
    assert mean(costs[:2]).value is None
    gaps = pair_gaps(costs[:2].reset_index(drop=True), costs[2:4].reset_index(drop=True))
    assert gaps.tolist() == [-1.0, math.inf]
    assert mean(gaps).value is None


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"plot": {"y": "cost_at_success"}}, "plot.0.y", "needs the success it is at: give at_success: 0.9"),
        ({"at_success": 1.5}, "at_success", "must be at most 0.99"),
        ({"at_success": 0.9, "grids": [{"server.mode": ["worker_selected"]}]}, "at_success", "plans no offers"),
        ({"plot": {"y": "cost_at_succes"}}, "plot.0.y", "Did you mean 'cost_at_success'"),
    ],
)
def test_a_price_that_cannot_be_found_is_refused_before_anything_runs(
    tmp_path: Path, changes: dict[str, Any], place: str, words: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        load_sweep(sweep_file(tmp_path, changes))
    assert words in dict(refused.value.problems)[place]


def test_a_value_that_is_null_is_called_so_in_tables_and_legends(tmp_path: Path) -> None:
    grids = [{"curator.mechanism.epsilon": [2.0], "server.assignment.max_recipients": ["auto", None]}]
    path = sweep_file(tmp_path, {"grids": grids, "seeds": [1]}, base={"duration_s": 120})
    runs = geodp.sweep(path, tmp_path / "out", workers=1, draw=False).runs
    assert sorted(runs["server.assignment.max_recipients"]) == ["auto", "null"]
