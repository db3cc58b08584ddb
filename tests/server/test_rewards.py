import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.public.acceptance.linear import Linear
from geodp.server.rewards import by_radius, find_funded, within


def test_a_purse_that_holds_the_minimum_for_all_funds_all() -> None:
    assert find_funded([3.0, 1.0, 2.0], purse=3.0, minimum=1.0).all()
    assert find_funded([3.0, 1.0, 2.0], purse=0.3, minimum=0.1).all()  # 3 · 0.1 > 0.3 by a rounding error


def test_the_first_to_arrive_are_funded() -> None:
    np.testing.assert_array_equal(find_funded([3.0, 1.0, 2.0, 1.0], 2.5, 1.0), [False, True, False, True])


@pytest.mark.parametrize("minimum", [0.0, 1.0])
def test_an_empty_purse_funds_nobody(minimum: float) -> None:
    assert not find_funded([1.0, 2.0], 0.0, minimum).any()


def test_step_3_of_the_book() -> None:
    """w0 + r/Σr · (W - w0·n), with W = 10, w0 = 1, n = 3."""
    np.testing.assert_allclose(by_radius(np.array([100.0, 200.0, 400.0]), 10, 1), [2, 3, 5])


def test_negative_and_infinite_radii_weigh_nothing() -> None:
    np.testing.assert_allclose(by_radius(np.array([-50.0, 300.0, np.inf]), 10, 1), [1, 8, 1])
    np.testing.assert_allclose(by_radius(np.array([np.inf, -1.0]), 10, 1), [5, 5])


positive = st.floats(1e-3, 1e6)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.lists(positive, min_size=1, max_size=60), positive, st.floats(0, 1))
def test_shares_never_exceed_the_purse(radii: list[float], purse: float, share: float) -> None:
    minimum = share * purse / len(radii)
    chosen = find_funded([0.0] * len(radii), purse, minimum)
    assert chosen.all()
    rewards = within(by_radius(np.array(radii), purse, minimum), purse)
    assert math.fsum(rewards) <= purse
    assert sum(rewards.tolist()) <= purse
    assert math.fsum(rewards) >= purse * (1 - 1e-9)
    assert Linear(minimum_reward=minimum).pays_enough(rewards).all()


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.integers(1, 200), positive, positive)
def test_equal_shares_never_exceed_the_purse(tasks: int, purse: float, minimum: float) -> None:
    count = int(find_funded([0.0] * tasks, purse, minimum).sum())
    assert count == tasks or count == math.floor(purse / minimum * (1 + 5e-10))
    if count:
        rewards = within(np.full(count, purse / count), purse)
        assert sum(rewards.tolist()) <= purse
        assert math.fsum(rewards) <= purse
        assert Linear(minimum_reward=minimum).pays_enough(rewards).all()
