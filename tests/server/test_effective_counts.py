"""Counts that the server may count on: closed forms against sums over quantiles, and whether plans keep on average."""

import numpy as np
import pytest

from geodp.server.effective_counts import (
    Gamma,
    cell_graph,
    effective_counts,
    log_mean_refusal,
    prior_of_counts,
    released_counts,
    surrounding_mean,
)
from tests.server.cells import grid_cells


@pytest.mark.parametrize(("shape", "scale"), [(0.05, 200.0), (0.3, 20.0), (1.0, 10.0), (5.0, 4.0)])
@pytest.mark.parametrize("noise", [2.0, 50.0])
def test_the_closed_form_is_the_mean_over_the_posterior(shape: float, scale: float, noise: float) -> None:
    """Against a sum over 200,000 quantiles of the prior, weighted by the Laplace likelihood."""
    from scipy.special import gammaincinv

    level = (np.arange(200_000) + 0.5) / 200_000
    prior = (Gamma(shape, scale, 0.95), Gamma(1.0, 400.0, 0.05))
    nodes = [gammaincinv(part.shape, level) * part.scale for part in prior]
    for count in (-30.0, 0.0, 3.0, 60.0):
        for refusal in (1e-4, 0.1, 0.3):
            weight = [part.share * np.exp(-np.abs(n - count) / noise) for part, n in zip(prior, nodes, strict=True)]
            top = sum((w * np.exp(-refusal * n)).sum() for w, n in zip(weight, nodes, strict=True))
            expected = np.log(top / sum(w.sum() for w in weight))
            found = log_mean_refusal(np.array([count]), np.array([noise]), prior, refusal)[0]
            assert found == pytest.approx(expected, rel=0.02)


def test_far_from_noise_a_count_is_believed_and_nothing_overflows() -> None:
    prior = (Gamma(0.2, 50.0, 0.95), Gamma(1.0, 1e5, 0.05))
    count = np.array([1e3, 1e4, 1e5])
    effective = -log_mean_refusal(count, np.full(3, 2.0), prior, 0.1) / 0.1
    assert effective == pytest.approx(count, rel=0.01)


def test_the_prior_has_the_moments_of_the_counts_less_the_noise() -> None:
    rng = np.random.default_rng(3)
    true = rng.gamma(0.5, 40.0, 40_000)
    noisy = true + rng.laplace(0, 10.0, true.size)
    release = grid_cells(noisy.reshape(200, 200), noise_scale=10.0)
    main, heavy = prior_of_counts(noisy, np.full(true.size, 200.0), release.area_m2, cell_graph(release))
    assert np.mean(main.shape * main.scale) == pytest.approx(20.0, rel=0.06)
    assert main.shape == pytest.approx(0.5, rel=0.25)
    assert np.all(heavy.scale >= main.scale)


def test_the_cells_around_vouch_for_a_cell_as_far_as_they_tell_and_it_does_not_vouch_for_itself() -> None:
    """On a slope the neighbours tell nearly all; where cells have nothing to do with each other, nearly nothing."""
    slope = np.add.outer(np.arange(40.0), np.arange(40.0)) + 5
    rng = np.random.default_rng(6)
    release = grid_cells(slope + rng.laplace(0, 2.0, slope.shape), noise_scale=2.0)
    mean, error = surrounding_mean(release.count, np.full(1600, 8.0), release.area_m2, cell_graph(release))
    assert np.abs(mean.reshape(40, 40) - slope)[2:-2, 2:-2].mean() < 1.0
    assert (error < 8.0).all()
    standing_out = np.array(release.count)
    standing_out[820] += 500.0
    other = grid_cells(standing_out.reshape(40, 40), noise_scale=2.0)
    raised, _ = surrounding_mean(other.count, np.full(1600, 8.0), other.area_m2, cell_graph(other))
    assert raised[820] < mean[820] + 10
    assert raised[821] > mean[821] + 20
    mixed = grid_cells(rng.permutation(slope.ravel()).reshape(40, 40), noise_scale=0.1)
    alike, _ = surrounding_mean(mixed.count, np.full(1600, 0.02), mixed.area_m2, cell_graph(mixed))
    assert alike.std() < 0.2 * slope.std()


def test_one_cell_alone_is_believed_to_be_like_the_whole() -> None:
    release = grid_cells(np.array([[30.0]]), noise_scale=2.0)
    assert effective_counts(release, 0.1).at_zero[0] == pytest.approx(30.0, rel=0.1)


@pytest.mark.parametrize("probability", [0.05, 0.1])
def test_effective_counts_keep_what_they_promise_on_average(probability: float) -> None:
    """E[(1 - p)^N] over 60,000 cells is E[(1 - p)^n_eff]; believing the noise instead promises too much.

    The mean has standard error < 0.0015: within 0.012 at false alarm < 1e-6.
    """
    rng = np.random.default_rng(4)
    true = rng.gamma(0.5, 40.0, 60_000)
    noisy = true + rng.laplace(0, 10.0, true.size)
    release = grid_cells(noisy.reshape(200, 300), noise_scale=10.0)
    found = effective_counts(release, probability)
    effective = np.array(found.at_zero) - np.array(found.fall) * probability
    realised = ((1 - probability) ** true).mean()
    assert ((1 - probability) ** effective).mean() == pytest.approx(realised, abs=0.012)
    chosen = noisy > 20  # what a region is made of: cells that look full
    plain = ((1 - probability) ** np.array(released_counts(release).at_zero)[chosen]).mean()
    kept = ((1 - probability) ** true[chosen]).mean()
    assert plain < 0.8 * kept
    assert ((1 - probability) ** effective[chosen]).mean() == pytest.approx(kept, rel=0.15)


def test_exact_counts_are_taken_as_they_are_and_negative_ones_as_none() -> None:
    release = grid_cells(np.array([[5.0, 0.0, 2.5]]))
    assert effective_counts(release, 0.1).at_zero == [5.0, 0.0, 2.5]
    noisy = grid_cells(np.array([[5.0, -4.0, 2.5]]), noise_scale=1.0)
    assert released_counts(noisy).at_zero == [5.0, 0.0, 2.5]
    assert min(effective_counts(noisy, 0.1).at_zero) > 0
