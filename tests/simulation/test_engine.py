"""The protocol's rules, checked on the event log of whole runs."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geodp
from geodp.errors import BudgetSpent, GeodpError
from geodp.public.events import Kind, Reason
from geodp.run_folder.folder import RunFolder
from tests.small import small


def made(tmp_path: Path, changes: dict[str, Any] | None = None, name: str = "run") -> RunFolder:
    return geodp.run(small(changes), tmp_path / name, draw_map=False).folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return made(tmp_path_factory.mktemp("engine"))


def test_every_task_that_arrives_ends_in_exactly_one_way(plain: RunFolder) -> None:
    events = plain.events
    ends = events[events["kind"].isin(["departure", "expiry", "unreachable", "censored"])]
    arrived = events[events["kind"] == "task_arrived"]["task"]
    assert sorted(ends["task"]) == sorted(arrived)
    assert len(arrived) > 30


def test_events_are_in_order_of_time_and_in_the_fixed_vocabulary(plain: RunFolder) -> None:
    events = plain.events
    assert events["time_s"].is_monotonic_increasing
    assert set(events["kind"].astype(str)) <= set(Kind)
    assert set(events["reason"].astype(str)) <= set(Reason)
    failed = events[events["kind"].isin(["refusal", "expiry", "unreachable", "censored"])]
    assert (failed["reason"].astype(str) != "").all()


def test_everyone_in_the_circle_is_asked_and_nobody_outside(tmp_path: Path) -> None:
    run = made(tmp_path, {"server.assignment.max_recipients": None})
    radius = run.offers.set_index("task")["radius_m"]
    asked = run.notified
    assert (asked["distance_m"] <= radius.reindex(asked["task"]).to_numpy()).all()
    assert len(asked) > 200


def test_everyone_who_is_inside_the_circle_is_asked_on_every_side(tmp_path: Path) -> None:
    """Nobody moves, and nobody accepts: those asked are those whose place is inside the widest circle."""
    rng = np.random.default_rng(0)
    west, south, east, north = 10.0, 50.0, 10.08, 50.05
    people = pd.DataFrame(
        {
            "worker": range(600),
            "lon": rng.uniform(west, east, 600),
            "lat": rng.uniform(south, north, 600),
        }
    )
    people.to_csv(tmp_path / "people.csv", index=False)
    source = {"kind": "table", "path": str(tmp_path / "people.csv")}
    still = made(
        tmp_path,
        {
            "workers.source": source,
            "workers.mobility.kind": "static",
            "workers.acceptance.ceiling": 1e-9,
            "server.assignment.max_recipients": None,
            "curator.expected_workers": 600,
            "server.assumed_acceptance": {"kind": "tanh_reward", "max_travel_m": 2000},
        },
    )
    x_m, y_m = still.scenario.area.projection.to_m(lon=people["lon"].to_numpy(), lat=people["lat"].to_numpy())
    made_offers = still.offers[still.offers["unreachable"] == ""]
    widest = made_offers.sort_values("radius_m").drop_duplicates("task", keep="last")
    asked = {task: set(rows["worker"]) for task, rows in still.notified.groupby("task")}
    assert len(widest) > 5
    for task, at_x_m, at_y_m, radius_m in widest[["task", "x_m", "y_m", "radius_m"]].itertuples(index=False):
        inside = np.hypot(x_m - at_x_m, y_m - at_y_m) <= radius_m
        assert asked.get(task, set()) == set(np.flatnonzero(inside).tolist())


def test_a_worker_does_one_task_at_a_time(tmp_path: Path) -> None:
    few = made(tmp_path, {"workers.source.count": 40, "workers.acceptance.ceiling": 1, "tasks.demand.per_hour": 400})
    events = few.events
    trips = events[events["kind"].isin(["departure", "completion"])]
    for _, own in trips.groupby("worker"):
        kinds = own["kind"].astype(str).tolist()
        assert kinds == ["departure", "completion"] * (len(kinds) // 2)
    assert "busy" in set(events["reason"].astype(str))


def test_trips_take_distance_over_speed_and_all_arrive(plain: RunFolder) -> None:
    tasks = plain.tasks[plain.tasks["outcome"] == "success"]
    assert tasks["completed_s"].notna().all()
    took = (tasks["completed_s"] - tasks["departed_s"]).to_numpy()
    assert took == pytest.approx(tasks["travel_m"].to_numpy() / 4.0)


def test_the_server_learns_coarse_completion_times_and_pseudonyms_only(plain: RunFolder) -> None:
    view, tasks = plain.offers.set_index("task"), plain.tasks
    done = view[view["completed_s"].notna()]
    assert (done["completed_s"] % 300 == 0).all()
    true = tasks.loc[done.index, "completed_s"]
    assert ((done["completed_s"] - true) >= 0).all()
    assert ((done["completed_s"] - true) < 300).all()
    winner = view["winners"].explode().dropna()
    assert winner.str.fullmatch(r"w[0-9a-f]{14}").all()
    assert not {"notified", "accepted", "worker"} & set(view.columns)
    by_worker = pd.DataFrame({"true": tasks["worker"], "seen": winner}).dropna()
    by_worker = by_worker[by_worker["true"] >= 0].drop_duplicates()
    assert by_worker["true"].is_unique == by_worker["seen"].is_unique


def test_the_pick_among_acceptances_does_not_look_at_distance(tmp_path: Path) -> None:
    """The rank of the winner's distance among acceptors is uniform: mean 1/2, false alarm 1e-6 (normal, 4.9 sd)."""
    dense = made(tmp_path, {"workers.source.count": 8000, "tasks.demand.per_hour": 900, "duration_s": 3600})
    yes = dense.events[dense.events["kind"] == "acceptance"]
    ranks = yes.groupby("task")["value"].rank(method="first") - 0.5
    share = ranks / yes.groupby("task")["value"].transform("size")
    picked = share[yes["reason"].astype(str) == "picked"]
    assert len(picked) > 400
    assert abs(picked.mean() - 0.5) < 4.9 * np.sqrt(1 / 12 / len(picked))


def test_a_reoffer_reaches_the_whole_wider_circle_those_asked_before_included(tmp_path: Path) -> None:
    run = made(
        tmp_path,
        {
            "server.reoffers": 2,
            "server.assignment": {"kind": "reward_radius", "target_success": 0.3, "planning": "plain"},
            "workers.mobility.kind": "static",
        },
    )
    offers = run.offers.sort_values(["task", "round"])
    again = offers[offers["round"] > 0]
    assert len(again) > 5
    first = offers[offers["round"] == 0].set_index("task")["radius_m"]
    assert (again["radius_m"].to_numpy() >= first.reindex(again["task"]).to_numpy()).all()
    refusals = run.events[run.events["kind"] == "refusal"]
    task = int(again["task"].iloc[0])
    rounds = [set(rows["worker"]) for _, rows in refusals[refusals["task"] == task].groupby("time_s")]
    yes = set(run.events[(run.events["kind"] == "acceptance") & (run.events["task"] == task)]["worker"])
    assert len(rounds) >= 1
    assert all(earlier <= later | yes for earlier, later in pairwise(rounds))
    assert run.tasks["reason"].isin(["no_acceptance", "", "undecided_at_end", "nobody_in_circle"]).all()


def test_declining_twice_discloses_no_more_than_declining_the_larger_offer(tmp_path: Path) -> None:
    changes = {
        "server.assignment": {"kind": "reward_radius", "target_success": 0.3, "planning": "plain"},
        "workers.mobility.kind": "static",
        "server.reoffers": 2,
    }
    run = made(tmp_path, changes)
    scenario = run.scenario
    answers = run.events[run.events["reason"].astype(str).isin(["unwilling", "not_picked"])]
    rewards = run.offers.assign(answered=run.offers["time_s"] + scenario.server.answer_window_s)
    joined = answers.merge(
        rewards[["task", "answered", "reward"]], left_on=["task", "time_s"], right_on=["task", "answered"]
    )
    cost = -scenario.workers.acceptance.log_refusal(joined["reward"].to_numpy(), joined["value"].to_numpy())
    worst = joined.assign(cost=cost).groupby(["worker", "task"])["cost"].max().reset_index()
    worst["taken"] = worst["task"].map(run.tasks["outcome"]) == "success"
    charged = run.interaction.set_index("worker")["epsilon"]
    most = worst.groupby("worker")["cost"].sum()
    assert (charged <= most.reindex(charged.index) * (1 + 1e-9)).all()
    never_taken = worst.groupby("worker")["taken"].any().loc[lambda any_taken: ~any_taken].index
    assert len(never_taken) > 20
    assert charged.reindex(never_taken).to_numpy() == pytest.approx(most.reindex(never_taken).to_numpy())


def test_those_who_accepted_and_were_not_picked_are_charged_like_all_who_were_asked(tmp_path: Path) -> None:
    run = made(tmp_path, {"server.assignment.target_success": 0.95, "server.assignment.max_recipients": None})
    passed_over = run.events[run.events["reason"].astype(str) == "not_picked"]["worker"].unique()
    assert len(passed_over) > 20
    assert set(passed_over) <= set(run.interaction["worker"])


def test_the_purse_is_never_overdrawn(tmp_path: Path) -> None:
    run = made(tmp_path, {"tasks.demand.per_hour": 600, "tasks.reward.total": 900})
    assert run.tasks["reward"].sum() <= 900 + 1e-6
    view = run.offers
    assert (view.loc[view["unreachable"] == "", "reward"] >= 0.3 - 1e-9).all()  # w0 = 0.1 · 900 / 300


@pytest.mark.parametrize(
    ("when_spent", "reason", "releases"),
    [("reuse_last", "budget_spent_last_release_reused", 2), ("stop", "budget_spent_releases_stopped", 2)],
)
def test_a_spent_budget_is_respected(tmp_path: Path, when_spent: str, reason: str, releases: int) -> None:
    run = made(tmp_path, {"curator.budget": {"epsilon": 1.2, "when_spent": when_spent}})
    assert len(run.releases) == releases
    assert run.ledger["total"].tolist() == [0.5, 1.0]
    published = run.events[run.events["kind"] == "release"]
    assert published["reason"].astype(str).tolist() == ["", "", reason]
    stopped = run.tasks["reason"] == "no_release_to_plan_from"
    assert stopped.any() == (when_spent == "stop")


def test_a_budget_that_runs_out_can_fail_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    scenario = small({"curator.budget": {"epsilon": 1.5, "when_spent": "fail"}})
    curator = scenario.curator
    assert curator is not None
    short = curator.model_copy(update={"budget": curator.budget.model_copy(update={"epsilon": 1.0})})
    with pytest.raises(BudgetSpent, match="short by"):
        geodp.run(scenario.model_copy(update={"curator": short}), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_idle_counts_leave_out_the_busy(tmp_path: Path) -> None:
    base = {"workers.mobility.kind": "static", "workers.travel_speed_mps": 0.5, "tasks.demand.per_hour": 300}
    everyone = made(tmp_path, {**base, "curator.counts": "all"}, "all")
    idle = made(tmp_path, {**base, "curator.counts": "idle"}, "idle")
    assert everyone.true_counts(2).sum() > idle.true_counts(2).sum()
    assert "idle" in idle.releases[0].guarantee.sentence()


def test_worker_selected_tasks_need_no_release_and_are_taken_by_those_nearby(tmp_path: Path) -> None:
    always = {"server.looks_per_hour": None, "server.tasks_per_look": 1}
    run = made(tmp_path, {"server.mode": "worker_selected", "curator": None, **always})
    assert run.releases == []
    assert len(run.ledger) == 0
    tasks = run.tasks
    assert (tasks["outcome"] == "success").mean() > 0.5
    looked = run.events[run.events["kind"].isin(["refusal", "acceptance"])]
    assert not looked[looked["kind"] == "refusal"].duplicated(["worker", "task"]).any()
    at_once = looked.groupby(["time_s", "worker"])["task"].nunique()
    assert (at_once == 1).all(), "a worker looks at one task at a time: the nearest"
    assert set(tasks.loc[tasks["outcome"] == "failure", "reason"]) <= {"patience_ran_out", "reward_exhausted"}


def test_workers_who_look_seldom_take_fewer_tasks_and_consider_none_behind_one_they_like(tmp_path: Path) -> None:
    """False alarm below 1e-9: 1,500 workers look in 0.5 % of 29 batches, at rate 0.3 an hour."""
    board = {"server.mode": "worker_selected", "curator": None, "server.tasks_per_look": 3}
    seldom = made(tmp_path, {**board, "server.looks_per_hour": 0.3}, "seldom")
    always = made(tmp_path, {**board, "server.looks_per_hour": None}, "always")
    rate, most = ((run.tasks["outcome"] == "success").mean() for run in (seldom, always))
    assert rate < most - 0.1
    answers = seldom.answers
    assert not answers.duplicated(["worker", "task"]).any()
    one_look = answers.groupby(["time_s", "worker"])
    assert one_look.size().max() == 3
    yes = answers["kind"] == "acceptance"
    assert one_look["kind"].agg(lambda kinds: (kinds == "acceptance").sum()).max() == 1
    liked = answers[yes].set_index(["time_s", "worker"])["value"]
    further = answers[~yes].join(liked.rename("liked_m"), on=["time_s", "worker"])
    assert (further["value"] <= further["liked_m"].fillna(np.inf)).all(), "nearest first, and none behind the one"
    looks = one_look.ngroups
    assert looks < 1500 * 29 * 0.005 + 6 * np.sqrt(1500 * 29 * 0.005)


def test_tasks_run_out_of_patience_when_nothing_can_be_planned(tmp_path: Path) -> None:
    run = made(tmp_path, {"server.batch_s": 600, "tasks.patience_s": 120})
    late = run.tasks[run.tasks["reason"] == "patience_ran_out"]
    assert len(late) > 10
    assert (late["decided_s"] - late["arrived_s"]).to_numpy() == pytest.approx(120.0)


def test_a_source_without_anyone_in_the_region_is_an_error(tmp_path: Path) -> None:
    table = tmp_path / "far.csv"
    table.write_text("worker,lon,lat\n1,0.0,0.0\n")
    with pytest.raises(GeodpError, match="region"):
        geodp.run(
            small({"workers.source": {"kind": "table", "path": str(table)}, "curator.expected_workers": 10}),
            tmp_path / "run",
        )
    assert not (tmp_path / "run").exists()


def test_a_server_that_misjudges_willingness_plans_alike_and_asks_otherwise(tmp_path: Path) -> None:
    """Minds are those of the world: whoever is asked by two servers, as far away and for as much, answers alike."""
    geocast = {"server.assignment": {"kind": "geocast", "rounds": 1}, "curator.mechanism": {"kind": "no_privacy"}}
    geocast |= {"workers.mobility": {"kind": "static"}}
    runs = {}
    for ceiling in (0.125, 0.25, 0.5):
        believed = {"kind": "tanh_reward", "ceiling": ceiling, "max_travel_m": 2000}
        runs[ceiling] = made(tmp_path, {**geocast, "server.assumed_acceptance": believed}, f"run{ceiling}")
    asked = {ceiling: run.metrics["notified_workers"] or 0.0 for ceiling, run in runs.items()}
    assert asked[0.125] > 1.5 * asked[0.25] > 2 * asked[0.5]
    # People are asked in whole numbers: with few who nearly all accept, the least number that is enough exceeds 0.9.
    assert all(0.9 <= (run.metrics["planned_success"] or 0.0) < 0.95 for run in runs.values())
    gap = {ceiling: run.metrics["success_gap"] or 0.0 for ceiling, run in runs.items()}
    assert gap[0.125] > gap[0.5]
    answers = [run.answers.set_index(["task", "worker"]) for run in (runs[0.125], runs[0.5])]
    both = answers[0].join(answers[1].add_suffix("_other"), how="inner")
    paid = [
        run.offers.set_index("task")["reward"].reindex(both.index.get_level_values("task")) for run in runs.values()
    ]
    alike = (both["value"] == both["value_other"]).to_numpy() & np.isclose(paid[0], paid[-1])
    minds = both[alike & (both[["reason", "reason_other"]] != "busy").all(axis=1).to_numpy()]
    assert len(minds) > 50
    assert (minds["kind"].astype(str) == minds["kind_other"].astype(str)).all()
