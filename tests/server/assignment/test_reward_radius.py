import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.public.acceptance import Acceptance
from geodp.public.acceptance.linear import Linear
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.public.acceptance.zipf import Zipf
from geodp.public.events import Reason
from geodp.public.messages import Offer, Task
from geodp.public.release import Cells
from geodp.registry import plugin
from geodp.server.assignment import ServerView
from geodp.server.assignment.reward_radius import RewardRadius
from tests.server.noisy_worlds import DENSITY_PER_M2, SIDE_M, inner_places, realised_success, released
from tests.server.targets import radius_m

REGION = Region(-122.5, 37.7, -122.4, 37.8)
NEED = -math.log(0.1)
DEFAULT = TanhReward(metres_per_reward=800, minimum_reward=0.1)
BOOK = TanhReward(ceiling=1, metres_per_reward=1000, minimum_reward=0.0)


def halves(west_per_km2: float, east_per_km2: float) -> Cells:
    """Return an exact release whose western and eastern half have these densities."""
    half_km2 = (SIDE_M / 1000) ** 2 / 2
    return released([[west_per_km2 * half_km2, east_per_km2 * half_km2]], 0.0, floor_per_m2=1e-9)


def task(number: int, x_m: float = 3000.0, arrived_s: float = 0.0) -> Task:
    return Task(number, x_m, 7000.0, arrived_s, arrived_s + 900)


WEST, EAST = 3000.0, 10_000.0


def view(release: Cells | None, acceptance: Acceptance = DEFAULT, **other: Any) -> ServerView:
    known: dict[str, Any] = {"purse": 2.0, "uniform_reward": 1.0, "minimum_reward": 0.1, **other}
    return ServerView(time_s=0.0, region=REGION, release=release, acceptance=acceptance, **known)


def offers(fields: dict[str, Any], tasks: list[Task], seen: ServerView) -> list[Offer]:
    return RewardRadius(**{"planning": "plain", **fields}).offers(tasks, seen)


def test_it_is_found_by_its_kind() -> None:
    assert plugin("reward_radius", target_success=0.8) == RewardRadius(target_success=0.8)


# --- which combinations make sense


@pytest.mark.parametrize("solver", ["taylor", "eq1314"])
def test_the_books_solvers_need_the_printed_model(solver: str) -> None:
    with pytest.raises(ValidationError, match="set model: printed"):
        RewardRadius.model_validate({"solver": solver})
    assert RewardRadius.model_validate({"solver": solver, "model": "printed"}).solver == solver


def test_noise_aware_planning_needs_the_poisson_model() -> None:
    with pytest.raises(ValidationError, match="set model: poisson"):
        RewardRadius(model="printed", planning="noise_aware")


@pytest.mark.parametrize("target", [0.0, 1.0, -0.1, 1.5])
def test_a_target_is_a_probability_short_of_certainty(target: float) -> None:
    with pytest.raises(ValidationError):
        RewardRadius(target_success=target)


@pytest.mark.parametrize("acceptance", [Linear(), Zipf()])
def test_the_books_solvers_need_the_books_acceptance(acceptance: Acceptance) -> None:
    with pytest.raises(UsageError, match=r"'taylor' is algebra for acceptance 'tanh_reward'.*solver: exact"):
        offers({"model": "printed", "solver": "taylor"}, [task(1)], view(halves(50, 50), acceptance))


# --- the Poisson model


def test_each_circle_reaches_the_target() -> None:
    tasks = [task(7, WEST), task(3, EAST)]
    west, east = offers({"reward": "uniform"}, tasks, view(halves(400, 50)))
    assert (west.task, east.task) == (7, 3)
    for offer, density in ((west, 400e-6), (east, 50e-6)):
        assert offer.planned_success == pytest.approx(0.9, rel=1e-9)
        assert offer.density_per_m2 == pytest.approx(density)
        assert density * float(DEFAULT.reach_m2(1.0, radius_m(offer))) == pytest.approx(NEED, rel=1e-9)
        assert offer.expected_workers == pytest.approx(density * math.pi * radius_m(offer) ** 2)
        assert radius_m(offer) == offer.uncapped_radius_m < 3600
        assert (offer.reward, offer.unreachable, offer.notes) == (1.0, "", ())


def test_a_task_that_even_the_largest_circle_cannot_serve_is_unreachable() -> None:
    near, far = offers({"reward": "uniform"}, [task(1, WEST), task(2, EAST)], view(halves(50, 0.5)))
    assert near.unreachable == ""
    assert far.unreachable == Reason.BEYOND_REACH
    assert far.uncapped_radius_m > 3600
    assert (far.reward, radius_m(far), far.planned_success, far.expected_workers) == (0, 0, 0, 0)
    assert 0.5e-6 * float(DEFAULT.reach_m2(1.0, 3600)) < NEED


def test_where_no_radius_suffices_the_reason_says_so() -> None:
    linear = Linear(mar=0.1, max_travel_m=1000)
    [offer] = offers({}, [task(1)], view(halves(1, 1), linear))
    assert offer.unreachable == Reason.NO_RADIUS
    assert offer.uncapped_radius_m == math.inf


def test_more_reward_brings_a_task_into_reach() -> None:
    sparse = halves(400, 0.5)
    tasks = [task(1, WEST), task(2, EAST)]
    assert offers({"reward": "uniform"}, tasks, view(sparse))[1].unreachable == Reason.BEYOND_REACH
    dense, far = offers({"reward": "optimised"}, tasks, view(sparse))
    assert far.unreachable == ""
    assert far.reward > 1 > dense.reward
    assert [dense.planned_success, far.planned_success] == pytest.approx([0.9, 0.9], rel=1e-9)


def test_the_optimised_reward_is_step_3_of_the_book() -> None:
    tasks = [task(1, WEST), task(2, EAST)]
    uniform = offers({"reward": "uniform"}, tasks, view(halves(400, 50)))
    tuned = offers({"reward": "optimised"}, tasks, view(halves(400, 50)))
    total = sum(radius_m(offer) for offer in uniform)
    for before, after in zip(uniform, tuned, strict=True):
        assert after.reward == pytest.approx(0.1 + radius_m(before) / total * (2 - 0.2))
    again = offers({"reward": "optimised", "iterations": 2}, tasks, view(halves(400, 50)))
    total = sum(radius_m(offer) for offer in tuned)
    assert again[1].reward == pytest.approx(0.1 + radius_m(tuned[1]) / total * (2 - 0.2))


def test_what_an_unreachable_task_would_have_got_stays_in_the_purse() -> None:
    near, far = offers({}, [task(1, WEST), task(2, EAST)], view(halves(50, 0.05)))
    assert far.unreachable == Reason.BEYOND_REACH
    assert 0 < near.reward < 1
    assert far.reward == 0


def test_uniform_rewards_take_no_more_than_the_mean() -> None:
    tasks = [task(1), task(2)]
    rich = offers({"reward": "uniform"}, tasks, view(halves(50, 50), purse=100.0))
    poor = offers({"reward": "uniform"}, tasks, view(halves(50, 50), purse=1.0))
    assert [offer.reward for offer in rich] == [1.0, 1.0]
    assert [offer.reward for offer in poor] == [0.5, 0.5]


@pytest.mark.parametrize("reward", ["optimised", "uniform"])
def test_too_small_a_purse_serves_the_first_to_arrive(reward: str) -> None:
    tasks = [task(1, arrived_s=30), task(2, arrived_s=10), task(3, arrived_s=20)]
    seen = view(halves(500, 500), purse=0.25)
    late, first, second = offers({"reward": reward}, tasks, seen)
    assert late.unreachable == Reason.PURSE_EMPTY
    assert math.isnan(late.uncapped_radius_m)
    assert first.reward == second.reward == 0.125
    assert offers({"reward": reward}, tasks, view(halves(500, 500), purse=0.0))[1].unreachable


def test_the_minimum_is_the_higher_of_the_scenarios_and_the_workers() -> None:
    choosy = DEFAULT.model_copy(update={"minimum_reward": 1.5})
    first, second = offers({}, [task(1), task(2)], view(halves(500, 500), choosy))
    assert first.reward == 2.0
    assert second.unreachable == Reason.PURSE_EMPTY


def test_without_a_release_there_is_nothing_to_plan_from() -> None:
    for offer in offers({}, [task(1), task(2)], view(None)):
        assert offer.unreachable == Reason.NO_RELEASE
        assert offer.reward == 0


def test_no_tasks_no_offers() -> None:
    assert offers({}, [], view(halves(50, 50))) == []


def test_a_re_offer_reaches_the_whole_wider_circle() -> None:
    fields = {"reward": "uniform", "widen": 2.0}
    [first] = offers(fields, [task(1)], view(halves(50, 50), purse=1.0))
    [second] = offers(fields, [task(1)], view(halves(50, 50), purse=1.0, round=1))
    [last] = offers(fields, [task(1)], view(halves(50, 50), purse=1.0, round=9))
    assert radius_m(second) == pytest.approx(2 * radius_m(first))
    assert radius_m(last) == 3600
    assert first.uncapped_radius_m == second.uncapped_radius_m == last.uncapped_radius_m
    assert first.planned_success < second.planned_success < last.planned_success <= 1


def test_planned_success_is_realised_in_an_even_poisson_world() -> None:
    """Exact counts in cells of 2.25 km (180 workers each), workers at Poisson places."""
    rng = np.random.default_rng(11)
    means = []
    for _ in range(10):
        workers = rng.uniform(0, SIDE_M, (rng.poisson(DENSITY_PER_M2 * SIDE_M**2), 2))
        cell = (workers // (SIDE_M / 6)).astype(int)
        counts = np.zeros((6, 6))
        np.add.at(counts, (cell[:, 1], cell[:, 0]), 1)
        x_m, y_m = inner_places(300, rng)
        tasks = [Task(i, float(x_m[i]), float(y_m[i]), 0.0, 900.0) for i in range(300)]
        planned = offers({}, tasks, view(released(counts, 0.0), purse=300.0))
        assert not any(offer.unreachable for offer in planned)
        reward = np.array([offer.reward for offer in planned])
        radius = np.array([radius_m(offer) for offer in planned])
        success = realised_success(DEFAULT, reward, x_m, y_m, radius_m=radius, workers_m=workers)
        means.append(success.mean())
    # standard deviation between worlds 0.0041, standard error 0.0013: six of them, false alarm 2e-9
    assert np.mean(means) == pytest.approx(0.9, abs=0.008)


def test_noise_aware_planning_asks_for_more_where_the_release_is_noisy() -> None:
    noisy = released(np.full((9, 9), 79.0) + np.random.default_rng(0).laplace(0, 60, (9, 9)), 60.0)
    tasks = [task(i, x) for i, x in enumerate(np.linspace(3000, 10_000, 20))]
    seen = view(noisy, purse=20.0)
    for offer in offers({"planning": "noise_aware", "reward": "uniform", "max_recipients": None}, tasks, seen):
        assert offer.planned_success == pytest.approx(0.9, rel=1e-9)
        # what suffices at the mean density does not suffice when the density is in doubt
        density = offer.expected_workers / (math.pi * radius_m(offer) ** 2)
        assert float(DEFAULT.reach_m2(1.0, radius_m(offer))) > NEED / density


# --- the printed model


def test_the_printed_model_promises_the_target_from_a_fraction_of_a_worker() -> None:
    [offer] = offers({"model": "printed"}, [task(1)], view(halves(100, 100), BOOK, purse=0.1))
    assert radius_m(offer) == pytest.approx(26.0, abs=0.05)
    assert offer.planned_success == pytest.approx(0.9, rel=1e-9)
    assert offer.expected_workers == pytest.approx(0.21, abs=0.005)
    assert offer.notes == ("under_one_worker",)


def test_the_printed_model_is_cut_at_the_maximum_travel_distance_and_says_what_that_costs() -> None:
    [offer] = offers({"model": "printed"}, [task(1)], view(halves(0.2, 0.2), BOOK, purse=1 / 3))
    assert offer.unreachable == ""
    assert offer.uncapped_radius_m == pytest.approx(7079.6, abs=0.1)
    assert radius_m(offer) == 3600
    workers = math.pi * 3.6**2 * 0.2
    refuses = 1 - math.tanh((1000 / 3) / 2400)
    assert offer.planned_success == pytest.approx(1 - refuses**workers, rel=1e-9)


def test_taylors_negative_radius_is_counted_and_makes_no_offer() -> None:
    fields = {"model": "printed", "solver": "taylor", "reward": "uniform"}
    seen = view(halves(20, 1), BOOK, purse=2 / 3, uniform_reward=1 / 3)
    negative, good = offers(fields, [task(1, WEST), task(2, EAST)], seen)
    assert negative.uncapped_radius_m == pytest.approx(-145.9, abs=0.05)
    assert negative.notes == ("negative_radius",)
    assert negative.unreachable == Reason.BAD_RADIUS
    assert (negative.reward, radius_m(negative)) == (0, 0)
    assert radius_m(good) == pytest.approx(1221.6, abs=0.05)
    assert good.planned_success == pytest.approx(0.9, abs=0.001)


def test_taylor_with_tuned_rewards_gives_a_task_of_negative_radius_no_more_than_the_minimum() -> None:
    fields = {"model": "printed", "solver": "taylor"}
    seen = view(halves(20, 1), BOOK, purse=2 / 3, minimum_reward=0.01)
    negative, good = offers(fields, [task(1, WEST), task(2, EAST)], seen)
    assert good.reward == pytest.approx(2 / 3 - 0.01)
    assert good.unreachable == ""
    assert negative.reward in (0, pytest.approx(0.01))


def test_equation_13_14_as_printed() -> None:
    fields = {"model": "printed", "solver": "eq1314", "reward": "uniform"}
    seen = view(halves(0.2, 5), BOOK, purse=2 / 3, uniform_reward=1 / 3)
    sparse, dense = offers(fields, [task(1, WEST), task(2, EAST)], seen)
    assert radius_m(sparse) == pytest.approx(230, abs=0.5)
    assert sparse.planned_success == pytest.approx(0.115, abs=5e-4)
    assert dense.uncapped_radius_m == pytest.approx(3644, abs=0.5)


@pytest.mark.parametrize("acceptance", [Linear(mar=0.5), Zipf(mar=0.5)])
def test_the_printed_model_takes_any_acceptance(acceptance: Acceptance) -> None:
    [offer] = offers({"model": "printed"}, [task(1)], view(halves(100, 100), acceptance))
    assert offer.planned_success == pytest.approx(0.9, rel=1e-9)


# --- properties


@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    purse=st.floats(0, 1e4),
    minimum=st.floats(0, 10),
    places=st.lists(st.floats(0, SIDE_M), min_size=1, max_size=30),
    fields=st.sampled_from(
        [
            {},
            {"iterations": 3},
            {"reward": "uniform"},
            {"model": "printed"},
            {"model": "printed", "solver": "taylor"},
            {"model": "printed", "solver": "eq1314", "reward": "uniform"},
            {"planning": "noise_aware"},
            {"planning": "noise_aware", "max_recipients": 5, "reward": "uniform"},
        ]
    ),
    density=st.tuples(st.floats(-2, 5), st.floats(-2, 5)),
)
def test_promises(
    purse: float,
    minimum: float,
    places: list[float],
    fields: dict[str, Any],
    density: tuple[float, float],
) -> None:
    """Rewards never exceed the purse, and an offer is either whole or carries its reason."""
    tasks = [task(i, x) for i, x in enumerate(places)]
    acceptance = DEFAULT.model_copy(update={"minimum_reward": minimum})
    seen = view(
        halves(10 ** density[0], 10 ** density[1]),
        acceptance,
        purse=purse,
        minimum_reward=minimum,
        uniform_reward=max(minimum, 1.0),
    )
    made = offers(fields, tasks, seen)
    assert [offer.task for offer in made] == [t.task for t in tasks]
    assert sum(offer.reward for offer in made) <= purse
    assert math.fsum(offer.reward for offer in made) <= purse
    for offer in made:
        if offer.unreachable:
            assert (offer.reward, radius_m(offer), offer.planned_success) == (0, 0, 0)
        else:
            assert 0 < radius_m(offer) <= acceptance.max_travel_m
            assert acceptance.pays_enough(offer.reward)
            assert 0 < offer.planned_success <= 1
            assert ("under_one_worker" in offer.notes) == (offer.expected_workers < 1)
        assert ("negative_radius" in offer.notes) == (offer.uncapped_radius_m < 0)
