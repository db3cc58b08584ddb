"""What a recipient cap gives away, by exact enumeration over orders and answers; and what is charged for it.

The curator asks K of the people inside along an order, and the server sees who takes the task, or that nobody does.
Over a uniformly random order, the chance that all who are asked decline is the mean of Π(1 - θ) over all K-subsets,
which elementary symmetric polynomials give without listing them. Adding one more person changes it by a bounded factor;
with the nearest first it may change it from something to nothing.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from geodp.geometry import Array
from geodp.public.acceptance.linear import Linear
from geodp.public.messages import Circle, Offer, Task
from geodp.simulation.answers import Answers, ask
from geodp.simulation.disclosure import Disclosure, SeenOutcomes, see_outcomes
from geodp.simulation.meant import Meant, People, find_meant
from geodp.streams import Streams

OTHERS, CAP, MOST = 40, 24, 0.1


def mean_over_subsets(factor: Array, size: int) -> float:
    """Return the mean over all subsets of this size of the product of their factors."""
    sums = np.zeros(size + 1)
    sums[0] = 1.0
    for one in factor:
        sums[1:] = sums[1:] + one * sums[:-1]
    return float(sums[size]) / comb(factor.size, size)


def nobody(chance: Array, cap: int) -> float:
    """Chance that everyone who is asked declines; all are asked where they are fewer than the cap."""
    return mean_over_subsets(1 - chance, min(cap, chance.size))


def wins(chance: Array, winner: int, cap: int) -> float:
    """Chance that one person is asked, accepts, and is picked of all who do: ∫ E[s^M] ds is E[1/(M + 1)]."""
    others = np.delete(chance, winner)
    asked = min(cap, chance.size)
    total = 0.0
    for node, weight in zip(*np.polynomial.legendre.leggauss(20), strict=True):
        s = (node + 1) / 2
        total += weight / 2 * mean_over_subsets(1 - others * (1 - s), asked - 1)
    return float(chance[winner]) * asked / chance.size * total


def test_subsets_are_enumerated_rightly() -> None:
    chance = np.array([0.1, 0.5, 0.3, 0.8, 0.05])
    listed = [np.prod(1 - chance[list(some)]) for some in combinations(range(5), 3)]
    assert nobody(chance, 3) == pytest.approx(np.mean(listed))
    assert sum(wins(chance, each, 3) for each in range(5)) + nobody(chance, 3) == pytest.approx(1.0)
    assert nobody(chance, 9) == pytest.approx(np.prod(1 - chance))


def chances(seed: int) -> Array:
    """Return the chances of people spread evenly over a disc of 0.17 of the reach, willingness falling from a tenth."""
    return MOST * (1 - np.sqrt(np.random.default_rng(seed).random(OTHERS)) * 0.17)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("hers", [0.0, 0.02, 0.05, 0.1])
def test_one_more_person_changes_nobody_by_a_bounded_factor(seed: int, hers: float) -> None:
    others = chances(seed)
    asked, largest = CAP / (OTHERS + 1), max(float(others.max()), hers)
    ratio = nobody(np.append(others, hers), CAP) / nobody(others, CAP)
    exact = 1 - asked + asked * (1 - hers) * nobody(others, CAP - 1) / nobody(others, CAP)
    assert ratio == pytest.approx(exact, rel=1e-12)
    assert 1 - asked * hers <= ratio <= 1 + asked * largest / (1 - largest)


def test_under_a_cap_nobody_tells_next_to_nothing_about_anyone() -> None:
    """N = 40, K = 24, θ ≤ 0.1: 0.0022 nats on average and at most 0.008, instead of 0.093 without a cap.

    Where all are alike it costs nothing at all: whoever displaces somebody declines as likely.
    """
    alike = np.full(OTHERS, 0.09)
    assert nobody(np.append(alike, 0.09), CAP) == pytest.approx(nobody(alike, CAP), rel=1e-12)
    capped, uncapped = [], []
    for seed in range(5):
        everyone = chances(seed)
        for person in range(OTHERS):
            without = np.delete(everyone, person)
            capped.append(abs(np.log(nobody(everyone, CAP) / nobody(without, CAP))))
            uncapped.append(abs(np.log(nobody(everyone, OTHERS) / nobody(without, OTHERS))))
    assert np.mean(capped) == pytest.approx(0.0022, abs=0.0003)
    assert max(capped) < 0.008
    assert np.mean(uncapped) == pytest.approx(0.093, abs=0.002)


@pytest.mark.parametrize("seed", range(5))
def test_a_named_winner_gets_less_likely_by_at_most_her_being_displaced(seed: int) -> None:
    """P(w wins) is multiplied by at least 1 - 1/(N + 1) - πθ/2; it costs 0.025 nats, beside 0.023 without a cap."""
    others = chances(seed)
    hers = float(np.mean(others))
    with_her = np.append(others, hers)
    lost = [np.log(wins(others, w, CAP) / wins(with_her, w, CAP)) for w in range(OTHERS)]
    free = [np.log(wins(others, w, OTHERS + 1) / wins(with_her, w, OTHERS + 1)) for w in range(OTHERS)]
    assert max(lost) <= -np.log(1 - 1 / (OTHERS + 1) - CAP / (OTHERS + 1) * hers / 2)
    assert np.mean(lost) == pytest.approx(0.025, abs=0.0005)
    assert np.mean(free) == pytest.approx(0.023, abs=0.0015)


def test_fewer_people_than_the_cap_are_as_without_one() -> None:
    few = chances(0)[:10]
    assert nobody(few, CAP) == pytest.approx(np.prod(1 - few))
    assert nobody(np.append(few, 0.1), CAP) / nobody(few, CAP) == pytest.approx(0.9)


def test_what_is_charged_on_average_covers_that_nobody_gets_less_likely() -> None:
    """Those asked are charged -ln(1 - θ); over the secret order that is -π ln(1 - θ) ≥ -ln(1 - πθ) ≥ the true cost."""
    for seed in range(5):
        others = chances(seed)
        for hers in (0.01, 0.05, 0.1):
            asked = CAP / (OTHERS + 1)
            true = -np.log(nobody(np.append(others, hers), CAP) / nobody(others, CAP))
            assert -asked * np.log1p(-hers) >= -np.log1p(-asked * hers) >= true


# --- the protocol itself

MODEL = Linear(mar=0.1, max_travel_m=1000.0, minimum_reward=0.0)
TASK = Task(7, 0.0, 0.0, 0.0, 900.0)


def people(count: int, seed: int = 1) -> People:
    rng = np.random.default_rng(seed)
    angle, radius = rng.uniform(0, 2 * np.pi, count), 500 * np.sqrt(rng.random(count))
    return People(radius * np.cos(angle), radius * np.sin(angle), np.zeros(count, dtype=np.bool_))


def no_names(_: tuple[str, ...]) -> np.ndarray:
    return np.empty(0, dtype=np.int64)


def meant(everyone: People, offer: Offer, seed: int = 0) -> Meant:
    return find_meant([TASK], [offer], everyone, no_names, Streams(seed))


def test_the_curators_order_is_uniform_and_does_not_look_at_distance() -> None:
    """Each of 41 people is asked with chance 24/41 in 4,000 orders: sd 0.0078, 0.047 is six (false alarm 41·2e-9)."""
    everyone = people(41)
    asked = np.zeros(41)
    for seed in range(4_000):
        asked[meant(everyone, Offer(7, 1.0, Circle(600.0), caps=(CAP,)), seed).worker] += 1
    assert np.abs(asked / 4_000 - CAP / 41).max() < 0.047
    assert asked.sum() == 4_000 * CAP


def test_with_the_nearest_first_one_more_person_makes_what_was_seen_impossible() -> None:
    """The third nearest wins under a cap of three. Somebody nearer, and she could never have been asked."""
    place = np.array([100.0, 200.0, 300.0, 400.0])
    four = People(place, np.zeros(4), np.zeros(4, dtype=np.bool_))
    five = People(np.append(place, 250.0), np.zeros(5), np.zeros(5, dtype=np.bool_))
    nearest = Offer(7, 1.0, Circle(600.0), caps=(3,), nearest_first=True)
    for seed in range(50):  # whatever is drawn
        assert meant(four, nearest, seed).worker.tolist() == [0, 1, 2]
        assert meant(five, nearest, seed).worker.tolist() == [0, 1, 4]
    random = Offer(7, 1.0, Circle(600.0), caps=(3,))
    assert any(2 in meant(five, random, seed).worker for seed in range(50))


def charged(everyone: People, offer: Offer, rounds: int) -> tuple[Array, Meant]:
    """Charge what "nobody" in so many rounds discloses, whatever people really answered."""
    found = meant(everyone, offer)
    answers = Answers(MODEL, Streams(0), None)
    account = Disclosure(MODEL, None, everyone.x_m.size)
    for number in range(rounds):
        asked = ask(answers, found, everyone, number=number)
        account.charge(see_outcomes(asked, {7: []}, np.zeros(everyone.x_m.size, dtype=np.bool_)))
    return account.nats, found


def cost(everyone: People, share: float = 1.0) -> Array:
    return -np.log1p(-share * MODEL.probability(1.0, np.hypot(everyone.x_m, everyone.y_m)))


def test_of_capped_people_those_who_were_asked_are_charged_and_nobody_else() -> None:
    everyone = people(60)
    offer = Offer(7, 1.0, Circle(600.0), caps=(5, 12, 24))
    for rounds, many in ((1, 5), (2, 12), (3, 24)):
        nats, found = charged(everyone, offer, rounds)
        asked = found.worker[found.round < rounds]
        assert asked.size == many
        assert nats[asked] == pytest.approx(cost(everyone)[asked])
        assert np.count_nonzero(nats) == many


def test_of_phones_that_thin_out_everyone_is_charged_for_the_share_so_far() -> None:
    """Nobody sees who took part, so everyone meant is charged -ln(1 - q·θ): after three rounds, for the last q."""
    everyone = people(60)
    offer = Offer(7, 1.0, Circle(600.0), shares=(0.1, 0.25, 0.4))
    for rounds, share in ((1, 0.1), (2, 0.25), (3, 0.4)):
        nats, found = charged(everyone, offer, rounds)
        assert nats == pytest.approx(cost(everyone, share))
        assert 0 < np.count_nonzero(found.round < rounds) < 60


def test_a_winner_among_thinned_phones_costs_the_others_what_enumeration_says() -> None:
    """One round with share q is a round in which everyone accepts with q·θ."""
    chance, share = np.array([0.3, 0.5, 0.8]), 0.4
    model = Linear(mar=1.0, max_travel_m=1.0)
    account = Disclosure(model, None, 3)
    everyone = np.arange(3)
    account.charge(
        SeenOutcomes(
            task=np.array([7]),
            won=np.array([True]),
            row=np.zeros(3, dtype=np.int64),
            worker=everyone,
            reward=np.ones(3),
            distance_m=1 - chance,
            share=np.full(3, share),
            named=everyone == 0,
        )
    )
    for person in (1, 2):
        without = np.delete(share * chance, person)
        ratio = wins(share * chance, 0, 3) / wins(without, 0, 2)
        assert account.nats[person] == pytest.approx(-np.log(ratio), rel=1e-9)


def test_the_nearest_are_charged_without_bound() -> None:
    account = Disclosure(MODEL, None, 4)
    account.disclose_without_bound(np.array([1, 3]))
    assert np.isinf(account.nats).tolist() == [False, True, False, True]
