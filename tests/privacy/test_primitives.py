import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from geodp.errors import DataError, UsageError
from geodp.privacy.noise import SimulatedNoise
from geodp.privacy.primitives import (
    DEFAULT_PLANAR_EPSILON_PER_M,
    exponential_mechanism,
    exponential_probabilities,
    laplace_counts,
    planar_geometric_offsets,
    planar_laplace_offsets,
    with_geometric,
)
from geodp.public.channels import PlanarGeometricChannel

N = 200_000
DISEASES = [24, 8, 28, 5]  # counts of the book's Table 2.3


def simulated(seed: int = 0) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed))


def test_laplace_counts_add_noise_of_scale_sensitivity_over_epsilon() -> None:
    """KS against Lap(2/0.5) and E|noise| = 4; false alarm 1e-6 and 1e-7."""
    counts = np.arange(N).reshape(2, -1)
    noise = (laplace_counts(counts, epsilon=0.5, sensitivity=2, noise=simulated()) - counts).ravel()
    assert stats.kstest(noise, stats.laplace(scale=4).cdf).pvalue > 1e-6
    assert np.abs(noise).mean() == pytest.approx(4, abs=5.4 * 4 / np.sqrt(N))


def test_neighbouring_geometric_counts_are_exactly_within_epsilon() -> None:
    """The empirical log-ratio of P(z | 0) and P(z | 1) is ±epsilon at every common z; 6 standard errors."""
    epsilon = 0.8
    zero, one = (with_geometric(np.full(N, count), 1 / epsilon, simulated(count)) for count in (0, 1))
    for z in (-2, -1, 0, 1, 2, 3):
        with_, without = np.count_nonzero(one == z), np.count_nonzero(zero == z)
        expected = epsilon if z >= 1 else -epsilon
        assert math.log(with_ / without) == pytest.approx(expected, abs=6 * math.sqrt(1 / with_ + 1 / without))


@pytest.mark.parametrize(
    ("epsilon", "probabilities"),
    [
        (0.0, [0.25, 0.25, 0.25, 0.25]),
        (0.1, [0.3271, 0.1470, 0.3995, 0.1265]),
        (1.0, [0.1192, 3.999e-5, 0.8808, 8.922e-6]),
    ],
)
def test_table_2_3_of_the_book(epsilon: float, probabilities: list[float]) -> None:
    """The printed .32 for Diabetes at epsilon .1 should be .33; the rest of the table is right."""
    found = exponential_probabilities(DISEASES, epsilon=epsilon, sensitivity=1)
    np.testing.assert_allclose(found, probabilities, rtol=6e-4)


def test_the_exponential_mechanism_draws_those_probabilities() -> None:
    """Shared scores and one row of scores per draw; chi-square, false alarm 1e-6 each."""
    expected = N * exponential_probabilities(DISEASES, epsilon=0.1, sensitivity=1)
    shared = exponential_mechanism(DISEASES, epsilon=0.1, sensitivity=1, noise=simulated(1), size=N)
    rows = np.tile(np.array(DISEASES, dtype=np.float64), (N, 1))
    single = exponential_mechanism(rows, epsilon=0.1, sensitivity=1, noise=simulated(2))
    for chosen in (shared, single):
        assert stats.chisquare(np.bincount(chosen, minlength=4), expected).pvalue > 1e-6


def test_the_one_directional_form_spends_all_of_epsilon_in_one_direction() -> None:
    """When a neighbour raises scores by 0..1 only, exp(ε q) is within ε; the same scores moved both ways are not."""
    scores, epsilon = np.array([2.0, 3.0, 1.0]), 1.0
    raised = [scores + np.array([(mask >> bit) & 1 for bit in range(3)]) for mask in range(8)]
    form: dict[str, Any] = {"epsilon": epsilon, "sensitivity": 1, "one_directional": True}

    def spend(first: Any, second: Any) -> float:
        ratio = np.log(exponential_probabilities(first, **form)) - np.log(exponential_probabilities(second, **form))
        return float(np.abs(ratio).max())

    assert 0.5 < max(spend(scores, other) for other in raised) <= epsilon + 1e-12
    assert spend(scores + np.array([1, 0, 0]), scores + np.array([0, 1, 1])) > epsilon
    np.testing.assert_allclose(
        exponential_probabilities(scores, epsilon=2.0, sensitivity=1),
        exponential_probabilities(scores, epsilon=1.0, sensitivity=1, one_directional=True),
    )


def test_planar_laplace_quantiles_mean_and_angle() -> None:
    """Quantiles of ε·R are 1.6783, 4.7439, 6.6384 and E R = 2/ε; KS against Gamma(2), false alarm 1e-6."""
    epsilon = DEFAULT_PLANAR_EPSILON_PER_M
    x, y = planar_laplace_offsets(N, epsilon, np.random.default_rng(3))
    radius = np.hypot(x, y) * epsilon
    law = stats.gamma(2)
    np.testing.assert_allclose(law.ppf([0.5, 0.95, 0.99]), [1.6783, 4.7439, 6.6384], atol=5e-5)
    assert stats.kstest(radius, law.cdf).pvalue > 1e-6
    assert stats.kstest(np.arctan2(y, x), stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-6
    assert radius.mean() == pytest.approx(2, abs=5 * np.sqrt(2 / N))
    for share, quantile in ((0.5, 1.6783), (0.95, 4.7439), (0.99, 6.6384)):  # 5 standard errors of a quantile
        spread = np.sqrt(share * (1 - share) / N) / law.pdf(quantile)
        assert np.quantile(radius, share) == pytest.approx(quantile, abs=5 * spread)


def test_the_default_epsilon_is_ln_4_within_200_m() -> None:
    epsilon = DEFAULT_PLANAR_EPSILON_PER_M
    assert epsilon == pytest.approx(math.log(4) / 200)
    assert 2 / epsilon == pytest.approx(288.5, abs=0.05)
    assert 4.7439 / epsilon == pytest.approx(684, abs=0.5)


def test_planar_radii_lie_on_no_lattice() -> None:
    """A rounded intermediate would repeat radii: all 200,000 differ."""
    x, y = planar_laplace_offsets(N, 0.01, np.random.default_rng(4))
    assert np.unique(np.hypot(x, y)).size == N


@pytest.mark.parametrize("step", [0.1, 0.5, 1.0, 3.0])
def test_planar_geometric_steps_have_their_law(step: float) -> None:
    """Chi-square over the cells expected at least 20 times; false alarm 1e-6."""
    i, j = planar_geometric_offsets(N, step / 50, 50.0, simulated(5))
    channel = PlanarGeometricChannel(step / 50, 50.0)
    reach = math.ceil(12 / step)
    side = np.arange(-reach, reach + 1)
    expected = N * channel.probability(side[:, None], side)
    observed = np.zeros_like(expected)
    inside = (np.abs(i) <= reach) & (np.abs(j) <= reach)
    np.add.at(observed, (i[inside] + reach, j[inside] + reach), 1)
    common = expected >= 20
    observed = np.append(observed[common], N - observed[common].sum())
    expected = np.append(expected[common], N - expected[common].sum())
    kept = expected > 5
    assert stats.chisquare(observed[kept], expected[kept] * observed[kept].sum() / expected[kept].sum()).pvalue > 1e-6


def test_planar_geometric_proposals_are_accepted_as_often_as_the_law_says() -> None:
    """The sampler asks for a uniform per proposal: at ε·cell = .1 about .785 of them are accepted."""

    class Counting(SimulatedNoise):
        asked = 0

        def uniform(self, size: int) -> Any:
            drawn = super().uniform(size)
            Counting.asked += size
            return drawn

    planar_geometric_offsets(50_000, 0.1, 1.0, Counting(np.random.default_rng(6)))
    assert 50_000 / 0.785 < Counting.asked < 50_000 / 0.785 * 1.3  # one round of 1.4 times as many suffices


CALLS: dict[str, Callable[[float, SimulatedNoise], Any]] = {
    "laplace": lambda e, noise: laplace_counts([1], epsilon=e, sensitivity=1, noise=noise),
    "exponential": lambda e, noise: exponential_mechanism([1, 2], epsilon=e, sensitivity=1, noise=noise),
    "planar_laplace": lambda e, noise: planar_laplace_offsets(1, e, noise.rng),
    "planar_geometric": lambda e, noise: planar_geometric_offsets(1, e, 50.0, noise),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_impossible_epsilons_are_refused_before_anything_is_drawn(name: str, epsilon: float) -> None:
    noise = simulated()
    before = noise.rng.bit_generator.state
    with pytest.raises(UsageError, match="epsilon.* must be a finite number greater than 0"):
        CALLS[name](epsilon, noise)
    assert noise.rng.bit_generator.state == before


def test_other_impossible_settings_are_refused() -> None:
    with pytest.raises(UsageError, match="sensitivity"):
        laplace_counts([1], epsilon=1, sensitivity=0, noise=simulated())
    with pytest.raises(UsageError, match="cell_m"):
        planar_geometric_offsets(1, 1.0, 0.0, simulated())
    with pytest.raises(DataError, match="NaN"):
        laplace_counts([np.nan], epsilon=1, sensitivity=1, noise=simulated())


def test_noise_too_wide_to_be_exact_is_not_released() -> None:
    """Beyond 2^53 doubles are even: 1 + noise is then a multiple of 4, where 0 + noise need not be."""
    release = SimulatedNoise(np.random.default_rng(0), releasable=True)
    with pytest.raises(UsageError, match="too wide"):
        laplace_counts([0, 1], epsilon=1e-16, sensitivity=1, noise=release)
    laplace_counts([0, 1], epsilon=1e-16, sensitivity=1, noise=SimulatedNoise(np.random.default_rng(0)))
