import numpy as np
import pytest

from geodp import plugin
from geodp.curator.mechanisms import Snapshot
from tests.curator.mechanisms.crowds import REGION, RecordingNoise, crowd, noise


def test_both_steps_spend_epsilon_together() -> None:
    source = RecordingNoise()
    plugin("dpcube", epsilon=0.6, alpha=0.3).release(crowd(5000), source)
    (fine, _), (parts, _) = source.laplaces
    assert (1 / fine[0], 1 / parts[0]) == (pytest.approx(0.18), pytest.approx(0.42))


def test_cuts_follow_the_edge_of_a_crowd() -> None:
    """A crowd fills one quarter of an otherwise empty region: with little noise there are three parts or four."""
    west, south, _, _ = REGION.box_m
    rng = np.random.default_rng(0)
    x = west + rng.uniform(0, REGION.width_m / 2, 20_000)
    y = south + rng.uniform(0, REGION.height_m / 2, 20_000)
    cell_m = REGION.width_m / 20
    release = plugin("dpcube", epsilon=50.0, cell_m=cell_m, detail=6).release(
        Snapshot(0.0, x, y, REGION, 20_000.0), noise(1)
    )
    full = np.flatnonzero(release.count > 1000)
    assert release.count.size <= 4
    assert full.size == 1
    assert release.count[full[0]] == pytest.approx(20_000, abs=5)
    assert release.area_m2[full[0]] == pytest.approx(REGION.area_m2 / 4, rel=0.01)


def test_an_even_region_is_not_cut() -> None:
    """Noise and chance alone exceed three standard deviations somewhere now and then: parts stay few."""
    rng = np.random.default_rng(2)
    sizes = []
    for seed in range(20):
        x, y = REGION.sample(4000, rng)
        release = plugin("dpcube", epsilon=0.5, detail=3.0).release(Snapshot(0.0, x, y, REGION, 4000.0), noise(seed))
        sizes.append(release.count.size)
    assert np.median(sizes) <= 4


def test_a_part_averages_both_of_its_counts_by_their_variances() -> None:
    """With detail out of reach the region is one part: Lap(1/ε2) against the sum of all fine cells."""
    mechanism = plugin("dpcube", epsilon=1.0, alpha=0.5, cell_m=2000.0, detail=1e9)
    release = mechanism.release(crowd(1000), noise(3))
    cells = release.lattice.size
    assert release.count.size == 1
    second = 4 * cells / (1 + cells)  # 1 / (1/4 + 1/(4 cells))
    assert release.noise_scale[0] ** 2 == pytest.approx(second)
    share = cells / (1 + cells)
    fourth = 16 * (share**4 + cells * (1 - share) ** 4)
    assert release.noise_terms == pytest.approx([second**2 / fourth])
