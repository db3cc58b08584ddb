"""The law of the number of acceptors, against brute force over who accepts."""

from itertools import product
from math import ceil, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.server.acceptors import Look, OneAcceptor, SeveralAcceptors, acceptors, binomial_chances

CELLS = [(3, 0.1), (0, 0.5), (2, 0.35), (4, 0.02)]


def seen(workers: float, probability: float) -> Look:
    """Return a whole cell with so many workers."""
    return Look(0, 0.0, 0, -1, probability, workers, 1.0, (0.0, 0.0, 1.0, 1.0))


def brute_force(cells: list[tuple[int, float]], needed: int) -> float:
    """Add up the probability of every pattern of answers with at least `needed` acceptors."""
    people = [probability for workers, probability in cells for _ in range(workers)]
    success = 0.0
    for answers in product((False, True), repeat=len(people)):
        chance = 1.0
        for yes, probability in zip(answers, people, strict=True):
            chance *= probability if yes else 1 - probability
        success += chance if sum(answers) >= needed else 0.0
    return success


@pytest.mark.parametrize("needed", [1, 2, 3, 5])
def test_success_of_a_region_is_that_of_brute_force(needed: int) -> None:
    law = acceptors(needed)
    for taken, (workers, probability) in enumerate(CELLS):
        assert law.with_more(seen(workers, probability)) == pytest.approx(
            brute_force(CELLS[: taken + 1], needed), abs=1e-12
        )
        law.take(seen(workers, probability))
        assert law.success == pytest.approx(brute_force(CELLS[: taken + 1], needed), abs=1e-12)


def test_one_acceptor_of_several_is_the_same_law() -> None:
    one, several = OneAcceptor(), SeveralAcceptors(1)
    for workers, probability in CELLS:
        one.take(seen(workers, probability))
        several.take(seen(workers, probability))
        assert several.success == pytest.approx(one.success, abs=1e-14)


def test_the_last_cell_needs_the_published_number_of_workers() -> None:
    """EU 0.9, U 0.5, p 0.1: u = 0.8, ⌈ln 0.2 / ln 0.9⌉ = ⌈15.28⌉ = 16; rounding down would give U = 0.897."""
    law = OneAcceptor()
    law.nobody = 0.5
    assert law.workers_for(0.9, seen(40, 0.1)) == ceil(log(0.2) / log(0.9)) == 16
    assert law.with_more(seen(16, 0.1)) >= 0.9 > law.with_more(seen(15, 0.1))
    assert OneAcceptor().workers_for(0.9, seen(40, 0.1)) == 22


@settings(deadline=None, derandomize=True)
@given(st.floats(0.02, 0.9), st.floats(0.1, 0.99), st.integers(1, 4))
def test_the_workers_needed_are_the_fewest_that_suffice(probability: float, target: float, needed: int) -> None:
    law = acceptors(needed)
    workers = law.workers_for(target, seen(2000, probability))
    assert law.with_more(seen(workers, probability)) >= target * (1 - 1e-9)
    assert workers == 1 or law.with_more(seen(workers - 1, probability)) < target


@settings(deadline=None, derandomize=True)
@given(st.floats(0.02, 0.9), st.floats(0.1, 0.9), st.integers(1, 3))
def test_the_share_needed_reaches_the_target_and_not_more(probability: float, target: float, needed: int) -> None:
    law = acceptors(needed)
    workers = law.workers_for(target, seen(2000, probability)) + 5
    share = law.share_for(target, seen(workers, probability), probability)
    assert 0 < share <= 1
    assert law.with_part(seen(workers, probability), share, probability) == pytest.approx(target, abs=1e-6)


def test_binomial_chances_add_up_and_survive_extremes() -> None:
    assert sum(binomial_chances(6, 0.3, 7)) == pytest.approx(1.0, abs=1e-12)
    assert binomial_chances(2, 0.5, 4) == [0.25, 0.5, 0.25, 0.0]
    assert binomial_chances(3, 1.0, 4) == [0.0, 0.0, 0.0, 1.0]
    assert binomial_chances(0, 0.4, 2) == [1.0, 0.0]
    assert binomial_chances(10**6, 0.5, 3) == [0.0, 0.0, 0.0]
