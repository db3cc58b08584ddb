"""Certified epsilon: from counts, and from exact laws."""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from geodp.audit.certify import certify_epsilon, exact_epsilon, lower_bound, upper_bound
from geodp.errors import GeodpError
from tests.audit.zoo import EPSILON_PER_M, GRID, renormalised_row


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
    certified = certify_epsilon(with_ + 0 * without, 100, without + 0 * with_, 100, alpha=0.05)
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
    assert certify_epsilon(with_, trials, without, trials, alpha=0.05) > 1.0
    fewer = trials // 4
    with_, without = round(0.5 * fewer), round(0.5 * np.exp(-factor) * fewer)
    assert certify_epsilon(with_, fewer, without, fewer, alpha=0.05) < 1.0


def test_delta_is_taken_off_before_the_ratio() -> None:
    plain = certify_epsilon(500, 1000, 100, 1000, alpha=0.05)
    less = certify_epsilon(500, 1000, 100, 1000, alpha=0.05, delta=0.1)
    low, high = lower_bound(500, 1000, 0.025), upper_bound(100, 1000, 0.025)
    assert less == pytest.approx(np.log((low - 0.1) / high))
    assert less < plain
    assert certify_epsilon(50, 1000, 0, 1000, alpha=0.05, delta=0.2) == 0.0


def test_randomised_response_spends_the_log_of_its_odds() -> None:
    assert exact_epsilon([0.75, 0.25], [0.25, 0.75]) == pytest.approx(math.log(3))


def test_an_output_of_one_input_only_is_infinite() -> None:
    assert exact_epsilon([0.5, 0.5, 0.0], [0.5, 0.25, 0.25]) == math.inf


def test_outputs_that_never_happen_do_not_count() -> None:
    assert exact_epsilon([0.5, 0.5, 0.0], [0.5, 0.5, 0.0]) == 0.0


def test_delta_follows_the_hockey_stick() -> None:
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])
    for delta in (0.05, 0.1, 0.3):
        epsilon = exact_epsilon(p, q, delta)
        for first, second in ((p, q), (q, p)):
            assert np.maximum(first - math.exp(epsilon) * second, 0).sum() <= delta + 1e-12
        less = math.exp(epsilon - 1e-6)
        assert max(np.maximum(p - less * q, 0).sum(), np.maximum(q - less * p, 0).sum()) > delta


def test_delta_pays_for_an_output_of_one_input_only() -> None:
    assert exact_epsilon([0.9, 0.1], [1.0, 0.0], delta=0.1) == pytest.approx(0.0, abs=1e-9)
    assert exact_epsilon([0.9, 0.1], [1.0, 0.0], delta=0.05) == math.inf


def test_renormalising_per_place_costs_up_to_twice_epsilon_and_half_the_exponent_never_does() -> None:
    def worst(exponent: float) -> float:
        rows = [renormalised_row(place, exponent) for place in range(len(GRID))]
        pairs = [(first, second) for first in range(len(GRID)) for second in range(first)]
        claimed = [EPSILON_PER_M * float(np.linalg.norm(GRID[first] - GRID[second])) for first, second in pairs]
        spent = [exact_epsilon(rows[first], rows[second]) for first, second in pairs]
        return float(np.max(np.array(spent) / claimed))

    assert 1.4 < worst(1.0) <= 2.0
    assert worst(0.5) <= 1.0


@pytest.mark.parametrize("rows", [([0.5, 0.5], [1.0]), ([0.5, 0.6], [0.5, 0.5]), ([1.5, -0.5], [0.5, 0.5])])
def test_what_is_no_channel_is_refused(rows: tuple[list[float], list[float]]) -> None:
    with pytest.raises(GeodpError, match="exact channel"):
        exact_epsilon(*rows)
