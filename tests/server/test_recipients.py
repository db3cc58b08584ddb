"""How many people are asked, and when: caps by enumeration, schedules by calculus and by trying others, thinning."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from geodp.geometry import Array
from geodp.public.messages import Task
from geodp.server.assignment import ServerView
from geodp.server.assignment.geocast import Geocast
from geodp.server.recipients import (
    PeopleInside,
    gamma_quantiles,
    possible_rounds,
    region_target,
    round_caps,
    round_shares,
)
from tests.server.assignment.test_geocast import view
from tests.server.cells import grid_cells


def inside(mean: float, variance: float, probability: float) -> PeopleInside:
    return PeopleInside(np.array([mean]), np.array([variance]), np.array([mean * probability]))


def success_by_enumeration(mean: float, variance: float, probability: float, cap: float, needed: int = 1) -> float:
    """Integrate over the gamma law by 20,000 quantiles; whole people where several are needed."""
    law = stats.gamma(mean**2 / variance, scale=variance / mean)
    number = np.minimum(law.ppf((np.arange(20_000) + 0.5) / 20_000), cap)
    if needed == 1:
        return float(1 - np.mean((1 - probability) ** number))
    return float(np.mean(stats.binom.sf(needed - 1, np.rint(number).astype(int), probability)))


def test_a_region_is_grown_to_98_percent_for_a_target_of_90() -> None:
    assert region_target(0.9, capped=True) == pytest.approx(1 - 0.1**1.7) == pytest.approx(0.98, abs=1e-3)
    assert region_target(0.9, capped=False) == 0.9


@pytest.mark.parametrize("mean", [30.0, 60.0, 300.0])
@pytest.mark.parametrize("spread", [0.05, 0.3, 0.6])
def test_the_cap_is_the_least_that_reaches_the_target(mean: float, spread: float) -> None:
    variance = (spread * mean) ** 2
    people = inside(mean, variance, 0.09)
    [cap], [planned] = people.least_cap(0.9)
    everyone = success_by_enumeration(mean, variance, 0.09, np.inf)
    if cap == 0:
        assert everyone < 0.9
        assert planned == pytest.approx(everyone, abs=0.003)
        return
    assert planned >= 0.9
    assert planned == pytest.approx(success_by_enumeration(mean, variance, 0.09, cap), abs=0.003)
    assert float(people.success(np.array([cap - 1]))[0]) < 0.9
    assert cap >= math.ceil(math.log(0.1) / math.log(1 - 0.09)) == 25  # nobody plans 90 % with fewer


def test_a_cap_for_a_known_number_is_that_of_independent_answers() -> None:
    """N = 200 surely: 1 - 0.9^K ≥ 0.9 first at K = 22; three of K: P(Bin(K, 0.1) ≥ 3) ≥ 0.9 first at K = 52."""
    people = inside(200.0, 1e-6, 0.1)
    assert people.least_cap(0.9)[0].tolist() == [22]
    three = next(k for k in range(3, 200) if stats.binom.sf(2, k, 0.1) >= 0.9)
    assert people.least_cap(0.9, needed=3)[0].tolist() == [three] == [52]


def test_a_cap_is_found_task_by_task_and_missing_where_too_few_are_expected() -> None:
    mixed = PeopleInside(np.array([200.0, 5.0, 0.0, 60.0]), np.array([1.0, 4.0, 0.0, 900.0]), np.array([20, 0.5, 0, 6]))
    caps, planned = mixed.least_cap(0.9)
    assert caps.tolist()[:3] == [22, 0, 0]
    assert planned[2] == 0.0
    assert planned[1] == pytest.approx(1 - 0.9**5, abs=0.03)
    assert caps[3] == inside(60.0, 900.0, 0.1).least_cap(0.9)[0][0]


@pytest.mark.parametrize("needed", [1, 2, 3])
def test_planned_success_under_a_cap_is_that_of_enumeration(needed: int) -> None:
    for mean, variance, probability, cap in [(40, 100, 0.1, 24), (120, 900, 0.05, 60), (25, 200, 0.3, 12)]:
        planned = float(inside(mean, variance, probability).success(np.array([cap]), needed)[0])
        # whole people in the enumeration, fractions in the plan: several acceptors differ a little more
        within = 0.003 if needed == 1 else 0.01
        assert planned == pytest.approx(success_by_enumeration(mean, variance, probability, cap, needed), abs=within)


@pytest.mark.parametrize(("needed", "declined", "cap"), [(1, 12.0, 9), (1, 45.0, 30), (2, 12.0, 9)])
def test_a_reoffer_plans_on_those_who_are_left_given_that_the_others_declined(
    needed: int, declined: float, cap: int
) -> None:
    """By Bayes' rule over a fine grid of how many people there may be; fractions count in the exponent."""
    inside = PeopleInside(np.array([40.0]), np.array([100.0]), np.array([4.0]))
    law = stats.gamma(16.0, scale=2.5)
    numbers = law.ppf((np.arange(4000) + 0.5) / 4000)

    def fewer(number: Array) -> Array:
        nobody = 0.9**number
        return nobody if needed == 1 else nobody + np.maximum(number, 0.0) * nobody / 9

    before = np.minimum(numbers, declined)
    weight = fewer(before)
    missed = weight @ fewer(np.minimum(numbers - before, cap)) / weight.sum()
    planned = float(inside.success(np.array([cap]), needed, np.array([declined]))[0])
    assert planned == pytest.approx(1 - missed, abs=0.004)
    assert planned < float(inside.success(np.array([cap]), needed)[0])


def test_a_reoffer_asks_the_least_number_of_others_that_plans_its_target() -> None:
    inside = PeopleInside(np.array([60.0, 60.0, 20.0]), np.array([1e-9, 30.0, 4.0]), np.array([6.0, 6.0, 2.0]))
    declined = np.array([22.0, 22.0, 20.0])
    target = 1 - 0.1**0.5
    cap, planned = inside.least_cap(target, declined=declined)
    assert cap[0] == math.ceil(math.log(0.1**0.5) / math.log(0.9))
    assert cap[2] == 0  # about all were asked before
    assert inside.most_left(declined)[2] >= 1
    for place in (0, 1):
        assert planned[place] >= target
        fewer = inside.success(cap - 1, declined=declined)
        assert fewer[place] < target


def test_offer_and_reoffer_together_ask_as_many_as_one_offer_for_both() -> None:
    """Nobody new would be needed for what those who declined were asked for already."""
    inside = PeopleInside(np.array([400.0]), np.array([1e-6]), np.array([40.0]))
    first, _ = inside.least_cap(0.9)
    second, _ = inside.least_cap(1 - 0.1**0.5, declined=first.astype(np.float64))
    both, _ = inside.least_cap(1 - 0.1**1.5)
    assert first[0] + second[0] == pytest.approx(both[0], abs=1)


def test_quantiles_have_the_mean_exactly_and_the_variance_nearly() -> None:
    mean, variance = np.array([3.0, 50.0, 1e4]), np.array([2.0, 400.0, 1e4])
    numbers = gamma_quantiles(mean, variance)
    assert numbers.shape == (3, 64)
    assert numbers.mean(axis=1) == pytest.approx(mean, rel=1e-6)
    assert numbers.var(axis=1) == pytest.approx(variance, rel=0.06)


# --- phones that thin out


@pytest.mark.parametrize("needed", [1, 2, 4])
def test_the_share_of_phones_solves_its_equation(needed: int) -> None:
    people = PeopleInside(np.array([80.0, 80.0, 400.0]), np.array([1e-9, 900.0, 1e4]), np.array([12.0, 12.0, 30.0]))
    share = people.shares(0.9, needed)
    assert ((share > 0) & (share < 1)).all()
    for i in range(3):
        mean, spread = share[i] * people.acceptors[i], people.variance[i] / people.mean[i] ** 2
        law = stats.nbinom(1 / spread, 1 / (1 + spread * mean)) if spread > 1e-9 else stats.poisson(mean)
        assert float(law.sf(needed - 1)) == pytest.approx(0.9, abs=1e-6)
    assert people.thin_success(share, needed) == pytest.approx(0.9, abs=1e-6)
    assert share[1] > share[0]  # what is uncertain needs more


@pytest.mark.parametrize("needed", [1, 3])
def test_where_all_phones_are_too_few_all_take_part_and_the_plan_says_so(needed: int) -> None:
    people = inside(10.0, 9.0, 0.1)
    assert people.shares(0.9, needed) == pytest.approx([1.0])
    assert people.thin_success(np.ones(1), needed)[0] < 0.7


def test_phones_thin_out_for_as_many_workers_as_a_task_needs() -> None:
    """Three workers need more phones than one: a plan that forgets it would ask a third of them."""
    release = grid_cells(np.full((20, 20), 30.0), cell_m=300.0, noise_scale=1.0)
    rules, task = Geocast(), [Task(0, 0.0, 0.0, 0.0, 900.0)]
    expected = {}
    for needed in (1, 3):
        seen = view(release, workers_per_task=needed, trusted=False, purse=1e9)
        [offer] = rules.offers(task, seen)
        assert not offer.caps
        assert len(offer.shares) == (3 if needed == 1 else 1)  # all three must come at once
        expected[needed] = offer.shares[-1] * offer.expected_workers
        assert offer.planned_success == pytest.approx(0.9, abs=1e-6)
    assert expected[3] > 2 * expected[1]


# --- rounds


def askings(shares: Array, whole: float) -> float:
    """Return the people asked on average, as a share of asking all at once: Σ e^(-H_{j-1}) x_j / H."""
    done = np.concatenate([[0.0], shares]) * whole
    return float(np.sum(np.exp(-done[:-1]) * np.diff(done)) / whole)


@pytest.mark.parametrize(("rounds", "golden"), [(1, 1.0), (2, 0.64), (3, 0.545), (5, 0.48)])
def test_rounds_ask_as_little_as_they_should(rounds: int, golden: float) -> None:
    assert askings(np.array(round_shares(rounds, 0.9)), -math.log(0.1)) == pytest.approx(golden, abs=0.005)


def test_three_rounds_ask_235_546_and_1000_thousandths() -> None:
    assert round_shares(3, 0.9) == pytest.approx((0.235, 0.546, 1.0), abs=5e-4)
    assert round_shares(1, 0.9) == (1.0,)


@pytest.mark.parametrize("rounds", [2, 3, 4, 5])
@pytest.mark.parametrize("target", [0.5, 0.9, 0.99])
def test_no_other_schedule_asks_fewer(rounds: int, target: float) -> None:
    whole, ours = -math.log1p(-target), np.array(round_shares(rounds, target))
    least = askings(ours, whole)
    for place in range(rounds - 1):
        for step in (-0.02, 0.02):
            other = ours.copy()
            other[place] += step
            assert askings(other, whole) > least
    rng = np.random.default_rng(rounds)
    for _ in range(300):
        other = np.append(np.sort(rng.random(rounds - 1)), 1.0)
        assert askings(other, whole) > least


@pytest.mark.parametrize("cap", [1, 2, 3, 7, 26, 1000])
@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
def test_caps_grow_to_the_whole_and_every_round_asks_somebody(cap: int, rounds: int) -> None:
    caps = round_caps(cap, rounds, 0.9)
    assert caps[-1] == cap
    assert len(caps) <= rounds
    assert all(late > early for early, late in pairwise((0, *caps)))
    assert round_caps(26, 3, 0.9) == (7, 15, 26)


def test_rounds_stay_within_patience() -> None:
    assert possible_rounds("auto", 900.0, 60.0) == 3
    assert possible_rounds("auto", 120.0, 60.0) == 2
    assert possible_rounds("auto", 119.9, 60.0) == 1
    assert possible_rounds("auto", 30.0, 60.0) == 1
    assert possible_rounds(8, 900.0, 60.0) == 8
    assert possible_rounds(8, 200.0, 60.0) == 3


def test_a_plan_has_the_rounds_that_its_task_has_time_for() -> None:
    release = grid_cells(np.full((20, 20), 30.0), cell_m=300.0, noise_scale=1.0)
    tasks = [Task(0, 0.0, 0.0, 0.0, 30.0), Task(1, 0.0, 0.0, 0.0, 130.0), Task(2, 0.0, 0.0, 0.0, 900.0)]
    one, two, three = Geocast().offers(tasks, view(release, purse=1e9, answer_window_s=30.0))
    assert [len(offer.caps) for offer in (one, two, three)] == [1, 2, 3]
    assert len({offer.caps[-1] for offer in (one, two, three)}) == 1
    assert one.caps[-1] < one.expected_workers
    [several] = Geocast().offers(tasks[2:], view(release, purse=1e9, workers_per_task=2))
    assert len(several.caps) == 1


def test_where_counts_are_taken_at_their_word_everyone_is_asked_at_once() -> None:
    release = grid_cells(np.full((20, 20), 30.0), cell_m=300.0, noise_scale=1.0)
    task = [Task(0, 0.0, 0.0, 0.0, 900.0)]
    for rules in (Geocast(planning="published"), Geocast(planning="plain"), Geocast(max_recipients=None)):
        [offer] = rules.offers(task, view(release, purse=1e9))
        assert (offer.caps, offer.shares) == ((), ())
    [capped] = Geocast(max_recipients=9).offers(task, view(release, purse=1e9))
    assert capped.caps[-1] == 9
    assert capped.planned_success < 0.9
    assert "short_of_target" in capped.notes


def seen_with_aim(aim: float) -> ServerView:
    return view(grid_cells(np.full((20, 20), 30.0), cell_m=300.0, noise_scale=1.0), purse=1e9, aim=aim)


def test_a_target_that_outcomes_have_lowered_is_not_missed_by_a_plan_that_reaches_it() -> None:
    task = [Task(0, 0.0, 0.0, 0.0, 900.0)]
    lower, higher = (Geocast().offers(task, seen_with_aim(aim))[0] for aim in (0.7, 0.97))
    assert 0.7 <= lower.planned_success < 0.8
    assert "short_of_target" not in lower.notes
    assert higher.planned_success >= 0.97
    assert lower.caps[-1] < higher.caps[-1]
