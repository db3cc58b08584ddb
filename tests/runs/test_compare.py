from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from geodp.errors import UsageError
from geodp.run_folder.folder import RunFolder
from geodp.runs.compare import compare_runs, comparison_text
from tests.metrics.hand_made import hand_made_run


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, RunFolder]:
    """Same tasks; in `changed`, task 2 fails, task 1 is taken from 400 m, trip 0 is 30 m longer."""
    base, changed = hand_made_run(tmp_path / "base"), hand_made_run(tmp_path / "changed")
    events = pd.read_parquet(changed.path / "events.parquet")
    two = (events["task"] == 2) & events["kind"].isin(["departure", "completion"])
    lost = events[~two]
    zero = lost["task"].eq(0) & lost["kind"].eq("departure")
    lost.loc[zero, "y_m"] = 130.0
    departure = lost[zero].assign(task=1, worker=3, x_m=100.0, y_m=400.0, time_s=61.0)
    expiry = lost[lost["kind"] == "expiry"].assign(task=2, time_s=210.0)
    pd.concat([lost, departure, expiry]).to_parquet(changed.path / "events.parquet")
    return {"base": base, "changed": RunFolder(changed.path)}


def _row(table: pd.DataFrame, metric: str) -> dict[str, Any]:
    return dict(table.set_index("metric").loc[metric])


def test_differences_are_taken_task_by_task(runs: dict[str, RunFolder]) -> None:
    row = _row(compare_runs(runs), "success_rate")
    assert row["base"] == row["changed"] == 0.5
    # task by task 0, 1, -1, 0, 0, 0: mean 0, sd sqrt(2/5), t(5) = 2.570582
    assert row["changed - base"] == 0
    assert row["changed - base high"] == pytest.approx(2.570582 * 0.632456 / 6**0.5, abs=1e-6)
    assert row["changed - base pairs"] == 6
    assert row["paired"]


def test_conditional_quantities_compare_tasks_defined_in_both(runs: dict[str, RunFolder]) -> None:
    row = _row(compare_runs(runs), "travel_distance_m")
    assert row["base"] == 250  # 100, 600, 50
    assert row["changed"] == pytest.approx((130 + 400 + 50) / 3)
    assert row["changed - base"] == pytest.approx(15)  # tasks 0 and 5: +30 and 0
    assert row["changed - base pairs"] == 2


def test_a_sum_compares_sums(runs: dict[str, RunFolder]) -> None:
    row = _row(compare_runs(runs), "reward_spent")
    assert (row["base"], row["changed"]) == (9, 8)  # 2 + 3 + 4 and 2 + 2 + 4
    assert row["changed - base"] == pytest.approx(-1)
    # per task 0, +2, -3, 0, 0, 0, 0, 0: sd 1.356203, t(7) = 2.364624
    assert row["changed - base high"] == pytest.approx(-1 + 2.364624 * 1.3562027 * 8**0.5, rel=1e-5)


def test_a_number_without_tasks_has_a_plain_difference(runs: dict[str, RunFolder]) -> None:
    row = _row(compare_runs(runs), "epsilon_spent")
    assert row["changed - base"] == 0
    assert row["changed - base low"] is pd.NA
    assert row["changed - base pairs"] is pd.NA
    assert not row["paired"]


def test_other_worlds_are_not_paired(runs: dict[str, RunFolder]) -> None:
    path = runs["changed"].path
    events = pd.read_parquet(path / "events.parquet")
    events.loc[events["kind"] == "task_arrived", "x_m"] += 1.0
    events.to_parquet(path / "events.parquet")
    table = compare_runs({"base": runs["base"], "changed": RunFolder(path)})
    assert not table["paired"].any()
    row = _row(table, "success_rate")
    # 3 of 6 twice, Wilson 0.5 ± 0.312383 each: the half-widths add in squares
    assert row["changed - base high"] == pytest.approx(2**0.5 * 0.312383, abs=1e-5)


def test_the_table_survives_csv(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    table = compare_runs(runs)
    table.to_csv(tmp_path / "comparison.csv", index=False)
    back = pd.read_csv(tmp_path / "comparison.csv")
    assert list(back.columns) == list(table.columns)
    assert back["changed"].astype("Float64").equals(table["changed"])
    assert not back["metric"].duplicated().any()


def test_three_runs_are_all_compared_with_the_first(runs: dict[str, RunFolder]) -> None:
    table = compare_runs(runs | {"again": runs["base"]})
    assert "again - base" in table
    assert "again - changed" not in table
    assert (table["again - base"].dropna() == 0).all()


def test_a_comparison_needs_two_runs_and_usable_names(runs: dict[str, RunFolder]) -> None:
    with pytest.raises(UsageError, match="at least two runs"):
        compare_runs({"base": runs["base"]})
    with pytest.raises(UsageError, match="cannot be called 'metric'"):
        compare_runs({"base": runs["base"], "metric": runs["changed"]})


def test_a_comparison_is_not_a_run(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    hand_made_run(whole / "arms" / "first")
    (whole / "manifest.json").write_text(json.dumps({"arms": ["first"]}))
    with pytest.raises(UsageError, match="is itself a comparison"):
        compare_runs({"base": runs["base"], "whole": RunFolder(whole)})


def test_what_is_read_out_covers_every_metric(runs: dict[str, RunFolder]) -> None:
    table = compare_runs({"base": runs["base"], "same": RunFolder(runs["base"].path)})
    text = comparison_text(table, {"base": runs["base"], "same": runs["base"]})
    judged = int((table["same - base low"].notna() & table["same - base high"].notna()).sum())
    assert judged > len(set(table["metric"]) & {"success_rate", "travel_distance_m"})
    assert f"nothing differs by more than chance, in any of the {judged} metrics whose difference" in text
    table = table.set_index("metric")
    table.loc["execution_cost_m_extra"] = table.loc["execution_cost_m"]
    table.loc["execution_cost_m_extra", ["same - base", "same - base low", "same - base high"]] = [2.0, 1.0, 3.0]
    table.loc["epsilon_spent", "same - base"] = 0.5
    text = comparison_text(table.reset_index(), {"base": runs["base"], "same": runs["base"]})
    assert "nothing differs" not in text
    assert "further: `execution_cost_m_extra` (see the table)" in text
    assert "without an interval that says whether by chance: `epsilon_spent`." in text
