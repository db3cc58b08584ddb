"""Phones that report by themselves: alone, and in whole runs without a curator."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geodp
from geodp import plugin
from geodp.device.memory import Memory
from geodp.errors import BudgetSpent, UsageError
from geodp.geometry import Array, Region
from geodp.privacy.ledger import Account, Ledger
from geodp.public.guarantee import Unit
from geodp.public.release import Points
from geodp.run_folder.folder import RunFolder
from geodp.scenario.report import report
from geodp.simulation.answers import pseudonyms
from geodp.simulation.phones import Phones
from geodp.streams import Streams
from tests.small import small

REGION = Region(10.0, 50.0, 10.08, 50.05)
LAPLACE = {"kind": "planar_laplace", "epsilon_per_m": 0.01}


def phones(count: int = 50, budget: float | None = None, when_spent: str = "reuse_last", **more: Any) -> Phones:
    device = plugin("planar_laplace", epsilon_per_m=0.01)
    ledger = Ledger(budgets={} if budget is None else {Account.METRIC: budget})
    streams = Streams(3)
    return Phones(device, ledger, when_spent, REGION, count, lambda ids: pseudonyms(streams, ids), **more)  # type: ignore[arg-type]


def places(count: int = 50, seed: int = 0) -> tuple[Array, Array]:
    return REGION.sample(count, np.random.default_rng(seed))


@pytest.mark.parametrize("variant", ["public", "literal"])
def test_a_claim_that_does_not_hold_is_reported_but_never_added_up(variant: str) -> None:
    ledger = Ledger(budgets={Account.LOCAL: 1.5})
    device = plugin("dewri", variant=variant)
    mine = Phones(device, ledger, "fail", REGION, 50, lambda ids: pseudonyms(Streams(3), ids))
    for time_s in (0.0, 600.0):
        assert mine.report(time_s, *places(), np.random.default_rng(1)) is not None
    assert ledger.sum_spent(Account.LOCAL) == 0
    per_m = device.guarantee(REGION).epsilon
    assert ledger.sum_spent(Account.METRIC) == pytest.approx(2 * per_m if variant == "public" else 0.0)
    assert mine.charged == pytest.approx(np.full(50, 2 * per_m if variant == "public" else 0.0))
    changes = {"curator": None, "device.mechanism": {"kind": "dewri", "variant": variant}}
    scenario = small({**changes, "server.assignment": {"kind": "nearest_report"}})
    assert ("nothing is charged or added up" in report(scenario, "small.yaml")) == (variant == "literal")
    assert scenario.resolve().device.budget.epsilon is None


def test_reports_come_in_the_order_of_names_and_names_lead_back_to_workers() -> None:
    mine = phones()
    x, y = places()
    points = mine.report(0.0, x, y, np.random.default_rng(1))
    assert points is not None
    assert (np.sort(points.who) == points.who).all()
    workers = mine.workers(points.who, asked_by="mine")
    assert sorted(workers.tolist()) == list(range(50))
    assert workers.tolist() != sorted(workers.tolist())  # the source's order may tell places
    off = np.hypot(points.x_m - x[workers], points.y_m - y[workers])
    assert 100 < off.mean() < 300  # 2/ε = 200 m; in another order it would be kilometres
    again = mine.report(600.0, x, y, np.random.default_rng(2))
    assert again is not None
    assert (again.who == points.who).all()


@pytest.mark.parametrize("name", ["", "zzzzzzzz", "nobody", "00000000000000000000"])
@pytest.mark.parametrize("count", [0, 50])
def test_a_pseudonym_that_no_worker_has_is_refused_and_leads_to_nobody_else(name: str, count: int) -> None:
    mine = phones(count)
    known = mine.pseudonyms(np.arange(count))[:3].tolist()
    with pytest.raises(UsageError, match=rf"server\.assignment: 'mine' made an offer to '{name}', and no worker"):
        mine.workers([*known, name], asked_by="mine")
    assert mine.workers(known, asked_by="mine").tolist() == list(range(len(known)))
    longer = [f"{each}x" for each in known]  # cut to the length of names it would be somebody
    if longer:
        with pytest.raises(UsageError, match="no worker has that pseudonym"):
            mine.workers(longer, asked_by="mine")


def test_every_round_is_charged_per_metre_to_everyone_and_refused_by_the_public_schedule() -> None:
    each = plugin("planar_laplace", epsilon_per_m=0.01).guarantee(REGION).epsilon
    mine = phones(budget=2.5 * each)
    x, y = places()
    made = [mine.report(600.0 * t, x, y, np.random.default_rng(t)) for t in range(4)]
    assert [points is not None for points in made] == [True, True, False, False]
    assert mine.current is made[1]
    assert mine.ledger.sum_spent(Account.METRIC) == pytest.approx(2 * each)
    assert mine.ledger.sum_spent(Account.CENTRAL) == 0
    assert mine.charged == pytest.approx(np.full(50, 2 * each))
    assert [row.unit for row in mine.ledger.charges] == [Unit.POINT, Unit.POINT]


def test_a_spent_budget_stops_or_fails_when_asked_to() -> None:
    each = plugin("planar_laplace", epsilon_per_m=0.01).guarantee(REGION).epsilon
    x, y = places()
    stopping = phones(budget=each, when_spent="stop")
    stopping.report(0.0, x, y, np.random.default_rng(0))
    assert stopping.report(600.0, x, y, np.random.default_rng(0)) is None
    assert stopping.current is None
    failing = phones(budget=each, when_spent="fail")
    failing.report(0.0, x, y, np.random.default_rng(0))
    with pytest.raises(BudgetSpent, match="device.budget.epsilon_per_m") as refused:
        failing.report(600.0, x, y, np.random.default_rng(0))
    assert "per metre" in str(refused.value)


def test_repeated_answers_cost_whoever_gives_a_new_one_and_the_promise_says_what_is_lost() -> None:
    mine = phones(memory=Memory(200.0))
    x, y = places()
    first = mine.report(0.0, x, y, np.random.default_rng(1))
    moved_x = x.copy()
    moved_x[0] += 1000.0 if x[0] < 0 else -1000.0
    second = mine.report(600.0, moved_x, y, np.random.default_rng(2))
    assert first is not None
    assert second is not None
    worker = mine.workers(first.who, asked_by="mine")
    same = (first.x_m == second.x_m) & (first.y_m == second.y_m)
    assert worker[~same].tolist() == [0]
    each = plugin("planar_laplace", epsilon_per_m=0.01).guarantee(REGION).epsilon
    assert mine.charged[0] == pytest.approx(2 * each)
    assert mine.charged[1:] == pytest.approx(each)
    assert "returning to a cell is not hidden" in first.guarantee.sentence()


EVERYONE: dict[str, Any] = {"server.assignment.max_recipients": None}
"""Everyone inside a circle is asked, at once."""


def made(tmp_path: Path, changes: dict[str, Any], name: str = "run") -> RunFolder:
    return geodp.run(small({"curator": None, **changes}), tmp_path / name, draw_map=False).folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return made(tmp_path_factory.mktemp("phones"), {"device.mechanism": LAPLACE, **EVERYONE})


def test_the_server_gets_points_and_plans_circles_from_them(run: RunFolder) -> None:
    assert [type(release) for release in run.releases] == [Points] * 3
    assert [release.time_s for release in run.releases] == [0.0, 600.0, 1200.0]
    released = run.events[run.events["kind"] == "release"]
    each = run.releases[0].guarantee.epsilon
    assert released["value"].to_numpy() == pytest.approx(each)
    assert (run.tasks["outcome"] == "success").mean() > 0.5
    radius = run.offers.set_index("task")["radius_m"]
    asked = run.notified
    assert (asked["distance_m"] <= radius.reindex(asked["task"]).to_numpy()).all()


def test_reports_are_not_the_truth_and_the_truth_is_kept_apart(run: RunFolder) -> None:
    truth = run.positions
    assert list(truth.columns) == ["release", "worker", "who", "x_m", "y_m"]
    for index, release in enumerate(run.releases):
        assert isinstance(release, Points)
        here = truth[truth["release"] == index].set_index("who").loc[release.who.tolist()]
        off = np.hypot(release.x_m - here["x_m"].to_numpy(), release.y_m - here["y_m"].to_numpy())
        # E R = 2/ε and sd √2/ε, less what clamping saves: mean of 1,500 within 5 sd (false alarm < 1e-6) and 10 %
        assert off.mean() == pytest.approx(200.0, abs=5 * 141 / np.sqrt(off.size) + 20)
        assert not np.isin(release.x_m, here["x_m"].to_numpy()).any()


def test_the_accounts_are_kept_apart(run: RunFolder) -> None:
    ledger = run.ledger
    assert ledger["unit"].tolist() == ["point"] * 3
    each = run.releases[0].guarantee.epsilon
    assert ledger["total"].to_numpy() == pytest.approx(each * np.arange(1, 4))
    people = pd.read_parquet(run.path / "truth" / "ledger.parquet")
    mine = people[people["unit"] == "point"]
    assert len(mine) == run.workers
    assert mine["epsilon"].to_numpy() == pytest.approx(3 * each)
    assert run.metrics["epsilon_spent"] is None
    assert run.metrics["epsilon_per_m_spent"] == pytest.approx(3 * each)


def test_the_same_tasks_and_the_same_luck_as_with_a_curator(run: RunFolder, tmp_path: Path) -> None:
    """A worker asked about the same task at the same distance for the same reward gives the same answer."""
    other = geodp.run(small(EVERYONE), tmp_path / "curator", draw_map=False).folder
    columns = ["arrived_s", "x_m", "y_m"]
    pd.testing.assert_frame_equal(run.tasks[columns], other.tasks[columns])
    one, two = run.notified, other.notified
    both = one.merge(two, on=["task", "worker"], suffixes=("_one", "_two"))
    assert len(both) > 100
    reward = {name: folder.offers.set_index("task")["reward"] for name, folder in (("one", run), ("two", other))}
    richer = (reward["one"] - reward["two"]).reindex(both["task"]).to_numpy()
    still = np.isclose(both["distance_m_one"], both["distance_m_two"])
    events = {name: folder.events for name, folder in (("one", run), ("two", other))}
    busy = {
        name: set(map(tuple, frame.loc[frame["reason"] == "busy", ["task", "worker"]].to_numpy().tolist()))
        for name, frame in events.items()
    }
    free = np.array([pair not in busy["one"] | busy["two"] for pair in zip(both["task"], both["worker"], strict=True)])
    yes_one, yes_two = both["accepted_one"].to_numpy(), both["accepted_two"].to_numpy()
    same = still & free
    assert not (same & (richer >= 0) & yes_two & ~yes_one).any()  # more reward never turns a yes into a no
    assert not (same & (richer <= 0) & yes_one & ~yes_two).any()


def test_named_workers_are_asked_wherever_they_are(tmp_path: Path) -> None:
    run = made(tmp_path, {"device.mechanism": LAPLACE, "server.assignment": {"kind": "nearest_report"}})
    offers = run.offers.set_index("task")
    assert offers["radius_m"].isna().all()
    asked = run.notified.groupby("task").size()
    recipients = offers["recipients"].reindex(asked.index)
    assert (recipients.to_numpy(dtype=float) == asked.to_numpy()).all()
    assert len(asked) > 20
    assert run.metrics["rejection_ratio"] is None
    assert run.metrics["distance_error_m"] is None


def test_a_budget_of_reports_is_respected_in_a_run(tmp_path: Path) -> None:
    device = {"mechanism": LAPLACE, "budget": {"epsilon_per_m": 0.025, "when_spent": "stop"}}
    run = made(tmp_path, {"device": device})
    assert len(run.releases) == 2
    published = run.events[run.events["kind"] == "release"]
    assert published["reason"].astype(str).tolist() == ["", "", "budget_spent_releases_stopped"]
    assert (run.tasks["reason"] == "no_release_to_plan_from").any()


def test_reports_to_a_curator_are_charged_too_and_to_their_own_account(tmp_path: Path) -> None:
    scenario = small({"device.mechanism": LAPLACE})
    run = geodp.run(scenario, tmp_path / "both", draw_map=False).folder
    ledger = run.ledger
    assert sorted(ledger["unit"]) == ["point"] * 3 + ["snapshot"] * 3
    assert run.metrics["epsilon_spent"] == pytest.approx(1.5)
    assert run.metrics["epsilon_per_m_spent"] == pytest.approx(
        3 * scenario.device.mechanism.guarantee(scenario.area).epsilon
    )


def test_positions_in_the_clear_are_a_baseline_without_a_promise(tmp_path: Path) -> None:
    run = made(tmp_path, {})
    assert not run.releases[0].guarantee.holds
    assert len(run.ledger) == 0
    assert run.metrics["epsilon_spent"] is None
    assert "No privacy guarantee" in (run.path / "summary.md").read_text()


@pytest.mark.slow
def test_remapped_reports_are_planned_from_too(tmp_path: Path) -> None:
    run = made(tmp_path, {"device.mechanism": {**LAPLACE, "remap": True}})
    assert (run.tasks["outcome"] == "success").mean() > 0.5
    assert run.estimates[0].count.sum() == pytest.approx(run.workers)


@pytest.mark.slow
def test_plans_from_noisy_reports_come_true_when_nobody_moves(tmp_path: Path) -> None:
    """Realised minus planned success of about 2,400 offers; standard error 0.006: 5 sd, false alarm < 1e-6."""
    changes = {
        "device.mechanism": {"kind": "planar_laplace", "epsilon_per_m": 0.005},
        "workers.source.count": 8000,
        "workers.mobility.kind": "static",
        "workers.travel_speed_mps": 1000.0,
        "tasks.demand.per_hour": 2400,
        "tasks.reward.total": 48000,
        "duration_s": 3600,
        "server.assignment": {"kind": "reward_radius", "planning": "noise_aware"},
    }
    run = made(tmp_path, changes)
    gap = run.metrics["success_gap"]
    assert gap is not None
    assert abs(gap) < 0.03
    plain = made(tmp_path, {**changes, "server.assignment": {"kind": "nearest_report"}}, "named")
    named = plain.metrics["success_gap"]
    assert named is not None
    assert abs(named) < 0.03


def test_a_spent_budget_keeps_its_words_through_the_run(tmp_path: Path) -> None:
    """SimPy makes exceptions anew from their arguments."""
    budget = {"epsilon_per_m": 0.03, "when_spent": "fail"}
    scenario = small({"curator": None, "device.mechanism": LAPLACE, "device.budget": budget})
    device = scenario.device  # a smaller budget is refused by the checks before any run
    device = device.model_copy(update={"budget": device.budget.model_copy(update={"epsilon_per_m": 0.015})})
    with pytest.raises(BudgetSpent) as refused:
        geodp.run(scenario.model_copy(update={"device": device}), tmp_path / "run", draw_map=False)
    short = refused.value
    assert type(short) is BudgetSpent
    assert (short.requested, short.time_s) == (0.01, 600.0)
    assert short.remaining == pytest.approx(0.005)
    words = "requested ε per metre=0.01, remaining ε per metre=0.005, short by ε per metre=0.005"
    assert str(short).startswith(f"BudgetSpent at t=600 s: {words}.")
    assert "device.budget.when_spent: reuse_last" in str(short)
    assert str(BudgetSpent(*short.args)) == str(short)
