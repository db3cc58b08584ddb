import numpy as np
import pytest
from scipy.stats import binom, binomtest

from geodp.audit.certify import certified_epsilon, lower_bound, upper_bound


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (1, 10), (5, 10), (9, 10), (10, 10), (3, 1000), (250, 1000)])
def test_bounds_are_those_of_the_exact_binomial_test(hits: int, trials: int) -> None:
    interval = binomtest(hits, trials).proportion_ci(0.95, method="exact")
    assert lower_bound(hits, trials, 0.025) == pytest.approx(interval.low, abs=1e-12)
    assert upper_bound(hits, trials, 0.025) == pytest.approx(interval.high, abs=1e-12)


def test_no_hit_among_ten_leaves_up_to_31_percent() -> None:
    assert upper_bound(0, 10, 0.025) == pytest.approx(1 - 0.025**0.1)  # 0.3085


def test_no_interval_fails_more_often_than_alpha() -> None:
    hits = np.arange(51)
    low, high = lower_bound(hits, 50, 0.025), upper_bound(hits, 50, 0.025)
    for p in np.linspace(0.001, 0.999, 333):
        chance = binom.pmf(hits, 50, p)
        assert chance[low > p].sum() <= 0.025
        assert chance[high < p].sum() <= 0.025


def all_outcomes(epsilon: float, trials: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the counts of {Laplace count >= 1} on both inputs, and the probability of each pair of counts."""
    hits = np.arange(trials + 1)
    p, q = binom.pmf(hits, trials, 0.5), binom.pmf(hits, trials, 0.5 * np.exp(-epsilon))
    return hits[:, None], hits[None, :], p[:, None] * q[None, :]


def test_false_alarms_by_enumeration_never_for_exact_bounds_and_in_40_percent_for_a_z_test() -> None:
    with_, without, chance = all_outcomes(4.0, 100)
    certified = certified_epsilon(with_ + 0 * without, 100, without + 0 * with_, 100, alpha=0.05)
    assert chance[certified > 4.0].sum() <= 0.05
    p, q = with_ / 100, without / 100
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (p - np.exp(4) * q) / np.sqrt(p * (1 - p) / 100 + np.exp(8) * q * (1 - q) / 100)
    assert chance[z > 1.645].sum() == pytest.approx(0.40, abs=0.01)


@pytest.mark.parametrize(("factor", "trials"), [(1.1, 8900), (1.25, 1600), (2.0, 154)])
def test_a_laplace_count_that_spends_too_much_is_refuted_with_the_stated_number_of_samples(
    factor: float, trials: int
) -> None:
    with_, without = round(0.5 * trials), round(0.5 * np.exp(-factor) * trials)
    assert certified_epsilon(with_, trials, without, trials, alpha=0.05) > 1.0
    fewer = trials // 4
    with_, without = round(0.5 * fewer), round(0.5 * np.exp(-factor) * fewer)
    assert certified_epsilon(with_, fewer, without, fewer, alpha=0.05) < 1.0


def test_delta_is_taken_off_before_the_ratio() -> None:
    plain = certified_epsilon(500, 1000, 100, 1000, alpha=0.05)
    less = certified_epsilon(500, 1000, 100, 1000, alpha=0.05, delta=0.1)
    low, high = lower_bound(500, 1000, 0.025), upper_bound(100, 1000, 0.025)
    assert less == pytest.approx(np.log((low - 0.1) / high))
    assert less < plain
    assert certified_epsilon(50, 1000, 0, 1000, alpha=0.05, delta=0.2) == 0.0
