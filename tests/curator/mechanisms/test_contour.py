import numpy as np
import pytest
from scipy import stats

from geodp import plugin
from geodp.audit.kinds import pairs_of
from geodp.curator.mechanisms import Snapshot
from geodp.geometry import Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Neighbours, Unit
from geodp.registry import PublicFacts

REGION = Region(-122.5135, 37.7113, -122.3627, 37.8327)


def snapshot(workers: int, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Snapshot:
    x, y = REGION.sample(workers, np.random.default_rng(1))
    return Snapshot(0.0, x, y, REGION, 6000.0, neighbours)


@pytest.mark.parametrize(("neighbours", "scale"), [(Neighbours.ADD_REMOVE, 1 / 0.3), (Neighbours.REPLACE, 2 / 0.3)])
def test_every_cell_gets_laplace_noise_of_its_sensitivity(neighbours: Neighbours, scale: float) -> None:
    """Kolmogorov–Smirnov at 1e-6 on the noise of all cells, empty ones included."""
    taken = snapshot(6000, neighbours)
    contour = plugin("contour", epsilon=0.3, cell_m=100)
    release = contour.release(taken, SimulatedNoise(np.random.default_rng(2)))
    noise = release.count - release.grid.count(taken.x_m, taken.y_m)
    assert stats.kstest(noise, stats.laplace(scale=scale).cdf).pvalue > 1e-6
    assert set(release.noise_scale) == {scale}
    assert contour.expected_noise(neighbours) == scale


def test_one_worker_changes_one_count_by_one_and_nothing_else() -> None:
    taken = snapshot(500)
    fewer = Snapshot(0.0, taken.x_m[1:], taken.y_m[1:], REGION, 6000.0)
    contour = plugin("contour", epsilon=1.0, cell_m=500)
    with_her = contour.release(taken, SimulatedNoise(np.random.default_rng(3)))
    without = contour.release(fewer, SimulatedNoise(np.random.default_rng(3)))
    difference = with_her.count - without.count
    assert sorted(difference.round(9).tolist())[-1] == 1.0
    assert np.count_nonzero(difference.round(9)) == 1
    assert np.array_equal(with_her.west_m, without.west_m)
    assert with_her.floor_per_m2 == without.floor_per_m2


def test_the_default_cell_follows_the_uniform_grid_guideline() -> None:
    """sqrt(6,160 · 0.3 / 10) = 13.6 cells per side of the San Francisco box: about 1 km."""
    facts = PublicFacts(6160, 100, 10, 1, REGION.width_m, REGION.height_m)
    cell_m = plugin("contour", epsilon=0.3).resolve(facts).cell_m
    assert np.sqrt(REGION.area_m2) / cell_m == pytest.approx(13.6, abs=0.05)
    assert plugin("contour", cell_m=300).resolve(facts).cell_m == 300
    narrow = PublicFacts(10.0, 0.0, 1.0, 0.0, 900.05, 4000.0)
    assert plugin("contour", epsilon=0.1).resolve(narrow).cell_m == 900.0  # never larger than the region


def test_eight_levels_are_quantiles_of_the_positive_surface_and_a_list_is_per_km2() -> None:
    noise = SimulatedNoise(np.random.default_rng(4))
    release = plugin("contour", cell_m=500).release(snapshot(6000), noise)
    assert release.levels.size == 8
    assert np.all(np.diff(release.levels) > 0)
    assert (release.surface[release.surface > 0] < release.levels[3]).mean() == pytest.approx(4 / 9, abs=0.01)
    listed = plugin("contour", cell_m=500, levels=[10, 20]).release(snapshot(10), noise)
    assert listed.levels / listed.grid.cell_area_m2 * 1e6 == pytest.approx([10, 20])


def test_the_guarantee_is_for_one_snapshot_position() -> None:
    promise = plugin("contour", epsilon=0.7).guarantee()
    assert (promise.epsilon, promise.unit, promise.holds) == (0.7, Unit.SNAPSHOT, True)


def test_the_audit_samples_what_the_real_release_asks() -> None:
    """P(count >= 1) is 1/2 with the worker and e^-ε/2 without: the claimed ratio, attained. False alarm 1e-6."""
    contour = plugin("contour", epsilon=1.0)
    noise = SimulatedNoise(np.random.default_rng(0))
    case = pairs_of(contour, lambda _: noise, samples=40_000)[1][0]
    assert case.name == "sampled: a worker in the crowd"
    sides = [case.score(case.draw(noise, present, 40_000)) for present in (True, False)]
    assert max(abs(side).max() for side in sides) == pytest.approx(1.0)
    share = [(side >= 1 - 1e-9).mean() for side in sides]
    assert share[0] == pytest.approx(0.5, abs=4.9 * 0.5 / 200)
    assert share[1] == pytest.approx(np.exp(-1) / 2, abs=4.9 * 0.5 / 200)


def test_no_privacy_publishes_exact_counts_and_promises_nothing() -> None:
    taken = snapshot(6000)
    exact = plugin("no_privacy", cell_m=500)
    release = exact.release(taken, SimulatedNoise(np.random.default_rng(0)))
    assert np.array_equal(release.count, release.grid.count(taken.x_m, taken.y_m))
    assert not release.guarantee.holds
    assert exact.audit_cases() == [], "nothing is promised, so there is nothing to audit"
