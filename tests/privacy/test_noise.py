import numpy as np
import pytest
from scipy import stats

from geodp.errors import NotReleasable
from geodp.privacy.noise import SimulatedNoise, require_releasable


def test_laplace_noise_has_its_law_and_mean_absolute_value_b() -> None:
    """E|Lap(b)| = b, not sqrt(2) b as printed in one of the sources. False alarm 1e-6 and 1e-7."""
    draws = SimulatedNoise(np.random.default_rng(0)).laplace(2.5, 200_000)
    assert stats.kstest(draws, stats.laplace(scale=2.5).cdf).pvalue > 1e-6
    assert np.abs(draws).mean() == pytest.approx(2.5, abs=5.4 * 2.5 / np.sqrt(200_000))


def test_simulated_noise_must_not_leave_as_a_release() -> None:
    with pytest.raises(NotReleasable, match="simulated noise"):
        require_releasable(SimulatedNoise(np.random.default_rng(0)), "venue counts")
