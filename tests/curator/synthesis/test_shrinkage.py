"""Noisy counts drawn towards laws: exact without noise, nearer than the noise with it."""

import numpy as np
import pytest
from scipy import stats

from geodp.curator.synthesis.noisy_histograms import NoisyHistogram
from geodp.curator.synthesis.shrinkage import (
    expect,
    fit_law,
    refine_circular,
    shrink,
    shrink_circular,
    shrink_map,
    spread_over,
)

EDGES = np.append(0.0, np.geomspace(100.0, 30_000.0, 20))


def test_without_noise_counts_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 500, 30).astype(np.float64)
    total = float(counts.sum())
    assert shrink(counts, np.full(30, total / 30), 1e-6, total) == pytest.approx(counts, abs=1e-6)
    assert shrink_circular(counts, 1e-6, total) == pytest.approx(counts, abs=1e-3)
    square = rng.integers(0, 500, (8, 8)).astype(np.float64)
    assert shrink_map(square, 1e-6) == pytest.approx(square, abs=1e-3)


@pytest.mark.parametrize("law", [stats.lognorm(0.6, scale=4000.0), stats.gamma(2.0, scale=2500.0)])
def test_a_law_is_found_again(law: stats.rv_continuous) -> None:
    counts = 1e5 * np.diff(np.append(law.cdf(EDGES[:-1]), 1.0))
    found = expect(fit_law(counts, EDGES, "positive"), EDGES, 1e5)
    assert np.abs(found - counts).sum() < 0.06 * 1e5


def test_shares_follow_a_beta_law() -> None:
    edges, law = np.linspace(0, 1, 13), stats.beta(2.0, 5.0)
    counts = 1e4 * np.diff(law.cdf(edges))
    assert np.abs(expect(fit_law(counts, edges, "share"), edges, 1e4) - counts).sum() < 0.08 * 1e4


def test_in_wide_noise_shrunk_counts_are_nearer_than_noisy_ones() -> None:
    """Over 200 draws the mean error is less than half of the noise's: its own deviation is a hundredth of that."""
    law = stats.lognorm(0.6, scale=4000.0)
    true = 2000 * np.diff(np.append(law.cdf(EDGES[:-1]), 1.0))
    hours = 2000 / 24 * (1 + 0.8 * np.cos(2 * np.pi * (np.arange(24) - 8) / 24))
    rng = np.random.default_rng(1)
    off = np.zeros(4)
    for _ in range(200):
        noisy, noisy_hours = true + rng.laplace(0, 100, true.size), hours + rng.laplace(0, 100, 24)
        held = NoisyHistogram(EDGES, noisy, 100.0).shares()
        off += [np.abs(noisy - true).sum(), np.abs(held - true).sum(), np.abs(noisy_hours - hours).sum(), 0.0]
        off[3] += np.abs(shrink_circular(noisy_hours, 100.0, 2000.0) - hours).sum()
        assert held.min() >= 0
    assert off[1] < off[0] / 2
    assert off[3] < off[2] / 2


def test_noise_alone_leaves_hours_even() -> None:
    rng = np.random.default_rng(2)
    held = shrink_circular(rng.laplace(0, 1000.0, 24) + 10.0, 1000.0, 240.0)
    assert held.sum() == pytest.approx(240.0)
    assert held.max() < 60.0  # the old estimator kept one bin of 24


def test_waves_go_on_within_bins() -> None:
    hour = (np.arange(480) + 0.5) / 480
    fine = 3 + np.cos(2 * np.pi * hour) + 0.5 * np.sin(4 * np.pi * hour)
    refined = refine_circular(fine.reshape(12, 40).sum(axis=1), 4)
    assert refined == pytest.approx(fine.reshape(48, 10).sum(axis=1), rel=1e-3)


def test_spreading_over_fine_bins_keeps_the_coarse_ones() -> None:
    edges, coarse = np.arange(7.0), np.array([0.0, 2.0, 6.0])
    found = spread_over(np.array([1.0, 3, 0, 0, 0, 0]), edges, coarse, np.array([8.0, 4.0]))
    assert found == pytest.approx([2, 6, 1, 1, 1, 1])
