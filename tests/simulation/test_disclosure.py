"""What is charged to those who were asked is what the server sees, against brute force over everybody's answers."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest

from geodp.public.acceptance.linear import Linear
from geodp.public.messages import Task
from geodp.simulation.answers import AskedWorkers
from geodp.simulation.disclosure import Disclosure, SeenOutcomes, see_outcomes

MODEL = Linear(mar=1.0, max_travel_m=1.0)  # θ = 1 - distance
NO, YES, BUSY = 3, 4, 0  # codes of `AskedWorkers.answer`


def seen(chances: list[float], winners: list[int]) -> SeenOutcomes:
    people = np.arange(len(chances))
    return SeenOutcomes(
        task=np.array([7]),
        won=np.array([bool(winners)]),
        row=np.zeros(len(chances), dtype=np.int64),
        worker=people,
        reward=np.ones(len(chances)),
        distance_m=1 - np.array(chances),
        share=np.ones(len(chances)),
        named=np.isin(people, winners),
    )


def charged(chances: list[float], winners: list[int], needed: int = 1) -> list[float]:
    disclosure = Disclosure(MODEL, None, len(chances), needed)
    disclosure.charge(seen(chances, winners))
    return [float(nats) for nats in disclosure.nats]


def likelihood(chances: list[float], winners: list[int], needed: int) -> float:
    """Enumerate who accepts; among the acceptors the winners are drawn uniformly."""
    total = 0.0
    for yes in product([0, 1], repeat=len(chances)):
        weight = float(np.prod([chance if said else 1 - chance for chance, said in zip(chances, yes, strict=True)]))
        if not winners:
            total += weight if sum(yes) < needed else 0.0
        elif all(yes[winner] for winner in winners):
            total += weight / comb(sum(yes), needed)
    return total


@pytest.mark.parametrize("winners", [[], [0], [3]])
def test_one_worker_wanted_charges_the_exact_change_of_likelihood(winners: list[int]) -> None:
    rng = np.random.default_rng(11)
    for _ in range(25):
        chances = rng.uniform(0.01, 0.95, 5).tolist()
        nats = charged(chances, winners)
        for person in range(5):
            if person in winners:
                assert nats[person] == 0  # named by consent
                continue
            without = [0.0 if one == person else chance for one, chance in enumerate(chances)]
            ratio = likelihood(chances, winners, 1) / likelihood(without, winners, 1)
            assert nats[person] == pytest.approx(-np.log(ratio), rel=1e-9)


def test_several_workers_wanted_charge_the_exact_change_when_names_are_seen_and_a_bound_when_not() -> None:
    rng = np.random.default_rng(12)
    for needed, winners in ((2, [1, 4]), (3, [0, 1, 2])):
        chances = rng.uniform(0.05, 0.9, 6).tolist()
        nats = charged(chances, winners, needed)
        missed = charged(chances, [], needed)
        for person in range(6):
            without = [0.0 if one == person else chance for one, chance in enumerate(chances)]
            failing = -np.log(likelihood(chances, [], needed) / likelihood(without, [], needed))
            assert missed[person] == pytest.approx(-np.log1p(-chances[person]))
            assert missed[person] >= failing
            if person not in winners:
                ratio = likelihood(chances, winners, needed) / likelihood(without, winners, needed)
                assert nats[person] == pytest.approx(-np.log(ratio), rel=1e-9)


def test_many_acceptors_are_integrated_accurately() -> None:
    chances = np.full(400, 0.25).tolist()
    others = sum(comb(398, m) * 0.25**m * 0.75 ** (398 - m) * np.array([1 / (m + 1), 1 / (m + 2)]) for m in range(399))
    kappa = others[1] / others[0]  # type: ignore[index]
    assert charged(chances, [0])[1] == pytest.approx(-np.log1p(-0.25 * (1 - kappa)), rel=1e-6)


@pytest.mark.parametrize("second", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("winners", [[], [0]])
def test_a_second_offer_meets_the_same_mind(second: float, winners: list[int]) -> None:
    """Everyone draws one u: she passes the first offer when u ≥ θ₁ and takes the second when u < θ₂."""
    first, later = [0.3, 0.5, 0.1], [0.6, second, 0.4]
    disclosure = Disclosure(MODEL, None, 3)
    disclosure.charge(seen(first, []))
    disclosure.charge(seen(later, winners))
    assert disclosure.has_passed(7, np.array([2])).tolist() == [True]

    def joint(people: list[int]) -> float:
        passed = np.prod([1 - first[person] for person in people])
        then = [0.0] * 3
        for person in people:
            then[person] = max(later[person] - first[person], 0.0) / (1 - first[person])
        return float(passed) * likelihood(then, winners, 1)

    for person in (1, 2):
        ratio = joint([0, 1, 2]) / joint([one for one in range(3) if one != person])
        assert disclosure.nats[person] == pytest.approx(-np.log(ratio), rel=1e-9)


def test_certain_acceptance_that_is_not_there_discloses_without_bound() -> None:
    disclosure = Disclosure(MODEL, None, 2, needed=2)
    for _ in range(2):
        disclosure.charge(seen([1.0, 0.5], []))
    assert np.isinf(disclosure.nats[0])
    assert disclosure.nats[1] == pytest.approx(np.log(2))


def test_what_is_kept_of_closed_tasks_is_dropped() -> None:
    disclosure = Disclosure(MODEL, None, 2)
    disclosure.charge(seen([0.5, 0.5], []))
    disclosure.keep_only({})
    assert not disclosure.has_passed(7, np.array([0, 1])).any()


def test_only_those_count_whose_answer_could_have_mattered() -> None:
    """Task 1 takes worker 2, so task 5 of the same batch could not have had her; worker 0 is busy, 4 long gone."""
    tasks = [Task(5, 0.0, 0.0, 0.0, 900.0), Task(1, 0.0, 0.0, 0.0, 900.0), Task(9, 0.0, 0.0, 0.0, 900.0)]
    asked = AskedWorkers(
        tasks=tasks,
        rewards=np.array([1.0, 2.0, 3.0]),
        border=np.array([0, 4, 7, 8]),
        worker=np.array([0, 1, 2, 4, 1, 2, 3, 3]),
        x_m=np.zeros(8),
        y_m=np.zeros(8),
        distance_m=np.full(8, 0.5),
        answer=np.array([BUSY, NO, YES, YES, YES, YES, NO, YES], dtype=np.int8),
        luck=np.zeros(8),
        share=np.ones(3),
    )
    gone = np.zeros(5, dtype=np.bool_)
    gone[4] = True
    found = see_outcomes(asked, {1: [2], 5: []}, gone)  # task 9 had run out of patience: nothing of it was seen
    assert found.task.tolist() == [5, 1]
    assert found.won.tolist() == [False, True]
    rows = zip(found.task[found.row].tolist(), found.worker.tolist(), found.named.tolist(), strict=True)
    assert list(rows) == [(5, 1, False), (1, 1, False), (1, 2, True), (1, 3, False)]
    assert found.reward.tolist() == [1.0, 2.0, 2.0, 2.0]


def test_the_integral_of_a_uniform_choice_is_exact_for_small_groups() -> None:
    """Of three certain acceptors one is picked: without the third, the first is picked with 1/2 instead of 1/3."""
    assert charged([1.0, 1.0, 1.0], [0]) == pytest.approx([0.0, np.log(1.5), np.log(1.5)])
