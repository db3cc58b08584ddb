import math

import numpy as np
import pytest
from scipy import stats

from geodp.errors import NotReleasable, UsageError
from geodp.privacy.noise import Noise, SimulatedNoise, as_noise, noise_source, require_releasable

N = 200_000


def simulated(seed: int = 0) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed))


def test_laplace_noise_has_its_law_and_mean_absolute_value_b() -> None:
    """E|Lap(b)| = b, not sqrt(2) b as printed in one of the sources. False alarm 1e-6 and 1e-7."""
    draws = simulated().laplace(2.5, N)
    assert stats.kstest(draws, stats.laplace(scale=2.5).cdf).pvalue > 1e-6
    assert np.abs(draws).mean() == pytest.approx(2.5, abs=5.4 * 2.5 / np.sqrt(N))


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
def test_geometric_noise_has_the_two_sided_geometric_law(scale: float) -> None:
    """Chi-square against P(k) = tanh(1/2b) e^(-|k|/b); false alarm 1e-6."""
    draws = simulated(1).geometric(scale, N)
    assert draws.dtype == np.int64
    reach = max(1, int(scale * np.log(N / 50)))
    steps = np.arange(-reach, reach + 1)
    expected = np.tanh(0.5 / scale) * np.exp(-np.abs(steps) / scale)
    observed = np.array([np.count_nonzero(draws == step) for step in steps])
    observed, expected = np.append(observed, N - observed.sum()), N * np.append(expected, 1 - expected.sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-6


def test_gaussian_and_uniform_noise_have_their_laws() -> None:
    """False alarm 1e-6 each."""
    assert stats.kstest(simulated(2).gaussian(3.0, N), stats.norm(scale=3.0).cdf).pvalue > 1e-6
    assert stats.kstest(simulated(3).uniform(N), stats.uniform.cdf).pvalue > 1e-6


@pytest.mark.parametrize("scale", [0.4, 1.0, 3.7, 120.0])
def test_discrete_gaussian_noise_has_its_law(scale: float) -> None:
    """Chi-square against P(k) ∝ exp(-k²/2σ²), single numbers as far as 20 are expected; false alarm 1e-6."""
    draws = simulated(9).discrete_gaussian(scale, N)
    steps = np.arange(-math.ceil(12 * scale), math.ceil(12 * scale) + 1)
    law = np.exp(-0.5 * (steps / scale) ** 2)
    law /= law.sum()
    often = N * law > 20
    observed = np.array([np.count_nonzero(draws == step) for step in steps[often]])
    expected = N * law[often]
    observed, expected = np.append(observed, N - observed.sum()), np.append(expected, N - expected.sum())
    if expected[-1] < 5:
        observed, expected = observed[:-1], expected[:-1] * observed[:-1].sum() / expected[:-1].sum()
    assert stats.chisquare(observed, expected).pvalue > 1e-6


@pytest.mark.parametrize(("scale", "far"), [(1.0, 0.0165), (1000.0, 2e-8)])
def test_rounded_normals_are_the_discrete_gaussian_from_a_thousand_on_only(scale: float, far: float) -> None:
    """Total variation of the two laws, as specified: .0165 at σ 1, 2e-8 at σ 1,000."""
    steps = np.arange(-math.ceil(12 * scale), math.ceil(12 * scale) + 1)
    law = np.exp(-0.5 * (steps / scale) ** 2)
    law /= law.sum()
    rounded = stats.norm.cdf(steps + 0.5, scale=scale) - stats.norm.cdf(steps - 0.5, scale=scale)
    assert np.abs(law - rounded).sum() / 2 == pytest.approx(far, rel=0.3)


def test_wide_discrete_gaussians_are_whole_and_have_their_width() -> None:
    """Standard deviations of draws within 6 standard errors, for a scale each; false alarm 1e-8."""
    draws = simulated(10).discrete_gaussian(np.tile([2.0, 5000.0], N // 2), N).reshape(-1, 2)
    assert draws.dtype == np.int64
    np.testing.assert_allclose(draws.std(axis=0), [2.0, 5000.0], rtol=6 / np.sqrt(N))


def test_scales_may_differ_from_draw_to_draw() -> None:
    """E|Lap(b)| = b per half; false alarm 1e-7."""
    scale = np.repeat([1.0, 10.0], N // 2)
    for draws in (np.abs(simulated(4).laplace(scale, N)), np.abs(simulated(5).geometric(scale, N))):
        low, high = draws[: N // 2].mean(), draws[N // 2 :].mean()
        discrete = 1 / np.sinh(1.0) if draws.dtype == np.int64 else 1.0  # E|k| of the discrete law is 1/sinh(1/b)
        assert low == pytest.approx(discrete, abs=5.5 / np.sqrt(N / 2))
        assert high == pytest.approx(10.0, abs=55 / np.sqrt(N / 2))


def test_choosing_follows_the_weights_shared_or_row_by_row() -> None:
    """Chi-square against softmax; false alarm 1e-6 each. Logits of 800 do not overflow."""
    logits = np.array([800.0, 799.0, 801.0, -1e6])
    weight = np.exp(logits - 801)
    expected = N * (weight / weight.sum())[:3]
    shared = simulated(6).choose(logits, N)
    by_row = simulated(7).choose(np.tile(logits, (N, 1)))
    for chosen in (shared, by_row):
        assert stats.chisquare(np.bincount(chosen, minlength=4)[:3], expected).pvalue > 1e-6
        assert chosen.max() < 3
    assert simulated().choose(logits).shape == (1,)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0]])
def test_impossible_scales_are_refused_before_anything_is_drawn(scale: float) -> None:
    noise = simulated()
    before = noise.rng.bit_generator.state
    for draw in (noise.laplace, noise.geometric, noise.gaussian):
        with pytest.raises(UsageError, match="scale must be a finite number greater than 0"):
            draw(scale, 2)
    assert noise.rng.bit_generator.state == before


@pytest.mark.parametrize(("logits", "match"), [([], "one row"), ([np.nan, 1.0], "finite"), ([[[1.0]]], "one row")])
def test_impossible_scores_are_refused(logits: list[float], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        simulated().choose(logits)


def test_simulated_noise_must_not_leave_as_a_release() -> None:
    with pytest.raises(NotReleasable, match="simulated noise"):
        require_releasable(simulated(), "venue counts")


def test_a_generator_becomes_simulated_noise_and_a_seed_does_not() -> None:
    generator = np.random.default_rng(0)
    wrapped = as_noise(generator)
    assert isinstance(wrapped, SimulatedNoise)
    assert (wrapped.rng, wrapped.mode, wrapped.releasable) == (generator, "simulate", False)
    assert as_noise(wrapped) is wrapped
    assert isinstance(wrapped, Noise)
    with pytest.raises(UsageError, match="takes no seed"):
        as_noise(5)  # type: ignore[arg-type]


def test_modes_are_known_by_name() -> None:
    first, second = (noise_source("simulate", seed=3).laplace(1.0, 5) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    with pytest.raises(UsageError, match="Did you mean 'simulate'"):
        noise_source("simulated")
    with pytest.raises(UsageError, match="'release' takes no seed"):
        noise_source("release", seed=3)
