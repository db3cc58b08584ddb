"""Budgets that come back: per day, and in any window of some seconds."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from geodp.errors import ScenarioError
from geodp.runs.run import run
from geodp.scenario.report import report
from tests.small import small

HOURLY = {
    "duration_s": 6 * 3600,
    "curator.release_every_s": 3600,
    "curator.mechanism.epsilon": 0.5,
    "workers.source.count": 300,
    "workers.mobility": {"kind": "static"},
    "tasks.demand.per_hour": 4,
}


def spent(folder: Path, changes: dict[str, Any]) -> tuple[pd.DataFrame, list[str]]:
    """Run the small town for six hours; return its ledger and what came of every scheduled release."""
    done = run(small({**HOURLY, **changes}), folder / "run", draw_map=False)
    events = done.events
    releases = events[events["kind"] == "release"]
    return done.ledger, releases["reason"].astype(str).tolist()


def test_a_window_lets_the_budget_come_back(tmp_path: Path) -> None:
    """Two releases of 0.5 fit any three hours: the third hour has none, and so on."""
    ledger, reasons = spent(tmp_path, {"curator.budget": {"epsilon": 1.0, "window_s": 10_800}})
    times = ledger["time_s"].to_numpy()
    assert times.tolist() == [0, 3600, 10_800, 14_400]
    assert [reason for reason in reasons if "reuse" in reason] == [reasons[2], reasons[5]]
    for start in times:
        window = (times >= start) & (times < start + 10_800)
        assert np.count_nonzero(window) * 0.5 <= 1.0
    assert ledger["total"].iloc[-1] == 2.0


def test_a_daily_budget_comes_back_at_midnight(tmp_path: Path) -> None:
    """The run starts at 21:00, so midnight is three hours in."""
    changes = {"start_time": "21:00", "curator.budget": {"epsilon": 1.0, "per": "day", "when_spent": "stop"}}
    ledger, reasons = spent(tmp_path, changes)
    assert ledger["time_s"].tolist() == [0, 3600, 10_800, 14_400]
    assert reasons[2] == reasons[5] != reasons[3]


def test_without_a_stated_budget_a_window_holds_exactly_its_own_releases(tmp_path: Path) -> None:
    resolved = small({**HOURLY, "curator.budget": {"window_s": 10_800}}).resolve()
    assert resolved.curator is not None
    assert resolved.curator.budget.epsilon == 1.5
    daily = small({**HOURLY, "start_time": "22:00", "curator.budget": {"per": "day"}}).resolve()
    assert daily.curator is not None
    assert daily.curator.budget.epsilon == 2.0  # two releases before midnight, four after


PUBLISHED = {
    "workers.visit_source": {"kind": "generated_visits", "venues": 40, "mean_visits": 5},
    "publish": [{"kind": "prilocation", "epsilon": 0.05, "cap": 10, "clusters": 4}],
}
"""A publication about the whole run that costs each person 0.5."""


@pytest.mark.parametrize(
    "budget", [{"epsilon": 1.0, "window_s": 10_800}, {"epsilon": 1.0, "per": "day", "when_spent": "stop"}]
)
def test_what_is_published_about_the_run_counts_in_every_window_and_day(tmp_path: Path, budget: Any) -> None:
    """With 0.5 of 1.0 published, one release of 0.5 instead of two fits any three hours, or the hours to midnight."""
    ledger, _ = spent(tmp_path, {**PUBLISHED, "start_time": "21:00", "curator.budget": budget})
    published = ledger[ledger["mechanism"] == "prilocation"]
    assert published[["time_s", "begin_s", "end_s"]].to_numpy().tolist() == [[21_600, 0, 21_600]]
    releases = ledger[ledger["mechanism"] != "prilocation"]
    assert releases["time_s"].tolist() == [0, 10_800]
    assert (releases["begin_s"] == releases["time_s"]).all()


def test_the_default_budget_and_check_count_what_is_published_in_every_window() -> None:
    budget = {"window_s": 10_800}
    resolved = small({**HOURLY, **PUBLISHED, "curator.budget": budget}).resolve()
    assert resolved.curator is not None
    assert resolved.curator.budget.epsilon == 2.0  # three releases in any three hours, and the publication
    text = report(small({**HOURLY, **PUBLISHED, "curator.budget": {"epsilon": 1.0, **budget}}), "small.yaml")
    assert "2 releases × ε 0.5 + ε 0.5 published = ε 1.5" in text
    with pytest.raises(ScenarioError, match="cost 2 × 0.5 = 1 and the publications at the end 0.5 and the budget"):
        small({**HOURLY, **PUBLISHED, "curator.budget": {"epsilon": 1.0, "window_s": 7200, "when_spent": "fail"}})


def test_check_tells_how_many_releases_a_window_allows() -> None:
    text = report(small({**HOURLY, "curator.budget": {"epsilon": 1.0, "window_s": 10_800}}), "small.yaml")
    assert "4 releases × ε 0.5 = ε 2 (add/remove), 4 (replace) per person over the run" in text
    assert "of a budget of ε 1 in any 10800 s" in text


def test_contradictory_windows_are_refused() -> None:
    with pytest.raises(ScenarioError, match="per: day or window_s, not both"):
        small({"curator.budget": {"per": "day", "window_s": 60}})
    with pytest.raises(ScenarioError, match="greater than 0"):
        small({"curator.budget": {"window_s": 0}})
    with pytest.raises(ScenarioError, match=r"releases in any 7200 s cost 2 × 0\.5 = 1 and the budget is 0\.5"):
        small({**HOURLY, "curator.budget": {"epsilon": 0.5, "window_s": 7200, "when_spent": "fail"}})
    small({**HOURLY, "curator.budget": {"epsilon": 0.5, "window_s": 3600, "when_spent": "fail"}})
