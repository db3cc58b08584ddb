import math

import numpy as np
import pytest
from scipy import stats

import geodp
from geodp.audit.pairs import chosen_pairs
from geodp.device.planar_geometric import PlanarGeometric
from geodp.errors import DataError
from geodp.geometry import Region
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import SimulatedNoise
from geodp.privacy.release_noise import ReleaseNoise
from geodp.public.channels import PlanarGeometricChannel

REGION = Region(10.0, 50.0, 10.08, 50.05)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_both_modes_draw_the_same_law() -> None:
    """Chi-square of release and simulated reports against the exact law, over cells expected at least 10 times.

    Release noise has no seed: false alarm 1e-7 each.
    """
    pytest.importorskip("opendp", reason="OpenDP is not installed: pip install 'geodp[release]'")
    device, size = PlanarGeometric(epsilon_per_m=0.02, cell_m=50.0), 20_000
    side = np.arange(-12, 13)
    expected = size * PlanarGeometricChannel(0.02, 50.0).probability(side[:, None], side)
    common = expected >= 10
    for noise in (ReleaseNoise(), SimulatedNoise(rng(1))):
        x, y = device.report(np.full(size, 510.0), np.full(size, -1010.0), rng=noise)
        i, j = np.rint(x / 50).astype(int) - 10, np.rint(y / 50).astype(int) + 20
        observed = np.zeros_like(expected)
        near = (np.abs(i) <= 12) & (np.abs(j) <= 12)
        np.add.at(observed, (i[near] + 12, j[near] + 12), 1)
        seen = np.append(observed[common], size - observed[common].sum())
        assert stats.chisquare(seen, np.append(expected[common], size - expected[common].sum())).pvalue > 1e-7


def test_reports_are_grid_points_inside_the_region() -> None:
    west, south, east, north = REGION.box_m
    x, y = PlanarGeometric(epsilon_per_m=0.001, cell_m=250.0).report(np.zeros(5000), 0.0, rng=rng(), region=REGION)
    for places, low, high in ((x, west, east), (y, south, north)):
        np.testing.assert_array_equal(places / 250, np.round(places / 250))
        assert (places.min(), places.max()) == (250 * math.ceil(low / 250), 250 * math.floor(high / 250))
    x, _ = PlanarGeometric(epsilon_per_m=0.001, clamp=False).report(np.zeros(5000), 0.0, rng=rng(), region=REGION)
    assert x.max() > east


def test_off_grid_places_get_epsilon_times_d_plus_root_two_cells() -> None:
    """Two places a hair apart round to grid points √2 cells apart: the extra distance is needed and suffices."""
    device = PlanarGeometric(epsilon_per_m=0.01, cell_m=50.0)
    promise = device.guarantee()
    assert promise.extra_m == pytest.approx(50 * math.sqrt(2))
    assert "exp(0.01·(d + 70.71))" in promise.sentence()
    channel = device.channel()
    side = np.arange(-40, 41) * 50.0
    z_x, z_y = np.tile(side, side.size), np.repeat(side, side.size)
    here, there = channel.likelihood(z_x, z_y, [24.9, 25.1], [24.9, 25.1]).T
    spent = float(np.abs(np.log(here / there)).max())
    apart = 0.2 * math.sqrt(2)
    assert spent == pytest.approx(0.01 * 50 * math.sqrt(2))
    assert 0.01 * apart < spent <= promise.at_distance(apart)


def test_every_cell_is_as_wide_as_its_neighbours() -> None:
    """Half is rounded up everywhere: rounding half to even would send 25 and 75 both to 50 ± 50."""
    x, _ = PlanarGeometric(epsilon_per_m=50.0, cell_m=50.0).report([25.0, 75.0, 125.0, -25.0], 0.0, rng=rng())
    assert x.tolist() == [50.0, 100.0, 150.0, 0.0]


def test_the_promise_counts_metres_on_the_ground() -> None:
    north = Region(-20.05, 64.55, -19.95, 65.45)
    device = PlanarGeometric(epsilon_per_m=0.01)
    assert device.guarantee(north).epsilon == pytest.approx(0.01 * north.stretch)
    assert 1.01 < device.guarantee(north).epsilon / 0.01 < 1.02


def test_bad_places_are_refused_before_anything_is_drawn() -> None:
    generator = rng()
    before = generator.bit_generator.state
    device = geodp.plugin("planar_geometric", cell_m=1e5)
    with pytest.raises(DataError, match="smaller than a cell"):
        device.report([0.0], [0.0], rng=generator, region=REGION)
    with pytest.raises(DataError, match="NaN"):
        device.report([math.nan], [0.0], rng=generator)
    assert generator.bit_generator.state == before


def test_the_audit_names_grid_points_and_a_pair_a_hair_apart() -> None:
    device = PlanarGeometric()
    cases = [case for case in chosen_pairs(device) if isinstance(case, AuditCase)]
    assert [case.name for case in cases][-1] == "a hair apart"
    for case in cases:
        assert case.exact is not None
        with_, without = case.exact()
        assert with_.sum() == pytest.approx(1)
        spent = np.abs(np.log(with_ / without)).max()
        assert 0.9 * case.claimed < spent <= case.claimed + 1e-9 or case.name == "a hair apart"
        assert spent <= case.claimed + 1e-9
