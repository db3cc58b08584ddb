"""What a trusted shuffler adds: goldens, the clone pair by enumeration, and where no bound is stated."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from geodp.errors import UsageError
from geodp.privacy.shuffling import amplify_by_formula, amplify_by_shuffling, clone_divergence, widest_epsilon


def enumerate_divergence(epsilon: float, amplified: float, reports: int) -> float:
    """Sum the positive part of P - e^amplified·Q over all outcomes of the clone pair, one by one."""
    p, total = 1 / (1 + math.exp(-epsilon)), 0.0
    for clones in range(reports):
        a = np.arange(clones + 2)
        before, at = binom.pmf(a - 1, clones, 0.5), binom.pmf(a, clones, 0.5)
        more = p * before + (1 - p) * at - math.exp(amplified) * ((1 - p) * before + p * at)
        total += float(binom.pmf(clones, reports - 1, math.exp(-epsilon)) * np.maximum(more, 0.0).sum())
    return total


def test_the_goldens() -> None:
    assert amplify_by_shuffling(1.0, reports=10_000, delta=1e-6) == pytest.approx(0.0530, abs=5e-5)
    assert amplify_by_formula(1.0, reports=10_000, delta=1e-6) == pytest.approx(0.2140, abs=5e-5)


@pytest.mark.parametrize(("epsilon", "reports"), [(0.5, 2), (1.0, 40), (2.0, 25), (3.0, 60)])
def test_the_divergence_is_that_of_all_outcomes(epsilon: float, reports: int) -> None:
    for amplified in (0.0, 0.2 * epsilon, 0.7 * epsilon):
        exact = enumerate_divergence(epsilon, amplified, reports)
        assert clone_divergence(epsilon, amplified, reports=reports) == pytest.approx(exact, rel=1e-9, abs=1e-15)
    assert clone_divergence(epsilon, epsilon, reports=reports) == pytest.approx(0.0, abs=1e-14)


@settings(max_examples=12, deadline=None)
@given(st.floats(0.05, 3.0), st.integers(6_000, 200_000), st.sampled_from([1e-4, 1e-6, 1e-8]))
def test_the_exact_pair_is_tighter_than_the_formula_and_keeps_its_delta(epsilon: float, n: int, delta: float) -> None:
    if epsilon > widest_epsilon(n, delta):
        return
    amplified = amplify_by_shuffling(epsilon, reports=n, delta=delta)
    assert clone_divergence(epsilon, amplified, reports=n) <= delta
    assert amplified <= epsilon
    assert amplified <= amplify_by_formula(epsilon, reports=n, delta=delta)


def test_more_reports_hide_better() -> None:
    found = [amplify_by_shuffling(1.0, reports=n, delta=1e-6) for n in (1_000, 10_000, 100_000)]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("amplify", [amplify_by_formula, amplify_by_shuffling])
def test_outside_its_range_no_bound_is_stated(amplify: object) -> None:
    assert callable(amplify)
    assert widest_epsilon(10_000, 1e-6) == pytest.approx(3.716, abs=1e-3)
    with pytest.raises(UsageError, match=r"at most 3.72 with δ = 1e-06, and each has 4: it takes 13,280 reports"):
        amplify(4.0, reports=10_000, delta=1e-6)
    with pytest.raises(UsageError, match="no ε at all"):
        amplify(1.0, reports=100, delta=1e-6)
    for wrong in ({"reports": 0}, {"delta": 0.0}, {"delta": 1.0}, {"reports": 2.5}):
        with pytest.raises(UsageError, match="must"):
            amplify(1.0, **{"reports": 10_000, "delta": 1e-6, **wrong})
    with pytest.raises(UsageError, match="epsilon"):
        amplify(0.0, reports=10_000, delta=1e-6)
