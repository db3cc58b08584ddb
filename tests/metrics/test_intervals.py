from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.metrics import Measured
from geodp.metrics.intervals import difference, mean, share, total


def test_mean_has_the_t_interval_of_the_textbook() -> None:
    # n = 5, sd = sqrt(2.5), t(4) = 2.776445: 3 ± 2.776445 · 0.707107
    measured = mean([1, 2, 3, 4, 5])
    assert measured.value == 3
    assert measured.low == pytest.approx(3 - 1.963243, abs=1e-6)
    assert measured.high == pytest.approx(3 + 1.963243, abs=1e-6)


def test_one_value_has_no_interval_and_no_value_has_no_mean() -> None:
    assert mean([4.0]) == Measured(4.0, None, None, has_interval=True)
    assert mean([]) == Measured(None, None, None, has_interval=True)


def test_an_infinite_value_makes_the_mean_undefined_not_nan() -> None:
    assert mean([1.0, np.inf]) == Measured(None, has_interval=True)
    assert total([1.0, np.inf]) == Measured(None, has_interval=True)


def test_total_is_n_times_the_mean_with_n_times_its_interval() -> None:
    measured = total([1, 2, 3, 4, 5])
    assert measured.value == 15
    assert measured.low == pytest.approx(15 - 5 * 1.963243, abs=1e-5)
    assert measured.high == pytest.approx(15 + 5 * 1.963243, abs=1e-5)
    assert total([]).value == 0
    assert total([7.0]) == Measured(7.0, None, None, has_interval=True)


def test_share_has_the_wilson_interval() -> None:
    # Newcombe 1998, table I: 81 of 263 gives 0.2553 to 0.3662, 0 of 20 gives 0 to 0.1611
    measured = share(81, 263)
    assert measured.value == pytest.approx(81 / 263)
    assert measured.low == pytest.approx(0.2553, abs=5e-5)
    assert measured.high == pytest.approx(0.3662, abs=5e-5)
    nothing = share(0, 20)
    assert nothing.low == 0
    assert nothing.high == pytest.approx(0.1611, abs=5e-5)
    assert share(20, 20).high == 1.0
    assert share(0, 0).value is None


@given(trials=st.integers(1, 10_000), data=st.data())
def test_wilson_stays_inside_the_unit_interval_around_its_share(trials: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, trials))
    measured = share(hits, trials)
    assert measured.low is not None
    assert measured.high is not None
    assert 0 <= measured.low <= hits / trials <= measured.high <= 1


def test_difference_of_independent_shares_is_newcombes() -> None:
    # Newcombe 1998 (difference of proportions), method 10: 56/70 - 48/80 gives 0.2 with 0.0524 to 0.3339
    measured = difference(share(56, 70), share(48, 80))
    assert measured.value == pytest.approx(0.2)
    assert measured.low == pytest.approx(0.0524, abs=5e-5)
    assert measured.high == pytest.approx(0.3339, abs=5e-5)


def test_difference_without_intervals_is_a_plain_difference() -> None:
    assert difference(Measured(5), Measured(3)) == Measured(2, None, None, has_interval=True)
    assert difference(Measured(None), Measured(3)).value is None
