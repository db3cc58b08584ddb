"""Arms of a comparison, priced at equal success on their own world."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geodp
from geodp.errors import ScenarioError
from geodp.pages.quantity import quantity
from geodp.runs.equal_success import calibrate_scenario, measure_plan
from tests.small import small

ARMS = {
    "capped": {},
    "everyone": {"server.assignment.max_recipients": None},
    "board": {"server.mode": "worker_selected", "server.looks_per_hour": 1.0, "curator": None},
}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenario = small({"tasks.demand.per_hour": 240, "compare": ARMS, "compare_at_success": 0.8})
    return geodp.run(scenario, tmp_path_factory.mktemp("priced") / "run", draw_map=False).folder.path


def test_every_arm_that_plans_on_a_target_has_the_same_success_and_its_price(compared: Path) -> None:
    table = pd.read_csv(compared / "equal_success.csv").set_index("arm")
    priced = table.loc[["capped", "everyone"]]
    assert priced["expected_success"].to_numpy() == pytest.approx(0.8, abs=0.0021)
    assert priced["against_first"].tolist() == pytest.approx([1.0, priced["asked"].iloc[1] / priced["asked"].iloc[0]])
    assert priced["asked"]["everyone"] > 1.3 * priced["asked"]["capped"]  # rounds and the cap save askings
    assert (priced["target"] > 0.5).all()


def test_an_arm_without_a_target_says_why_it_has_no_price(compared: Path) -> None:
    table = pd.read_csv(compared / "equal_success.csv").set_index("arm")
    assert pd.isna(table["asked"]["board"])
    assert "worker_selected" in table["note"]["board"]


def test_an_arm_without_a_target_is_beside_the_first_at_the_success_that_it_has(compared: Path) -> None:
    row: Any = pd.read_csv(compared / "equal_success.csv").set_index("arm").loc["board"]
    run = geodp.open_run(compared).folder.arms["board"]
    assert row["taken"] == pytest.approx(run.metrics["success_rate"])
    asked = row["asked_as_it_stands"]
    assert asked == pytest.approx(measure_plan(run, 0.5).asked)
    same = small({"tasks.demand.per_hour": 240})
    assert row["first_asks_for_as_much"] == pytest.approx(calibrate_scenario(same, same.seed, float(row["taken"])).cost)
    assert f"capped asks {row['first_asks_for_as_much']:.3g}" in row["note"]
    text, page = ((compared / name).read_text(encoding="utf-8") for name in ("summary.md", "report.html"))
    assert f"{asked:.3g} people asked" in text
    assert f"| {asked / row['first_asks_for_as_much']:.2f}×, both at {row['taken']:.1%}".replace("%", " %") in text
    assert "board plans on no target" in page
    assert f"capped asks {quantity(row['first_asks_for_as_much'])} for as much" in page


def test_the_summary_tells_the_price_and_arms_rerun_as_they_stand(compared: Path) -> None:
    text = (compared / "summary.md").read_text(encoding="utf-8")
    assert "## At equal success (80.0 %)" in text
    assert "| `capped` |" in text
    assert "compare_at_success" not in (compared / "arms" / "capped" / "scenario.yaml").read_text(encoding="utf-8") or (
        "compare_at_success: null" in (compared / "arms" / "capped" / "scenario.yaml").read_text(encoding="utf-8")
    )


def test_an_arm_that_no_target_brings_there_says_how_far_it_comes(tmp_path: Path) -> None:
    unwilling = {"workers.acceptance": {"kind": "tanh_reward", "ceiling": 0.001, "max_travel_m": 2000}}
    scenario = small({"compare": {"willing": {}, "unwilling": unwilling}, "compare_at_success": 0.8})
    path = geodp.run(scenario, tmp_path / "run", draw_map=False).folder.path
    row: Any = pd.read_csv(path / "equal_success.csv").set_index("arm").loc["unwilling"]
    assert 0 < row["expected_success"] < 0.79
    text = (path / "summary.md").read_text(encoding="utf-8")
    assert f"- `unwilling`: no target reaches 0.8: the highest comes to {row['expected_success']:.3g} and asks" in text


@pytest.mark.parametrize(("value", "message"), [(0.9, "give 'compare'"), (1.5, "compare_at_success")])
def test_a_price_without_arms_or_out_of_reach_is_refused(value: float, message: str) -> None:
    changes: dict[str, Any] = {"compare_at_success": value} | ({} if value < 1 else {"compare": {"only": {}}})
    with pytest.raises(ScenarioError, match=message):
        small(changes)
