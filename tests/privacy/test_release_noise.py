"""Both modes draw from the same law. Release noise has no seed, so these tests are tried anew every time."""

import math
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from geodp.errors import DataError, UsageError
from geodp.privacy.noise import SimulatedNoise, noise_source, require_releasable
from geodp.privacy.primitives import laplace_counts, with_geometric
from geodp.privacy.release_noise import ReleaseNoise, lattice_step

N = 20_000
ALARM = 1e-7


@pytest.fixture(scope="module")
def noise() -> ReleaseNoise:
    pytest.importorskip("opendp", reason="OpenDP is not installed: pip install 'geodp[release]'")
    return ReleaseNoise()


def simulated() -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(11))


def two_sample_chi_square(first: npt.ArrayLike, second: npt.ArrayLike, edges: npt.ArrayLike) -> float:
    """Return the p-value of two samples having the same law."""
    table = np.array([np.histogram(sample, bins=np.asarray(edges))[0] for sample in (first, second)])
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue)


def equal_bins(law: Any, count: int = 40) -> npt.NDArray[np.float64]:
    return np.asarray(law.ppf(np.linspace(0, 1, count + 1)))


@pytest.mark.parametrize("scale", [0.05, 3.3, 2000.0])
def test_laplace_has_the_same_law_in_both_modes(noise: ReleaseNoise, scale: float) -> None:
    """Chi-square of release noise against the exact law and against simulated noise; false alarm 1e-7 each."""
    law = stats.laplace(scale=scale)
    drawn = noise.laplace(scale, N)
    observed = np.histogram(drawn, bins=equal_bins(law))[0]
    assert stats.chisquare(observed).pvalue > ALARM
    assert two_sample_chi_square(drawn, simulated().laplace(scale, N), equal_bins(law)) > ALARM


def test_gaussian_has_the_same_law_in_both_modes(noise: ReleaseNoise) -> None:
    """False alarm 1e-7 each."""
    law = stats.norm(scale=1.7)
    drawn = noise.gaussian(1.7, N)
    assert stats.chisquare(np.histogram(drawn, bins=equal_bins(law))[0]).pvalue > ALARM
    assert two_sample_chi_square(drawn, simulated().gaussian(1.7, N), equal_bins(law)) > ALARM


@pytest.mark.parametrize("scale", [0.4, 5.0])
def test_geometric_has_the_same_law_in_both_modes(noise: ReleaseNoise, scale: float) -> None:
    """False alarm 1e-7 each."""
    drawn = noise.geometric(scale, N)
    reach = max(1, int(scale * 5))
    edges = np.concatenate([[-np.inf], np.arange(-reach, reach + 2) - 0.5, [np.inf]])
    steps = np.arange(-reach, reach + 1)
    inner = np.tanh(0.5 / scale) * np.exp(-np.abs(steps) / scale)
    tail = (1 - inner.sum()) / 2
    observed = np.histogram(drawn, bins=edges)[0]
    assert stats.chisquare(observed, N * np.concatenate([[tail], inner, [tail]])).pvalue > ALARM
    assert two_sample_chi_square(drawn, simulated().geometric(scale, N), edges) > ALARM


@pytest.mark.parametrize("scale", [0.3, 1.0, 22.196674, 1500.0])
def test_the_discrete_gaussian_has_the_same_law_in_both_modes(noise: ReleaseNoise, scale: float) -> None:
    """Chi-square of either mode against the exact law, in at most 40 groups; false alarm 1e-7 each."""
    reach = math.ceil(6 * scale)
    steps = np.arange(-reach, reach + 1)
    law = np.exp(-0.5 * (steps / scale) ** 2)
    law /= law.sum()
    group = np.minimum((np.cumsum(law) * 40).astype(int), 39)
    _, group = np.unique(group, return_inverse=True)
    expected = np.bincount(group, weights=law)
    for drawn in (noise.discrete_gaussian(scale, N), simulated().discrete_gaussian(scale, N)):
        assert drawn.dtype == np.int64
        observed = np.bincount(group[np.clip(drawn + reach, 0, 2 * reach)], minlength=expected.size)
        assert stats.chisquare(observed, N * expected).pvalue > ALARM


def test_uniform_and_choosing_have_the_same_law_in_both_modes(noise: ReleaseNoise) -> None:
    """False alarm 1e-7 each."""
    uniforms = noise.uniform(N)
    assert stats.chisquare(np.histogram(uniforms, bins=50, range=(0, 1))[0]).pvalue > ALARM
    assert uniforms.max() < 1
    logits = np.log([0.5, 0.3, 0.15, 0.05])
    chosen = np.concatenate([noise.choose(logits, 3000), noise.choose(np.tile(logits, (1000, 1)))])
    assert stats.chisquare(np.bincount(chosen, minlength=4), 4000 * np.exp(logits)).pvalue > ALARM
    edges = np.arange(5) - 0.5
    assert two_sample_chi_square(chosen, simulated().choose(logits, N), edges) > ALARM


def test_scales_may_differ_from_draw_to_draw(noise: ReleaseNoise) -> None:
    """Means of |noise| within 6 standard errors."""
    scale = np.tile([1.0, 50.0], 4000)
    drawn = np.abs(noise.laplace(scale, 8000)).reshape(-1, 2).mean(axis=0)
    np.testing.assert_allclose(drawn, [1.0, 50.0], rtol=6 / np.sqrt(4000))


@pytest.mark.parametrize("scale", [1e-4, 0.3, 1.0, 7.7, 1e9])
def test_count_plus_noise_is_exact_and_on_a_lattice_that_no_count_shifts(noise: ReleaseNoise, scale: float) -> None:
    step = lattice_step(scale)
    assert step <= 1
    assert np.log2(step) == np.floor(np.log2(step))
    drawn = noise.laplace(scale, 500)
    counts = np.arange(500) * 1000.0
    noisy = counts + drawn
    np.testing.assert_array_equal(noisy / step, np.floor(noisy / step))
    np.testing.assert_array_equal(noisy - counts, drawn)


def test_the_lattice_is_fine_beside_the_scale() -> None:
    """The distribution functions differ by at most half the peak of one step: less than 2^-21."""
    for scale in (0.01, 0.3, 4.0, 1e6):
        assert lattice_step(scale) / (2 * scale) / 2 < 2**-21


def test_counts_with_release_noise(noise: ReleaseNoise) -> None:
    counts = np.array([3, 0, 12])
    assert laplace_counts(counts, epsilon=1.0, sensitivity=1, noise=noise).dtype == np.float64
    assert with_geometric(counts, 1.0, noise).dtype == np.int64
    with pytest.raises(DataError, match="multiples of .* would show through"):
        laplace_counts([0.1], epsilon=1.0, sensitivity=1, noise=noise)
    with pytest.raises(DataError, match="stay below"):
        laplace_counts([2.0**40], epsilon=1.0, sensitivity=1, noise=noise)


def test_release_noise_may_leave_and_takes_no_seed(noise: ReleaseNoise) -> None:
    require_releasable(noise, "counts")
    assert noise.mode == "release"
    assert noise_source("release").releasable
    with pytest.raises(TypeError):
        ReleaseNoise(5)  # type: ignore[call-arg]
    assert not np.array_equal(noise.laplace(1.0, 50), noise.laplace(1.0, 50))


def test_without_opendp_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(UsageError, match=r"pip install 'geodp\[release\]'"):
        noise_source("release")


def test_no_draws_are_no_draws(noise: ReleaseNoise) -> None:
    for drawn in (
        noise.laplace(1.0, 0),
        noise.geometric(1.0, 0),
        noise.gaussian(1.0, 0),
        noise.discrete_gaussian(1.0, 0),
    ):
        assert drawn.size == 0
