"""A budget for a whole day: shared out evenly, in windows, or spent on a few measurements."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from geodp.audit.run_audit import audit_releases
from geodp.display.caption import privacy_line
from geodp.errors import ScenarioError
from geodp.privacy.ledger import Ledger
from geodp.run_folder.folder import RunFolder
from geodp.runs.run import run
from geodp.scenario.costs import in_force
from geodp.scenario.report import report
from tests.simulation.test_budget_windows import HOURLY
from tests.small import small

KALMAN = {"kind": "kalman_counts", "measure_every": 3, "cells": {"kind": "uniform_grid", "cell_m": 800}}


def day(changes: dict[str, Any]) -> dict[str, Any]:
    hourly = {key: value for key, value in HOURLY.items() if key != "curator.mechanism.epsilon"}
    return {**hourly, "curator.mechanism": {"kind": "uniform_grid", "cell_m": 800}, **changes}


def epsilon_of(changes: dict[str, Any]) -> float:
    resolved = small(day(changes)).resolve()
    assert resolved.curator is not None
    return float(resolved.curator.mechanism.guarantee().epsilon)


def test_an_even_split_gives_every_release_the_same_share() -> None:
    """Six hourly releases."""
    assert epsilon_of({"curator.budget": {"epsilon": 3.0, "split": "even"}}) == 0.5
    assert epsilon_of({"curator.budget": {"epsilon": 1.0, "window_s": 10_800, "split": "even"}}) == pytest.approx(1 / 3)
    assert epsilon_of({"curator.budget": {"epsilon": 1.0, "split": "even"}, "curator.mechanism": KALMAN}) == 0.5
    assert epsilon_of({}) == 0.4


@pytest.mark.parametrize("epsilon", [5.0, 1.0, 0.7])
def test_shares_never_add_up_to_more_than_the_whole(tmp_path: Path, epsilon: float) -> None:
    """5/6 rounds up in binary: six of it would be more than 5, and the last release would be refused."""
    changes = day({"curator.budget": {"epsilon": epsilon, "split": "even", "when_spent": "fail"}})
    done = run(small(changes), tmp_path / "run", draw_map=False)
    assert len(done.ledger) == 6
    assert done.ledger["total"].max() == pytest.approx(epsilon)
    assert done.ledger["total"].max() <= epsilon
    again = run(tmp_path / "run" / "scenario.yaml", tmp_path / "again", draw_map=False)
    assert again.ledger["epsilon"].tolist() == done.ledger["epsilon"].tolist()


@pytest.mark.parametrize("epsilon", [7.7, 1.1, 2.3, 0.9])
@pytest.mark.parametrize("published", [0.1, 0.2, 0.7, 0.05])
def test_what_a_publication_leaves_is_enough_for_all_shares(epsilon: float, published: float) -> None:
    """As the ledger adds up, exactly: (7.7 - 0.1)/6 in doubles, six times, and 0.1 are a little more than 7.7."""
    counts = {"kind": "laplace_counts", "epsilon": published, "cap": 5}
    scenario = small(day({"curator.budget": {"epsilon": epsilon, "split": "even"}, "publish": [counts]}))
    assert "6 releases × ε" in report(scenario, "day.yaml")
    mechanism = in_force(scenario)
    assert mechanism is not None
    ledger = Ledger(epsilon)
    for cost in [published, *[mechanism.guarantee().epsilon] * 6]:
        ledger.charge(replace(mechanism.guarantee(), epsilon=cost), time_s=0, mechanism="m")
    assert ledger.sum_spent() == pytest.approx(epsilon, rel=1e-12)


def test_predictions_cost_nothing_and_say_so(tmp_path: Path) -> None:
    scenario = small(day({"curator.budget": {"epsilon": 1.0, "split": "even"}, "curator.mechanism": KALMAN}))
    done = run(scenario, tmp_path / "run", draw_map=False)
    assert done.ledger["time_s"].tolist() == [0, 10_800]
    assert done.ledger["total"].max() == 1.0
    releases = done.events[done.events["kind"] == "release"]
    assert releases["value"].tolist() == [0.5, 0, 0, 0.5, 0, 0]
    assert (releases["reason"] == "predicted_from_earlier_releases").tolist() == [False, True, True, False, True, True]
    summary = (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")
    assert "4 of the 6 releases were **predicted**" in summary
    assert "2 releases × 0.5" in summary
    assert "4 more releases are worked out from these and cost nothing" in report(scenario, "small")
    stored = [release.measured for release in RunFolder(tmp_path / "run").densities]
    assert stored == [True, False, False, True, False, False]


def test_predictions_that_were_further_off_than_they_said_are_reported(tmp_path: Path) -> None:
    """Everyone moves about, and the filter is told that nobody ever leaves a cell."""
    filtered = {**KALMAN, "stay_s": 1e9}
    moving = {"workers.mobility": {"kind": "random_waypoint"}, "workers.source.count": 5000}
    changes = {**moving, "curator.budget": {"epsilon": 20.0, "split": "even"}, "curator.mechanism": filtered}
    run(small(day(changes)), tmp_path / "run", draw_map=False)
    summary = (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")
    assert "4 of 4 predicted releases were further off than they said" in summary


@pytest.mark.parametrize(
    ("name", "advice"), [("pid", "`curator.mechanism.samples`"), ("bd", "`curator.mechanism.window`")]
)
def test_what_helps_against_bad_predictions_is_a_setting_of_the_mechanism(
    tmp_path: Path, name: str, advice: str
) -> None:
    """Everyone moves, and the filter is told that nobody leaves; or a few cells change much, most of them little."""
    changes = series_day(name, 8.0, stay_s=1e9) if name == "pid" else series_day(name, 2.0)
    way = {"kind": "random_waypoint"} if name == "pid" else {"kind": "commuter", "errand_share": 0}
    changes |= {"workers.mobility": way, "workers.source.count": 5000, "tasks.demand.per_hour": 5}
    if name == "bd":
        changes["start_time"] = "06:00"
        changes["curator.mechanism"]["cells"] = {"kind": "uniform_grid", "cell_m": 400}
    run(small(changes), tmp_path / "run", draw_map=False)
    summary = (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")
    (note,) = [line for line in summary.splitlines() if "further off" in line]
    assert advice in note
    assert "measure_every" not in note


@pytest.mark.parametrize("name", ["tree", "pid", "bd"])
def test_a_map_counts_the_releases_of_a_series_and_not_its_charges(tmp_path: Path, name: str) -> None:
    run(small(series_day(name)), tmp_path / "run", draw_map=False)
    line, _ = privacy_line(RunFolder(tmp_path / "run"))
    assert "per person (a series of 6 releases)" in line


def test_a_filtered_day_does_not_tell_more_than_its_measurements(tmp_path: Path) -> None:
    """The whole series, drawn anew with canaries, against the ledger."""
    changes = {"curator.budget": {"epsilon": 4.0, "split": "even"}, "curator.mechanism": KALMAN}
    run(small(day(changes)), tmp_path / "run", draw_map=False)
    audit = audit_releases(RunFolder(tmp_path / "run"), samples=4000)
    assert audit.worst is not None
    assert audit.worst.claimed == 4.0
    assert not audit.refuted
    assert audit.worst.certified > 0.3 * audit.worst.claimed


def test_an_even_split_needs_a_budget() -> None:
    with pytest.raises(ScenarioError, match="give the budget's epsilon"):
        small(day({"curator.budget": {"split": "even"}}))


def test_a_cell_larger_than_the_region_is_refused() -> None:
    for mechanism in (
        {"kind": "uniform_grid", "cell_m": 9000},
        {**KALMAN, "cells": {"kind": "contour", "cell_m": 9e3}},
    ):
        with pytest.raises(ScenarioError, match="more than the region has room for"):
            small({"curator.mechanism": mechanism})


SERIES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tree": ({"kind": "tree_counts", "cap": 2}, {}),
    "pid": ({"kind": "kalman_counts", "sampling": "pid", "samples": 3}, {}),
    "bd": ({"kind": "w_event_counts", "window": 3}, {"window_s": 10_800}),
    "ba": ({"kind": "w_event_counts", "window": 3, "scheme": "ba"}, {"window_s": 10_800}),
    "pegasus": ({"kind": "pegasus"}, {"window_s": 10_800}),
}
"""Every way to count over time, with a budget for the run or for any three hours."""


def series_day(name: str, epsilon: float = 4.0, **more: Any) -> dict[str, Any]:
    mechanism, budget = SERIES[name]
    cells = {"kind": "uniform_grid", "cell_m": 800}
    return day(
        {
            "curator.mechanism": {**mechanism, "cells": cells, **more},
            "curator.budget": {"epsilon": epsilon, "split": "even", "when_spent": "fail", **budget},
        }
    )


@pytest.mark.parametrize("name", SERIES)
def test_a_day_is_paid_for_as_it_is_promised(tmp_path: Path, name: str) -> None:
    """A series before its first release; a window as it goes, and never more than its budget (which would fail)."""
    done = run(small(series_day(name)), tmp_path / "run", draw_map=False)
    folder = RunFolder(tmp_path / "run")
    assert len(folder.densities) == 6
    if name in ("tree", "pid"):
        assert done.ledger["time_s"].tolist() == [0.0]
        assert done.ledger["epsilon"].tolist() == [4.0]
        assert done.ledger[["begin_s", "end_s"]].to_numpy().tolist() == [[0.0, 21_600.0]]
    else:
        for first in range(6):
            inside = done.ledger["time_s"].between(3600 * first, 3600 * (first + 3) - 1)
            assert 0 < done.ledger["epsilon"][inside].sum() <= 4.0 + 1e-12
    summary = (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")
    assert ("**All releases**" in summary) == (name != "pegasus")


@pytest.mark.parametrize(
    ("name", "once", "window", "whole"),
    [("tree", 4, 4, 4), ("pid", 4 / 3, 4, 4), ("bd", 5 / 3, 4, 8), ("ba", 8 / 3, 4, 8), ("pegasus", 4 / 3, 4, 8)],
)
def test_check_says_what_someone_gets_who_is_there_all_day(name: str, once: float, window: float, whole: float) -> None:
    changes = series_day(name) if name != "pid" else {**series_day(name), "curator.budget.window_s": None}
    text = report(small(changes), "day.yaml")
    releases, hours = (2, 2) if name in ("tree", "pid") else (3, 3)
    window = min(window, once * releases) if name == "pid" else window
    assert (
        f"gets ε {once:.4g} at one instant, ε {window:.4g} in any {releases} releases ({hours} h), ε {whole:.4g} over "
        "the whole run" in text
    )


def test_stays_without_a_cap_cost_as_many_as_there_are_releases() -> None:
    changes = {"curator.mechanism": {"kind": "tree_counts", "epsilon": 0.5, "cells": {"kind": "contour"}}}
    text = report(small(day(changes)), "day.yaml")
    assert "up to 6 stays × ε 0.5 = ε 3 (add/remove), 6 (replace) per person over the run" in text
    assert "who stays in one cell, ε 0.5 over the whole run" in text


@pytest.mark.parametrize(
    ("mechanism", "why"),
    [
        ({"kind": "w_event_counts", "window": 7}, "window: 7 releases are longer than the run, which has 6"),
        ({"kind": "tree_counts", "cap": 7}, "nobody can make 7 stays in 6 releases"),
        ({"kind": "kalman_counts", "sampling": "pid", "samples": 7}, "samples: 7 are more than the 6 releases"),
        ({"kind": "tree_counts", "cap": 0}, "cap  must be at least 1"),
        ({"kind": "pegasus", "cells": {"kind": "quadtree"}}, "quadtree"),
        ({"kind": "kalman_counts", "samples": 4}, "without sampling: pid"),
    ],
)
def test_a_series_that_cannot_be_is_refused_before_the_run(mechanism: dict[str, Any], why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        small(day({"curator.mechanism": mechanism}))


def test_a_budget_too_small_for_the_series_is_refused() -> None:
    changes = {"curator.mechanism": {"kind": "tree_counts", "cap": 2, "epsilon": 2.0}, "curator.budget.epsilon": 1.0}
    with pytest.raises(ScenarioError, match="1 is less than the series of releases costs"):
        small(day(changes))


def test_a_series_without_a_cap_is_charged_for_all_stays_and_refused_where_the_budget_bears_fewer() -> None:
    """It is charged before its first release: a budget for some of the stays would publish nothing."""
    uncapped = {"curator.mechanism": {"kind": "tree_counts", "epsilon": 2.0}}
    with pytest.raises(
        ScenarioError, match=r"costs \(12: up to 6 stays × ε 2; a cap on stays bounds it\): nothing could"
    ):
        small(day({**uncapped, "curator.budget.epsilon": 11.9}))
    assert small(day({**uncapped, "curator.budget.epsilon": 12.0})).curator is not None
    counts = {"kind": "laplace_counts", "epsilon": 1.0, "cap": 1}
    with pytest.raises(ScenarioError, match=r"costs \(3, with 1 for what is published at the end\): nothing could"):
        small(
            day(
                {
                    "curator.mechanism": {"kind": "tree_counts", "epsilon": 2.0, "cap": 2},
                    "curator.budget.epsilon": 2.5,
                    "publish": [counts],
                }
            )
        )


@pytest.mark.parametrize("name", SERIES)
def test_a_whole_day_drawn_anew_with_canaries_tells_no_more_than_was_charged(tmp_path: Path, name: str) -> None:
    run(small(series_day(name)), tmp_path / "run", draw_map=False)
    audit = audit_releases(RunFolder(tmp_path / "run"), samples=2000)
    assert audit.worst is not None
    assert not audit.refuted
    assert audit.worst.certified > 0


def test_the_same_seed_gives_the_same_day(tmp_path: Path) -> None:
    """Series keep their state to themselves: a second run of the same scenario object begins anew."""
    scenario = small(series_day("bd"))
    first, second = (run(scenario, tmp_path / name, draw_map=False) for name in ("one", "two"))
    assert first.ledger.equals(second.ledger)
    counts = [[release.count.tolist() for release in RunFolder(tmp_path / name).densities] for name in ("one", "two")]
    assert counts[0] == counts[1]
