from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from geodp.privacy.spending import (
    as_float,
    budget_units,
    carry,
    floats,
    largest,
    limbs,
    limit_units,
    split_epsilon,
    touches,
    units,
)

EPSILONS = st.floats(1e-10, 1e4)


@given(st.lists(EPSILONS, min_size=1, max_size=50))
def test_limbs_add_up_to_the_exact_decimal_sum(epsilons: list[float]) -> None:
    total = sum(units(epsilon) for epsilon in epsilons)
    assert Fraction(total, 10**27) == sum(Fraction(repr(epsilon)) for epsilon in epsilons)
    sums = np.sum([limbs(units(epsilon)) for epsilon in epsilons], axis=0)[:, None]
    assert largest(sums) == total
    assert abs(floats(sums)[0] - as_float(total)) <= 4e-16 * as_float(total)


@given(st.lists(st.lists(EPSILONS, max_size=4), min_size=1, max_size=20))
def test_the_largest_of_many_sums(people: list[list[float]]) -> None:
    exact = [sum(units(epsilon) for epsilon in spent) for spent in people]
    sums = np.stack([np.sum([limbs(0), *(limbs(units(e)) for e in spent)], axis=0) for spent in people], axis=1)
    assert largest(sums) == max(exact)


def test_borrows_are_carried_too() -> None:
    left = limbs(units(1.0))[:, None] - limbs(units(0.123456789123456))[:, None]
    assert carry(left)[:, 0].tolist() == limbs(units(1.0) - units(0.123456789123456)).tolist()


@given(EPSILONS)
def test_a_limit_is_the_last_sum_that_rounds_to_the_budget(budget: float) -> None:
    assert as_float(limit_units(budget)) == budget
    assert as_float(limit_units(budget) + 2) > budget
    assert budget_units(budget) <= limit_units(budget)


@given(EPSILONS, st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=20))
def test_parts_of_an_epsilon_come_to_it_again(epsilon: float, shares: list[float]) -> None:
    parts = split_epsilon(epsilon, shares)
    assert sum(units(part) for part in parts) == units(epsilon)
    assert min(parts) > 0
    assert np.allclose(parts, epsilon * np.array(shares) / sum(shares), rtol=1e-9)


def test_equal_parts_come_to_the_whole_again() -> None:
    """Found by chance: with equal shares the part that gives and the one that takes must not be the same."""
    parts = split_epsilon(2048.2051198100703, [1.0, 1.0])
    assert sum(units(part) for part in parts) == units(2048.2051198100703)


def test_plain_parts_stay_the_decimals_they_are() -> None:
    assert split_epsilon(1.0, [0.45, 0.22, 0.33]) == [0.45, 0.22, 0.33]
    assert split_epsilon(40.0, [0.45, 0.22, 0.33]) == [18.0, 8.8, 13.2]
    assert split_epsilon(1.0, [0.3, 0.3, 0.3]) == [0.33333333333334, 0.33333333333333, 0.33333333333333]
    assert split_epsilon(0.7, [1.0]) == [0.7]


def test_the_smallest_epsilons_are_rounded_up() -> None:
    assert units(1e-40) == 1
    assert budget_units(1e-40) == 0


def test_a_period_touches_every_window_that_its_data_lie_in() -> None:
    day = (0.0, 10.0)
    assert touches((5.0, 5.0), day)
    assert touches((-20.0, 3.0), day)
    assert touches((-20.0, 30.0), day)
    assert touches((10.0, 30.0), day)
    assert not touches((-20.0, 0.0), day)
    assert not touches((10.5, 30.0), day)
