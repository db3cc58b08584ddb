"""What is believed about counts, against quadrature, simulation and the mechanisms' own noise."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import integrate, special, stats

from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms.adaptive_grid import AdaptiveGrid
from geodp.geometry import Array, Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.release import AdaptiveCells
from geodp.server.acceptors import BeliefLists, BelievedAcceptors, GroupSums, Look, chance_of_enough
from geodp.server.cell_groups import Groups, add_up, expect_from_surroundings, group_cells
from geodp.server.count_beliefs import CountBelief, believe_counts, gamma_normal_moments, total_posterior
from tests.server.cells import grid_cells
from tests.server.noisy_worlds import released


def posterior_by_quadrature(value: float, noise: float, shape: float, rate: float) -> tuple[float, float]:
    """Return mean and variance of a gamma law, given a value with normal noise: integrals over a wide, fine grid."""
    deviation = np.sqrt(noise)
    most = max(value + 12 * deviation, special.gammaincinv(shape, 1 - 1e-14) / rate)
    power = max(1.0, 2 / shape)  # dense where a gamma law of small shape is steep
    u = np.linspace(1e-12, 1.0, 200_001)
    x = most * u**power
    log = (shape * power - 1) * np.log(u) - rate * x - (x - value) ** 2 / (2 * noise)
    weight = np.exp(log - log.max())
    whole = integrate.trapezoid(weight, u)
    mean = integrate.trapezoid(weight * x, u) / whole
    return float(mean), float(integrate.trapezoid(weight * (x - mean) ** 2, u) / whole)


CASES = list(
    product([0.1, 0.5, 1.0, 3.0, 15.0], [0.5, 5.0, 60.0], [0.5, 10.0, 200.0], [-3.0, -0.5, 0.0, 1.0, 4.0, 30.0])
)


def test_the_posterior_of_a_total_is_that_of_quadrature() -> None:
    """270 cases of shape, expected total, noise and value; T within 0.1 %, Q within 3 %."""
    assert len(CASES) == 270
    worst_mean = worst_variance = 0.0
    for shape, expected, noise, at in CASES:
        value, rate = at * np.sqrt(noise), shape / expected
        mean, variance = gamma_normal_moments(np.array([value]), np.array([noise]), shape, np.array([rate]))
        true_mean, true_variance = posterior_by_quadrature(value, noise, shape, rate)
        worst_mean = max(worst_mean, abs(mean[0] / true_mean - 1))
        worst_variance = max(worst_variance, abs(variance[0] / true_variance - 1))
    assert worst_mean <= 0.001
    assert worst_variance <= 0.03


@pytest.mark.parametrize("shape", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("z", [-20.0, 25.0])
def test_the_series_far_out_continue_the_function(shape: float, z: float) -> None:
    noise, rate = np.full(2, 4.0), np.full(2, 0.3)
    at = np.array([z - 1e-6, z + 1e-6])
    mean, variance = gamma_normal_moments((0.3 * 2 - at) * 2, noise, shape, rate)
    assert mean[1] == pytest.approx(mean[0], rel=0.001 if shape < 20 else 0.003)
    assert variance[1] == pytest.approx(variance[0], rel=0.03)


def drawn_totals(
    rng: np.random.Generator, cells: int, level: float, variation: float, noise: float
) -> tuple[Array, Array]:
    """Draw true totals from the prior, and what a release says of them."""
    truth = rng.gamma(1 / variation, level * variation, cells)
    return truth, truth + rng.normal(0, np.sqrt(noise), cells)


@pytest.mark.parametrize(("level", "variation", "noise"), [(20.0, 0.5, 100.0), (12.0, 1.0, 36.0), (100.0, 0.2, 900.0)])
def test_truth_drawn_from_the_model_lies_in_its_interval_as_often_as_it_says(
    level: float, variation: float, noise: float
) -> None:
    """20,000 totals; gamma intervals with the posterior's two moments cover 92.5 to 96.5 %.

    The sampling error of a share of 95 % is 0.0015; what is allowed beyond five of these is the error of taking the
    posterior for a gamma law.
    """
    rng = np.random.default_rng(5)
    truth, seen = drawn_totals(rng, 20_000, level, variation, noise)
    mean, variance = total_posterior(seen, np.full(seen.size, noise), np.full(seen.size, level))
    law = stats.gamma(mean**2 / variance, scale=variance / mean)
    covered = float(np.mean((truth >= law.ppf(0.025)) & (truth <= law.ppf(0.975))))
    assert 0.925 < covered < 0.965
    assert mean.mean() == pytest.approx(truth.mean(), rel=0.01)
    assert float(np.mean((truth - mean) ** 2)) == pytest.approx(variance.mean(), rel=0.05)


@pytest.mark.parametrize("weight", [0.02, 0.1, 0.3])
def test_planned_success_is_realised_where_truth_is_drawn_from_the_model(weight: float) -> None:
    """Regions of 10 groups: planned and realised differ by less than 5 standard errors (false alarm 6e-7) and 0.004."""
    rng = np.random.default_rng(6)
    truth, seen = drawn_totals(rng, 20_000, 8.0, 1.0, 64.0)
    mean, variance = total_posterior(seen, np.full(seen.size, 64.0), np.full(seen.size, 8.0))
    inside, total, spread = (values.reshape(-1, 10).sum(axis=1) for values in (truth, mean, variance))
    planned = np.array([chance_of_enough(weight * m, weight**2 * v) for m, v in zip(total, spread, strict=True)])
    realised = -np.expm1(-weight * inside)
    assert abs(planned.mean() - realised.mean()) < 5 * realised.std() / np.sqrt(realised.size) + 0.004


# --- regions


def two_level_belief(rng: np.random.Generator) -> CountBelief:
    parts = np.array([4.0, 9.0, 1.0])
    group = np.repeat(np.arange(3), parts.astype(int))
    mean = rng.uniform(1, 6, group.size)
    return CountBelief(
        mean, group, parts, np.array([20.0, 30.0, 4.0]), np.array([25.0, 40.0, 6.0]), np.array([2.0, 1.5, 0.0]), False
    )


def variance_by_definition(belief: CountBelief, share: Array) -> float:
    """Add up s' C s with the covariance that the two levels imply: parts vary about an even share of the total."""
    total = 0.0
    for group in range(belief.parts.size):
        cells = np.flatnonzero(belief.group == group)
        parts, v = belief.parts[group], belief.part_variance[group]
        covariance = np.full((cells.size, cells.size), belief.total_variance[group] / parts**2 - v / parts)
        covariance += v * np.eye(cells.size)
        total += float(share[cells] @ covariance @ share[cells])
    return total


def test_the_variance_of_a_region_is_that_of_totals_and_parts_drawn_at_random() -> None:
    """Monte Carlo, 200,000 draws: the variance of a weighted sum is known to 0.32 % (sd); 2 % are six of them."""
    rng = np.random.default_rng(7)
    belief = two_level_belief(rng)
    share = rng.uniform(0, 1, belief.group.size)
    draws = np.zeros(200_000)
    for group in range(3):
        cells = np.flatnonzero(belief.group == group)
        offset = rng.normal(0, np.sqrt(belief.part_variance[group]), (draws.size, cells.size))
        offset -= offset.mean(axis=1, keepdims=True)  # given the total, parts differ and add up to it
        total = rng.normal(0, np.sqrt(belief.total_variance[group]), draws.size)
        draws += (total[:, None] / cells.size + offset) @ share[cells]
    assert variance_by_definition(belief, share) == pytest.approx(draws.var(), rel=0.02)
    sums = GroupSums(BeliefLists(belief))
    for cell in range(belief.group.size):
        sums.add(cell, float(share[cell]), 0.0)
    assert sums.total() == pytest.approx(variance_by_definition(belief, share), rel=1e-12)


def test_cells_added_one_by_one_in_any_order_and_in_parts_come_to_the_formula() -> None:
    rng = np.random.default_rng(8)
    belief = two_level_belief(rng)
    share = np.zeros(belief.group.size)
    law = BelievedAcceptors(BeliefLists(belief))
    for cell in rng.permutation(belief.group.size)[:9].tolist():
        part, probability = float(rng.uniform(0.2, 1)), float(rng.uniform(0.01, 0.2))
        look = Look(0, 0.0, cell, -1, probability, part * belief.mean[cell], part, (0.0, 0.0, 1.0, 1.0))
        expected = law.with_more(look)
        law.take(look)
        share[cell] = -np.log1p(-part * probability)  # each of them is inside with chance `part`
        assert law.success == pytest.approx(expected, rel=1e-12)
        mean, variance = float(share @ belief.mean), variance_by_definition(belief, share)
        assert law.success == pytest.approx(1 - (1 + variance / mean) ** (-(mean**2) / variance), rel=1e-9)


@pytest.mark.parametrize("needed", [1, 2, 3, 7])
def test_the_chance_of_enough_acceptors_is_negative_binomial(needed: int) -> None:
    for mean, variance in product([0.2, 2.3, 11.0], [1e-4, 0.4, 3.0, 40.0]):
        law = stats.nbinom(mean**2 / variance, 1 / (1 + variance / mean))
        assert chance_of_enough(mean, variance, needed) == pytest.approx(law.sf(needed - 1), rel=1e-6, abs=1e-12)
    assert chance_of_enough(3.0, 0.0, needed) == pytest.approx(stats.poisson(3.0).sf(needed - 1))
    assert chance_of_enough(0.0, 1.0, needed) == 0.0


def test_an_older_belief_is_less_sure_and_expects_as_many() -> None:
    belief = two_level_belief(np.random.default_rng(9))
    old = belief.age(0.2)
    assert old.total_variance == pytest.approx(belief.total_variance + 0.2 * belief.expected**2)
    assert old.mean is belief.mean
    assert belief.age(0.0) is belief
    share = np.full(belief.group.size, 0.1)
    planned = [
        chance_of_enough(float(share @ each.mean), variance_by_definition(each, share))
        for each in (belief, belief.age(0.1), belief.age(0.5))
    ]
    assert planned == sorted(planned, reverse=True)
    assert planned[0] > planned[2] + 0.01


# --- what releases are read as

REGION = Region(0.0, 0.0, 0.1, 0.1)


def adaptive_releases(*, consistency: bool, releases: int) -> tuple[list[AdaptiveCells], Array]:
    """Release the same people again and again, with the same cells: one crowded corner."""
    rng = np.random.default_rng(10)
    west, south, east, north = REGION.box_m
    x = west + (east - west) * rng.beta(1, 3, 5_000)
    y = south + (north - south) * rng.beta(1, 3, 5_000)
    mechanism = AdaptiveGrid(epsilon=0.5, consistency=consistency, first_level=4)
    made = []
    for seed in range(releases):
        release = mechanism.release(Snapshot(0.0, x, y, REGION, 5_000.0), SimulatedNoise(np.random.default_rng(seed)))
        assert isinstance(release, AdaptiveCells)
        made.append(release)
    cell = made[0].coarse.locate(x, y)
    return made, np.bincount(cell, minlength=16).astype(np.float64)


@pytest.mark.parametrize("consistency", [True, False])
def test_the_stated_noise_of_an_adaptive_total_is_the_mechanisms_own(consistency: bool) -> None:
    """Standardised errors of 16 totals in 1,500 releases: their mean square is 1.

    Laplace noise has a fourth moment of 6, so 24,000 squares have a mean with sd √5/√24,000 = 0.0144: 0.08 are 5.5 sd.
    The noise that the other setting would state is 25 % off and more.
    """
    made, truth = adaptive_releases(consistency=consistency, releases=1_500)
    squares, coarse_ratio = [], []
    for release in made:
        groups = group_cells(release)
        assert groups is not None
        total = np.bincount(groups.group, weights=release.count, minlength=16)
        squares.append((total - truth) ** 2 / groups.total_noise)
        unmerged = groups.parts * 2 * float(release.fine_scale or 0) ** 2
        coarse_ratio.append(groups.total_noise / unmerged)
    assert np.mean(squares) == pytest.approx(1.0, abs=0.08)
    assert (np.mean(coarse_ratio) < 0.75) == consistency


def test_a_plain_grid_is_read_in_blocks_of_four_and_blocks_at_the_edge_are_scaled_up() -> None:
    release = grid_cells(np.arange(15.0).reshape(3, 5), noise_scale=2.0)
    groups = group_cells(release)
    assert groups is not None
    assert groups.group.reshape(3, 5).tolist() == [[0, 0, 1, 1, 2], [0, 0, 1, 1, 2], [3, 3, 4, 4, 5]]
    assert groups.parts.tolist() == [4, 4, 2, 2, 2, 1]
    assert groups.total_noise.tolist() == [32, 32, 16, 16, 16, 8]
    assert expect_from_surroundings(7 * groups.parts, groups) == pytest.approx(7 * groups.parts)


def test_a_groups_own_noise_does_not_vouch_for_it() -> None:
    ones = np.ones(25)
    groups = Groups(np.arange(25), ones, 100 * ones, 100 * ones, ones, shape=(5, 5))
    quiet = np.full(25, 50.0)
    loud = quiet.copy()
    loud[12] = 500.0
    assert expect_from_surroundings(loud, groups)[12] < 100
    slope = expect_from_surroundings(np.add.outer(np.arange(5), np.arange(5)).ravel() * 30.0, groups)
    assert slope[24] > slope[0] + 30  # where neighbours tell much, they are believed


def test_exact_counts_are_believed_as_they_are() -> None:
    counts = np.random.default_rng(1).poisson(4.0, (6, 6)).astype(float)
    belief = believe_counts(grid_cells(counts))
    assert belief.mean == pytest.approx(counts.ravel())
    assert not belief.total_variance.any()
    assert not belief.part_variance.any()


def test_beliefs_add_up_to_their_totals_and_follow_what_is_measured() -> None:
    rng = np.random.default_rng(2)
    true = np.zeros((20, 20))
    true[4:10, 4:10] = 40.0
    release = released(true + rng.laplace(0, 5.0, true.shape), 5.0)
    belief, groups = believe_counts(release), group_cells(release)
    assert groups is not None
    assert (belief.mean > 0).all()
    seen = add_up(groups.group, release.count, groups.parts.size)
    totals, variances = total_posterior(seen, groups.total_noise, belief.expected)
    assert np.bincount(groups.group, weights=belief.mean) == pytest.approx(totals)
    assert belief.total_variance == pytest.approx(variances)
    error = float(np.mean((belief.mean - true.ravel()) ** 2))
    assert error < 0.6 * 50  # noise alone has 2·5² = 50
    assert believe_counts(released(true, 5.0, smoothing_cells=1.0)).intensity is False  # a plot carries its counts
