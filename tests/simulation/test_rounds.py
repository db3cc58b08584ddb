"""Capped, thinned and repeated offers: who is asked, when, and what stays the same whatever is planned."""

from __future__ import annotations

import copy
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import geodp
from geodp.public.acceptance.linear import Linear
from geodp.public.messages import Circle, Offer, Task
from geodp.run_folder.folder import RunFolder
from geodp.simulation.answers import Answers, ask
from geodp.simulation.engine import build_world
from geodp.simulation.meant import NEVER, People, find_meant
from geodp.simulation.offer_truth import offer_truth
from geodp.streams import Streams
from tests.simulation.test_geocast_run import server_after
from tests.small import small

WINDOW_S = 30.0
CAPPED: dict[str, Any] = {
    "workers.acceptance": {"kind": "linear", "mar": 0.1, "max_travel_m": 2000},
    "curator.mechanism": {"kind": "adaptive_grid", "epsilon": 1.0},
    "server.assignment": {"kind": "geocast"},
    "tasks.demand.per_hour": 200,
}


def made(folder: Path, name: str, changes: dict[str, Any] | None = None) -> RunFolder:
    return geodp.run(small(copy.deepcopy(CAPPED | (changes or {}))), folder / name, draw_map=False).folder


@pytest.fixture(scope="module")
def capped(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return made(tmp_path_factory.mktemp("rounds"), "capped")


def answered(run: RunFolder) -> pd.DataFrame:
    """Return the first offers of tasks that were answered, by task."""
    first = run.offers[run.offers["round"] == 0].set_index("task")
    return first[first["answered_s"].notna()]


def round_of_answers(run: RunFolder) -> pd.Series:
    """Return in which round of its first offer everybody was asked, 1, 2, …"""
    since = run.answers["time_s"] - run.answers["task"].map(
        run.offers.drop_duplicates("task").set_index("task")["time_s"]
    )
    return (since / WINDOW_S).round().astype(int)


def test_each_task_has_exactly_one_outcome(capped: RunFolder) -> None:
    events = capped.events
    ends = events[events["kind"].isin(["departure", "expiry", "unreachable", "censored"])]
    assert sorted(ends["task"]) == sorted(events.loc[events["kind"] == "task_arrived", "task"])
    assert len(ends) > 60


def test_nobody_is_asked_twice_and_never_more_than_the_plan_says(capped: RunFolder) -> None:
    assert not capped.answers.duplicated(["task", "worker"]).any()
    asked = capped.answers.groupby("task").size()
    most = capped.offers.set_index("task")["most_recipients"].reindex(asked.index)
    assert (asked <= most.fillna(10**9)).all()
    assert most.notna().mean() > 0.9
    failed = capped.tasks.index[capped.tasks["outcome"] == "failure"].intersection(most.dropna().index)
    full = (asked.reindex(failed) == most.reindex(failed)).mean()
    assert full > 0.5  # nobody came: all of them were asked, where there were as many


def test_rounds_end_with_the_first_acceptance_and_ask_more_and_more(capped: RunFolder) -> None:
    number = round_of_answers(capped)
    assert set(number) == {1, 2, 3}
    asked = capped.answers.assign(number=number)
    yes = asked[asked["kind"] == "acceptance"].groupby("task")["number"].agg(["min", "max"])
    taken = yes.index.intersection(capped.tasks.index[capped.tasks["outcome"] == "success"])
    assert (yes.loc[taken, "max"] == asked.groupby("task")["number"].max().reindex(taken)).all()
    sizes = asked.groupby(["task", "number"]).size().unstack(fill_value=0)
    through = sizes[(sizes > 0).all(axis=1)]
    assert len(through) > 5
    assert (through.diff(axis=1).iloc[:, 1:].mean() > 0).all()
    share = through.cumsum(axis=1).div(through.sum(axis=1), axis=0).mean()
    assert share.tolist() == pytest.approx([0.235, 0.546, 1.0], abs=0.05)


def test_a_round_is_asked_out_even_where_no_people_are_left(tmp_path: Path) -> None:
    """300 are allowed where some 40 are: rounds two and three ask nobody, and still take their time.

    A round that ended early would tell how many people there are.
    """
    run = made(tmp_path, "few", {"workers.source.count": 60, "server.assignment.max_recipients": 300})
    offers = answered(run)
    failed = offers[~offers["winners"].astype(bool)]
    assert len(failed) > 10
    assert (failed["planned_rounds"] == 3).all()
    assert (failed["answered_s"] - failed["time_s"]).to_numpy() == pytest.approx(3 * WINDOW_S)
    counted = run.answers.groupby("task").size()
    assert counted.max() <= 60 < 0.235 * 300


def test_rounds_stay_within_patience(tmp_path: Path) -> None:
    """With 100 s of patience and batches of 60 s a task is left 40 to 100 s: one, two or three rounds."""
    run = made(tmp_path, "hasty", {"tasks.patience_s": 100})
    offers = answered(run)
    assert set(offers["planned_rounds"]) == {1, 2, 3}
    arrived = run.tasks["arrived_s"].reindex(offers.index)
    assert (offers["answered_s"] <= arrived + 100 + 1e-9).all()
    left = arrived + 100 - offers["time_s"]
    assert (offers["planned_rounds"] == np.minimum(3, left // WINDOW_S)).all()
    assert "patience_ran_out" not in set(run.tasks.loc[offers.index, "reason"])


def test_rewards_add_up_to_what_the_purse_paid(tmp_path: Path) -> None:
    engine, _ = server_after(small(copy.deepcopy(CAPPED)).resolve(), tmp_path)
    budget, records = engine.server.budget, engine.server.records
    paid = sum(record["reward"] for record in records if record["winners"])
    assert budget.paid == pytest.approx(paid)
    assert 0 < paid <= 600 + 1e-9
    waiting = sum(record["reward"] for record in records if record["task"] in engine.open and not record["winners"])
    assert budget.promised == pytest.approx(waiting)


SEEN = {
    *("task", "x_m", "y_m", "reward", "round", "time_s", "radius_m", "region", "growth", "planned_success"),
    *("expected_workers", "density_per_m2", "uncapped_radius_m", "unreachable", "notes"),
    *("most_recipients", "phones_share", "planned_rounds", "recipients", "winners", "answered_s", "completed_s"),
}


def test_the_server_keeps_its_own_plan_the_winner_or_nobody_and_nothing_of_the_order(tmp_path: Path) -> None:
    engine, _ = server_after(small(copy.deepcopy(CAPPED)).resolve(), tmp_path)
    assert len(engine.server.records) > 50
    for record in engine.server.records:
        assert set(record) == SEEN
        assert record["recipients"] is None  # nobody was named
        assert len(record["winners"]) <= 1
        assert all(isinstance(name, str) and name.startswith("w") for name in record["winners"])


def test_another_seed_draws_another_order_of_as_many_people() -> None:
    first, second = (find_meant(TASKS[:1], [offer()], PEOPLE, nobody_named, Streams(seed)) for seed in (1, 2))
    assert set(first.worker) != set(second.worker)
    assert first.worker.size == second.worker.size == 26


# --- the same luck


VARIANTS: dict[str, dict[str, Any]] = {
    "everyone": {"server.assignment.max_recipients": None},
    "one_round": {"server.assignment.rounds": 1},
    "circles": {"server.assignment": {"kind": "reward_radius", "reward": "uniform"}},
    "published": {"server.assignment": {"kind": "geocast", "planning": "published"}},
    "nearest": {"server.assignment.recipients": "nearest"},
    "feedback": {"server.assignment.feedback": True},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_planning_otherwise_leaves_movements_and_answers_as_they_were(
    capped: RunFolder, tmp_path: Path, name: str
) -> None:
    other = made(tmp_path, name, VARIANTS[name])
    columns = ["arrived_s", "x_m", "y_m"]
    pd.testing.assert_frame_equal(capped.tasks[columns], other.tasks[columns])
    travelled = set(capped.events.loc[capped.events["kind"] == "departure", "worker"])
    travelled |= set(other.events.loc[other.events["kind"] == "departure", "worker"])
    mine, theirs = (run.answers[~run.answers["worker"].isin(travelled)] for run in (capped, other))
    met = mine.merge(theirs, on=["worker", "time_s"])
    assert len(met) > 20
    assert met["x_m_x"].tolist() == met["x_m_y"].tolist()
    assert met["y_m_x"].tolist() == met["y_m_y"].tolist()
    same = met[met["task_x"] == met["task_y"]]
    assert len(same) > 10
    assert same["kind_x"].astype(str).tolist() == same["kind_y"].astype(str).tolist()


def test_with_the_nearest_first_nobody_can_say_what_is_disclosed(capped: RunFolder, tmp_path: Path) -> None:
    nearest = made(tmp_path, "nearest", VARIANTS["nearest"])
    assert nearest.metrics["interaction_leakage_max"] is None
    assert nearest.metrics["interaction_leakage_mean"] is None
    assert capped.metrics["interaction_leakage_max"] is not None
    distance = [run.answers.groupby("task")["value"].mean().mean() for run in (nearest, capped)]
    assert distance[0] < 0.8 * distance[1]


def test_where_counts_are_noisy_a_cap_and_rounds_ask_fewer_and_disclose_as_much_in_all(tmp_path: Path) -> None:
    """What outcomes tell, added up over those asked, hangs on how many accept, hardly on how many are asked or when.

    For m = ln 10 acceptors asked at once it is 0.1·m + 0.9·m(1 - κ), κ = E[1/(M+2)]/E[1/(M+1)] = 0.68 for M Poisson:
    0.90 nats a task. Three rounds come to 0.90, too: each "nobody" on the way is seen.
    """
    noisy = {"curator.mechanism.epsilon": 0.1}
    runs = [made(tmp_path, name, noisy | VARIANTS.get(name, {})) for name in ("rounds", "one_round", "everyone")]
    asked = [run.metrics["notified_workers"] or 0.0 for run in runs]
    assert 0 < asked[0] < 0.65 * asked[1] < asked[1] < asked[2]
    leaks = [run.interaction["epsilon"].sum() / len(answered(run)) for run in runs]
    assert leaks == pytest.approx([0.9] * 3, abs=0.15)


# --- offers that come again


def test_reoffers_under_a_cap_ask_nobody_twice(tmp_path: Path) -> None:
    run = made(tmp_path, "again", {"server.reoffers": 2, "server.assignment.target_success": 0.4})
    assert set(run.offers["round"]) == {0, 1, 2}
    assert not run.answers.duplicated(["task", "worker"]).any()
    again = run.offers.loc[run.offers["round"] > 0, "task"].unique()
    assert len(again) > 10
    assert run.metrics["messages"] == pytest.approx(run.metrics["notified_workers"])


def test_reoffers_succeed_as_often_as_they_plan_although_some_have_declined(tmp_path: Path) -> None:
    """Where nobody moves. Six standard errors: false alarm below 1e-8."""
    changes = {
        "workers.mobility": {"kind": "static"},
        "workers.source.count": 4000,
        "tasks.demand.per_hour": 900,
        "server.reoffers": 2,
        "server.assignment": {"kind": "geocast", "target_success": 0.5, "rounds": 1},
    }
    run = made(tmp_path, "planned_again", changes)
    offers = run.offers[run.offers["answered_s"].notna()]
    first, again = offers[offers["round"] == 0], offers[offers["round"] > 0]
    assert len(again) > 150
    taken, planned = again["winners"].astype(bool).mean(), again["planned_success"].mean()
    assert planned < first["planned_success"].mean()
    error = np.sqrt((again["planned_success"] * (1 - again["planned_success"])).sum()) / len(again)
    assert abs(taken - planned) < 6 * error
    assert again["most_recipients"].mean() < first["most_recipients"].mean()


# --- phones that thin out


@pytest.fixture(scope="module")
def thinned(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    changes = {key: value for key, value in copy.deepcopy(CAPPED).items() if not key.startswith("curator")}
    changes |= {"curator": None, "device.mechanism": {"kind": "planar_laplace", "epsilon_per_m": 0.01}}
    return geodp.run(small(changes), tmp_path_factory.mktemp("thinned") / "run", draw_map=False).folder


def test_phones_take_part_by_their_own_draw_and_rounds_ask_different_ones(thinned: RunFolder) -> None:
    """Everybody asked drew below the share of her round, and not below that of the round before."""
    from geodp.server.recipients import round_shares

    run = thinned
    assert not run.answers.duplicated(["task", "worker"]).any()
    number = round_of_answers(run)
    assert set(number) == {1, 2, 3}
    offers = run.offers.set_index("task")
    assert offers["most_recipients"].isna().all()
    asked = run.answers.assign(number=number, share=run.answers["task"].map(offers["phones_share"]))
    asked = asked[asked["task"].map(offers["planned_rounds"]) == 3]
    steps = np.array([0.0, *round_shares(3, 0.9)])
    draw = Streams(run.scenario.seed).uniform("phone.take_part", asked["worker"].to_numpy(), asked["task"].to_numpy())
    high = asked["share"].to_numpy() * steps[asked["number"]]
    low = asked["share"].to_numpy() * steps[asked["number"] - 1]
    assert len(asked) > 300
    assert ((draw < high) & (draw >= low)).all()


def test_thinning_reaches_its_target(thinned: RunFolder) -> None:
    success = thinned.offer_truth["expected_success"].mean()
    assert success == pytest.approx(0.92, abs=0.06)
    assert thinned.offers["phones_share"].between(0, 1, inclusive="right").all()


# --- what is true of offers

RNG = np.random.default_rng(3)
PEOPLE = People(RNG.uniform(-3000, 3000, 3000), RNG.uniform(-3000, 3000, 3000), RNG.random(3000) < 0.2)
WILLING = Linear(mar=0.1, max_travel_m=1500.0, minimum_reward=0.0)
TASKS = [Task(number, 400.0 * number, -300.0 * number, 0.0, 900.0) for number in range(4)]


def nobody_named(_: tuple[str, ...]) -> npt.NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


offer = partial(Offer, 0, 1.0, Circle(800.0), caps=(7, 15, 26))


@pytest.mark.parametrize("needed", [1, 2])
def test_expected_success_is_that_of_brute_force(needed: int) -> None:
    offers = [
        Offer(0, 1.0 * needed, Circle(800.0), caps=(7, 15, 26)),
        Offer(1, 1.0 * needed, Circle(900.0)),
        Offer(2, 1.0 * needed, Circle(700.0), shares=(0.1, 0.3)),
        Offer(3, 1.0 * needed, Circle(0.0), caps=(5,)),
    ]
    streams = Streams(9)
    meant = find_meant(TASKS, offers, PEOPLE, nobody_named, streams)
    truth = offer_truth(Answers(WILLING, streams, None), meant, PEOPLE, needed)
    for task, each in zip(TASKS, offers, strict=True):
        distance = np.hypot(PEOPLE.x_m - task.x_m, PEOPLE.y_m - task.y_m)
        assert isinstance(each.target, Circle)
        asked = inside = np.flatnonzero(distance <= each.target.radius_m)  # without a cap the busy are asked, too
        if each.caps:
            idle = inside[~PEOPLE.busy[inside]]
            asked = idle[np.argsort(streams.uniform("curator.order", idle, task.task))][: each.caps[-1]]
        if each.shares:
            asked = inside[streams.uniform("phone.take_part", inside, task.task) < each.shares[-1]]
        none, one = 1.0, 0.0
        for worker in asked[~PEOPLE.busy[asked]]:
            chance = float(WILLING.probability(1.0, distance[worker]))
            none, one = none * (1 - chance), one * (1 - chance) + none * chance
        wanted = 1 - none if needed == 1 else 1 - none - one
        assert truth.expected_success[task.task] == pytest.approx(wanted, abs=1e-12)
        assert truth.idle_workers[task.task] == np.count_nonzero(~PEOPLE.busy[inside])
        assert truth.asked_workers[task.task] == asked.size
    assert (truth.expected_success[:3] > 0.1).all()


def test_the_run_folder_keeps_what_was_true_of_first_offers(capped: RunFolder) -> None:
    """The first batch, before anybody has left: positions at its time, the curator's order, and nothing else."""
    truth, offers = capped.offer_truth, capped.offers.set_index("task")
    assert set(truth.index) == set(offers.index[offers["unreachable"] == ""])
    scenario, streams = capped.scenario, Streams(capped.scenario.seed)
    start = float(truth["time_s"].min())
    x, y = build_world(scenario, streams).motion.at(start)
    regions = {task: rectangles for task, _, rectangles in capped.regions}
    first = truth[truth["time_s"] == start]
    assert len(first) >= 1
    for task in first.index.tolist():
        offer_made, row = offers.loc[task].to_dict(), first.loc[task].to_dict()
        inside = np.zeros(x.size, dtype=bool)
        for west, south, east, north in regions[task]:
            inside |= (x >= west) & (x <= east) & (y >= south) & (y <= north)
        found = np.flatnonzero(inside)
        order = np.argsort(streams.uniform("curator.order", found, task))
        asked = found[order][: int(offer_made["most_recipients"])]
        distance = np.hypot(x[asked] - offer_made["x_m"], y[asked] - offer_made["y_m"])
        refusal = scenario.workers.acceptance.log_refusal(offer_made["reward"], distance)
        assert row["expected_success"] == pytest.approx(-np.expm1(refusal.sum()), rel=1e-9)
        assert (row["idle_workers"], row["asked_workers"]) == (found.size, asked.size)
        assert row["age_s"] == pytest.approx(start % 600)
    assert capped.metrics["expected_success"] == pytest.approx(truth["expected_success"].mean())


# --- rounds by themselves


def test_rounds_follow_one_order_and_the_curator_forgets_nobody() -> None:
    streams = Streams(5)
    meant = find_meant(TASKS[:1], [offer()], PEOPLE, nobody_named, streams)
    draw = streams.uniform("curator.order", meant.worker, 0)
    by_round = [np.sort(draw[meant.round == number]) for number in range(3)]
    assert [each.size for each in by_round] == [7, 8, 11]
    assert all(early[-1] < late[0] for early, late in pairwise(by_round))
    assert not PEOPLE.busy[meant.worker].any()
    assert (meant.round != NEVER).all()


def test_a_later_round_asks_where_people_are_by_then_and_who_left_is_busy() -> None:
    meant = find_meant(TASKS[:1], [offer()], PEOPLE, nobody_named, Streams(5))
    answers = Answers(WILLING, Streams(5), None)
    later = meant.worker[meant.round == 1]
    busy = PEOPLE.busy.copy()
    busy[later[0]] = True
    moved = People(PEOPLE.x_m + 50.0, PEOPLE.y_m, busy)
    asked = ask(answers, meant, moved, number=1)
    assert asked.worker.tolist() == later.tolist()
    assert asked.x_m == pytest.approx(PEOPLE.x_m[later] + 50.0)
    assert asked.could_come()[0] == np.False_
    closed = ask(answers, meant, moved, number=1, is_open=lambda _: False)
    assert closed.tasks == []


def test_those_asked_in_an_earlier_offer_are_passed_over_and_the_next_move_up() -> None:
    streams = Streams(5)
    first = find_meant(TASKS[:1], [offer()], PEOPLE, nobody_named, streams)
    again = find_meant(TASKS[:1], [offer()], PEOPLE, nobody_named, streams, {0: np.sort(first.worker)})
    assert again.worker.size == 26
    assert not set(again.worker) & set(first.worker)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"caps": (3, 3)}, "caps grow"),
        ({"caps": (0, 2)}, "caps grow"),
        ({"shares": (0.5, 0.2)}, "shares of phones grow"),
        ({"shares": (0.5, 1.1)}, "shares of phones grow"),
        ({"caps": (3,), "shares": (0.5,)}, "not both"),
    ],
)
def test_offers_that_make_no_sense_are_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Offer(0, 1.0, Circle(10.0), **fields)


@pytest.mark.parametrize(("path", "value"), [("max_recipients", 0), ("max_recipients", -3), ("rounds", 0)])
def test_nobody_and_never_are_no_settings(path: str, value: int) -> None:
    with pytest.raises(
        geodp.errors.GeodpError, match=f"(?s)server.assignment.{path}.*must be a whole number, at least 1, or auto"
    ):
        small(copy.deepcopy(CAPPED) | {f"server.assignment.{path}": value})
