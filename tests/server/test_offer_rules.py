"""Rules that limit a malicious server: what they allow, what they cost, and what they hide."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geodp.errors import ScenarioError
from geodp.geometry import Grid, Region
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.public.events import Reason
from geodp.public.guarantee import Guarantee
from geodp.public.messages import Circle, Offer, Task
from geodp.public.release import GridCells
from geodp.registry import plugin
from geodp.run_folder.folder import RunFolder
from geodp.runs.attack_run import attack_run
from geodp.runs.run import run
from geodp.server.offer_rules import OfferRules
from tests.small import small

REGION = Region(10.0, 50.0, 10.08, 50.05)
ACCEPTANCE = TanhReward(ceiling=0.25, metres_per_reward=150.0, max_travel_m=2000.0, minimum_reward=0.5)


def even_map(per_km2: float) -> GridCells:
    grid = Grid.fit(REGION, 500.0)
    west, south, east, north = grid.edges()
    return GridCells(
        time_s=0.0,
        mechanism="uniform_grid",
        guarantee=Guarantee.none("a test"),
        west_m=west,
        south_m=south,
        east_m=east,
        north_m=north,
        count=np.full(grid.size, per_km2 * grid.cell_x_m * grid.cell_y_m / 1e6),
        noise_scale=np.zeros(grid.size),
        floor_per_m2=0.0,
        grid=grid,
    )


def middle_task(number: int = 0, arrived_s: float = 0.0) -> Task:
    west, south, east, north = REGION.box_m
    return Task(number, (west + east) / 2, (south + north) / 2, arrived_s, arrived_s + 900)


def test_a_small_circle_grows_until_enough_people_are_expected() -> None:
    rules = OfferRules(ACCEPTANCE, least_people=20.0)
    small_one = Offer(0, 5.0, Circle(100.0), planned_success=0.5, expected_workers=0.3, caps=(1, 2))
    (grown,) = rules.keep([middle_task()], [small_one], even_map(10.0), number=0)
    assert isinstance(grown.target, Circle)
    assert grown.target.radius_m == pytest.approx(np.sqrt(2e6 / np.pi), rel=0.02)  # 20 people at 10 per km²
    assert grown.caps[-1] > 2  # from farther away fewer accept, so more are asked
    assert grown.planned_success >= 0.5
    wide = Offer(0, 5.0, Circle(1500.0), planned_success=0.5)
    assert rules.keep([middle_task()], [wide], even_map(10.0), number=0) == [wide]
    (refused,) = rules.keep([middle_task()], [small_one], even_map(1.0), number=0)  # 13 within 2 km
    assert refused.unreachable == Reason.FEW_PEOPLE


def test_few_tasks_in_a_square_kilometre_and_hour() -> None:
    rules = OfferRules(ACCEPTANCE, per_km2_hour=2.0)
    tasks = [middle_task(number, 60.0 * number) for number in range(4)] + [middle_task(4, 3700.0)]
    offers = [Offer(task.task, 5.0, Circle(300.0)) for task in tasks]
    kept = rules.keep(tasks, offers, None, number=0)
    assert [one.unreachable == Reason.CROWDED for one in kept] == [False, False, True, True, False]
    again = rules.keep(tasks[:1], offers[:1], None, number=1)
    assert again == offers[:1]  # offered again is no new task


RULES: dict[str, Any] = {"workers.source.count": 400, "tasks.demand.per_hour": 200}


def test_what_the_rules_of_a_scenario_cost_and_hide(tmp_path: Path) -> None:
    free = run(small(RULES), tmp_path / "free", draw_map=False, summarise=False)
    grown = run(small(RULES | {"protocol.least_people": 60}), tmp_path / "grown", draw_map=False, summarise=False)
    assert (grown.metrics["travel_distance_m"] or 0) > (free.metrics["travel_distance_m"] or 0)
    crowd = run(small(RULES | {"protocol.per_km2_hour": 1}), tmp_path / "crowd", draw_map=False, summarise=False)
    refused = RunFolder(tmp_path / "crowd").tasks["reason"] == Reason.CROWDED
    assert refused.mean() == pytest.approx(crowd.metrics["unreachable_share"], abs=0.05)
    assert refused.sum() > 5
    strict = {"tasks.called_off_share": 0.3, "protocol.pay_called_off": True, "protocol.new_names": True}
    paid = run(small(RULES | strict), tmp_path / "paid", draw_map=False, summarise=False)
    tasks = RunFolder(tmp_path / "paid").tasks
    off = tasks["reason"] == Reason.CALLED_OFF
    assert 0.1 < off.mean() < 0.5
    assert (tasks.loc[off, "reward"] > 0).all()
    assert paid.metrics["reward_spent"] == pytest.approx(tasks["reward"].sum())
    unpaid = strict | {"protocol.pay_called_off": False}
    run(small(RULES | unpaid), tmp_path / "unpaid", draw_map=False, summarise=False)
    kept = RunFolder(tmp_path / "unpaid").tasks
    assert kept.loc[kept["reason"] == Reason.CALLED_OFF, "reward"].fillna(0).max() == 0
    names = [name for some in RunFolder(tmp_path / "paid").offers["winners"] for name in some]
    assert len(names) == len(set(names)) > 20  # nobody has a name twice
    (error, _) = attack_run(RunFolder(tmp_path / "paid"), plugin("triangulation", "attack"))
    assert error.value is not None  # guesses under new names are scored, too
    sybil = plugin("sybil", "attack", trials=20, side_m=1000.0, people_per_km2=50.0, passes=5)
    (hidden,) = attack_run(RunFolder(tmp_path / "paid"), sybil)
    (plain,) = attack_run(RunFolder(tmp_path / "free"), sybil)
    assert hidden.value is not None
    assert plain.value is not None
    assert hidden.value < 0.5 * plain.value
    assert ", 0 paid" in plain.note


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"server.mode": "worker_selected", "protocol.least_people": 5}, "plans none here"),
        ({"server.mode": "worker_selected", "protocol.per_km2_hour": 5}, "limits offers"),
        ({"curator": None, "server.assignment": {"kind": "nearest_report"}, "protocol.new_names": True}, "a curator"),
    ],
)
def test_rules_about_what_there_is_not_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        small(changes)
