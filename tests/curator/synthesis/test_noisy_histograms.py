"""Noisy counts made to fit together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.curator.synthesis.noisy_histograms import draw_whole_counts, fit_children, fit_total

numbers = st.lists(st.floats(-50, 200), min_size=1, max_size=30)


@given(numbers, st.floats(0.1, 500))
def test_the_fitted_counts_are_the_nearest_that_add_up(noisy: list[float], total: float) -> None:
    counts = np.array(noisy)
    fitted = fit_total(counts, total)
    assert fitted.min() >= 0
    assert fitted.sum() == pytest.approx(total)
    taken = (counts - fitted)[fitted > 0]
    assert np.ptp(taken) == pytest.approx(0, abs=1e-9)  # one constant is subtracted (Karush-Kuhn-Tucker)
    assert (counts[fitted == 0] <= taken[0] + 1e-9).all()


def test_cells_that_are_ruled_out_get_nothing() -> None:
    assert fit_total(np.array([5.0, -np.inf, 7.0]), 10.0).tolist() == [4.0, 0.0, 6.0]


def test_children_add_up_to_their_parents() -> None:
    children = np.array([[4.0, -2.0, 9.0], [0.0, 0.0, 0.0]])
    possible = np.array([[True, True, False], [True, True, True]])
    fitted = fit_children(children, np.array([6.0, 3.0]), possible)
    assert np.allclose(fitted.sum(axis=1), [6.0, 3.0])
    assert fitted[0].tolist() == [6.0, 0.0, 0.0]
    assert fitted.min() >= 0


@given(st.lists(st.floats(0, 9), min_size=1, max_size=20), st.integers(1, 500), st.integers(0, 9))
def test_whole_numbers_add_up_and_stay_next_to_their_expectation(expected: list[float], total: int, seed: int) -> None:
    shares = np.array([*expected, 1.0])
    whole = draw_whole_counts(shares, total, np.random.default_rng(seed))
    assert whole.sum() == total
    assert np.abs(whole - shares * total / shares.sum()).max() < 1 + 1e-9
