"""DPSense: the identity behind its quality function, sensitivities by brute force, and what is promised."""

from itertools import combinations, product

import numpy as np
import pytest

from geodp.audit.kinds import audit_kind
from geodp.curator.grouping import count_kept_visits, normalise_rows, quality, thresholds
from geodp.curator.publications.dpsense import FACTORS, DPSense
from geodp.privacy.noise import SimulatedNoise
from tests.tables.visits.tables import long_tailed, table

VENUES = 3
THETA = np.arange(1, VENUES + 1)
SUBSETS = [row for many in range(4) for row in combinations(range(3), many)]


def sizes_of(*rows: int) -> np.ndarray:
    """Return how many users have 0, 1, 2 and 3 venues."""
    return np.bincount(np.array(rows, dtype=np.int64), minlength=VENUES + 1)


def law_of_theta(mechanism: DPSense, sizes: np.ndarray) -> np.ndarray:
    """Return the exact probability of every threshold."""
    logits = mechanism.logits(sizes, THETA, VENUES)
    weight = np.exp(logits - logits.max())
    return np.asarray(weight / weight.sum())


def noise(seed: int = 0, *, releasable: bool = False) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed), releasable=releasable)


def test_the_average_count_under_a_threshold_is_the_mean_of_capped_row_sizes() -> None:
    """ac(D|θ) = (1/d) Σ min(|row|, θ), exactly (weights on a lattice of 2^-20)."""
    sets = long_tailed(200, 90, np.random.default_rng(0).integers(1, 40, 200))
    kept = count_kept_visits(sets.sizes_up_to(90))
    for theta in (1, 2, 7, 39, 90):
        average = normalise_rows(sets, theta=theta, step=2.0**-20).mean()
        assert average == pytest.approx(np.minimum(sets.size, theta).sum() / 90, abs=2e-4)
        assert kept[theta] == np.minimum(sets.size, theta).sum()


def test_rows_stay_within_the_threshold_on_the_lattice() -> None:
    sets = table([range(7), range(3), []], 7)
    for theta, step in product((1, 2, 5), (2.0**-20, 0.125)):
        alone = normalise_rows(table([range(7)], 7), theta=theta, step=step)
        assert alone.sum() <= theta
        assert (alone / step == np.floor(alone / step)).all()
        assert (normalise_rows(sets, theta=theta, step=step) <= sets.counts()).all()


def test_one_user_moves_every_quality_up_by_at_most_the_largest_threshold_over_d() -> None:
    """Brute force over all tables of two users and three venues: one direction, max Θ/d (the paper says 1)."""
    theta, worst = np.arange(1, 3), 0.0  # Θ = {1, 2}: max Θ/d = 2/3
    for first, second, more in product(SUBSETS, repeat=3):
        before = quality(table([first, second], 3).sizes_up_to(3), theta, 3, 0.5)
        after = quality(table([first, second, more], 3).sizes_up_to(3), theta, 3, 0.5)
        assert (after >= before - 1e-12).all()
        worst = max(worst, float((after - before).max()))
    assert worst == pytest.approx(2 / 3)


def test_one_user_moves_the_scaled_quality_both_ways_by_at_most_one() -> None:
    method = DPSense(scaling=True)
    up = down = 0.0
    for first, second, more in product(SUBSETS, repeat=3):
        values = []
        for rows in ([first, second], [first, second, more]):
            sets = table(rows, 3)
            values.append(np.array([method.score_factors(sets, sets.counts(), t, 3, b"k") for t in (1, 2, 3)]))
        change = values[1] - values[0]
        up, down = max(up, float(change.max())), max(down, float(-change.min()))
    assert up > 0.1, "more people may make the fit better"
    assert 0.9 < down <= 1 + 1e-5


def test_the_scaled_quality_equals_the_slow_way() -> None:
    sets = long_tailed(100, 40, np.random.default_rng(0).integers(1, 20, 100))
    method = DPSense(scaling=True)
    exact, scaled = sets.counts(), normalise_rows(sets, theta=5, step=2.0**-20)
    slow = [-np.abs(factor * scaled - exact).mean() - factor * 5 / method.budgets()[1] for factor in FACTORS]
    assert method.score_factors(sets, exact, 5, 40, b"k") == pytest.approx(slow, abs=1e-9)
    assert FACTORS.size == 101


@pytest.mark.parametrize("variant", ["corrected", "text", "literal"])
def test_the_choice_of_the_threshold_is_within_its_budget_for_every_table(variant: str) -> None:
    method = DPSense(epsilon=10.0, variant=variant)
    worst = 0.0
    for first, second, more in product(range(4), repeat=3):
        laws = [law_of_theta(method, sizes_of(*rows)) for rows in ((first, second), (first, second, more))]
        worst = max(worst, float(np.abs(np.log(laws[0] / laws[1])).max()))
    assert worst <= method.budgets()[0] + 1e-12
    assert worst > (0.2 if variant == "literal" else 0.4) * method.budgets()[0]


def test_candidates_do_not_depend_on_the_data() -> None:
    assert thresholds(50, 64).tolist() == list(range(1, 51))
    grid = thresholds(1_000_000, 64)
    assert grid[0] == 1
    assert grid[-1] == 1_000_000
    assert grid.size <= 64


def test_quality_and_error_are_mirror_images() -> None:
    """(Q + MAE)/2 is about ac(D)/2 while nothing is clipped (Day & Li, figure 1)."""
    sets = long_tailed(3000, 300, np.maximum(np.round(np.random.default_rng(0).lognormal(2, 0.8, 3000)), 1))
    average, epsilon = sets.counts().mean(), 1.1 * 0.9
    for theta in (2, 5, 10, 20, 40):
        scaled = normalise_rows(sets, theta=theta, step=2.0**-20)
        error = np.mean(
            [np.abs(scaled + noise(seed).laplace(theta / epsilon, 300) - sets.counts()).mean() for seed in range(20)]
        )
        mean = (quality(sets.sizes_up_to(300), np.array([theta]), 300, 1 / epsilon)[0] + error) / 2
        assert mean == pytest.approx(average / 2, rel=0.2)


def test_a_public_limit_makes_the_choice_nearly_free() -> None:
    sets = long_tailed(2000, 5000, np.full(2000, 6))
    free, limited = DPSense(epsilon=0.5), DPSense(epsilon=0.5, max_theta=50)

    def error(method: DPSense) -> float:
        runs = [np.abs(method.release(sets, noise(seed)).count - sets.counts()).mean() for seed in range(6)]
        return float(np.mean(runs))

    assert error(limited) < 0.5 * error(free)


@pytest.mark.parametrize("settings", [{}, {"scaling": True}, {"variant": "literal"}, {"variant": "text"}])
def test_no_setting_is_refuted(settings: dict[str, object]) -> None:
    assert not audit_kind("dpsense", settings, samples=20_000).refuted


def test_released_counts_lie_on_the_lattice_of_the_noise() -> None:
    """In release mode a count off the lattice is refused; with rows of 3 under θ = 2 weights are 2/3."""
    pytest.importorskip("opendp")
    from geodp.privacy.noise import noise_source
    from geodp.privacy.release_noise import lattice_step

    sets = table([range(3)] * 5, 3)
    released = DPSense(epsilon=1.0, max_theta=2, nonnegative=False).release(sets, noise_source("release"))
    step = lattice_step(released.facts["theta"] / 0.9)
    assert (released.count / step == np.floor(released.count / step)).all()
