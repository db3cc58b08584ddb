import math
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from pyproj import Geod
from scipy import stats

import geodp
from geodp.audit.pairs import chosen_pairs
from geodp.device.planar_laplace import PlanarLaplace
from geodp.errors import DataError, NotReleasable, UsageError
from geodp.geometry import EARTH_RADIUS_M, Array, Region
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import SimulatedNoise
from geodp.privacy.release_noise import ReleaseNoise
from geodp.public.guarantee import Neighbours, Trust, Unit

N = 200_000
REGION = Region(10.0, 50.0, 10.08, 50.05)
PLACES = {
    "Singapore": Region(103.78, 1.25, 103.88, 1.35),
    "New York": Region(-74.05, 39.95, -73.95, 40.05),
    "Reykjavík": Region(-20.05, 64.95, -19.95, 65.05),
    "Fiji, across 180°": Region(179.95, -16.05, 180.05, -15.95),
}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def on_the_ground(region: Region, z_x: Array, z_y: Array) -> tuple[Array, Array, Array]:
    """Return metres north, metres east and the great-circle distance from the region's centre, from degrees alone."""
    lon, lat = region.projection.to_lonlat(x_m=z_x, y_m=z_y)
    assert ((lon >= -180) & (lon < 180)).all()
    centre = region.projection
    turn = np.radians(np.mod(lon - centre.lon + 180, 360) - 180)
    here, there = math.radians(centre.lat), np.radians(lat)
    half = np.sin((there - here) / 2) ** 2 + math.cos(here) * np.cos(there) * np.sin(turn / 2) ** 2
    great_circle = 2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(half))
    return EARTH_RADIUS_M * (there - here), EARTH_RADIUS_M * np.cos(there) * turn, great_circle


@pytest.mark.parametrize("place", PLACES)
def test_noise_spreads_alike_north_south_and_east_west_at_every_latitude(place: str) -> None:
    """On the sphere, at latitudes 1, 40 and 65 and across 180°: both variances are 3/ε², and distances are Gamma(2)/ε.

    The sample variance of a coordinate has relative standard error 2/√N (kurtosis 5), the log-ratio of both
    √(20/3N); false alarm 1e-6.
    """
    region, epsilon = PLACES[place], 0.01
    z = PlanarLaplace(epsilon_per_m=epsilon).report(np.zeros(N), np.zeros(N), rng=rng(1))
    north, east, distance = on_the_ground(region, *z)
    assert math.log(north.var() / east.var()) == pytest.approx(0, abs=5 * math.sqrt(20 / 3 / N))
    for spread in (north.var(), east.var()):
        assert spread == pytest.approx(3 / epsilon**2, rel=5 * 2 / math.sqrt(N))
    assert stats.kstest(distance * epsilon, stats.gamma(2).cdf).pvalue > 1e-6


@pytest.mark.parametrize("place", PLACES)
def test_the_promise_counts_metres_on_the_ground(place: str) -> None:
    """ε is multiplied by the most that the projection stretches a distance between any two places of the region."""
    region = PLACES[place]
    device = PlanarLaplace(epsilon_per_m=0.01)
    promised = device.guarantee(region).epsilon / 0.01
    assert promised == pytest.approx(region.stretch)
    x, y = region.sample(2000, rng(2))
    west, south, east, north = region.box_m
    places = [*zip(x, y, strict=True), (east, north), (west, south)]
    found = [stretched(region, *place, *step) for place in places for step in ((1.0, 0.0), (0.0, 1.0), (0.6, 0.8))]
    assert max(found) <= promised * (1 + 1e-6)
    assert max(*found, 1.0) == pytest.approx(promised, abs=2e-4)  # what the plane shows nearer costs nothing


def stretched(region: Region, x_m: float, y_m: float, east_m: float, north_m: float) -> float:
    """Return the length of a step in the plane, divided by its length on the ellipsoid."""
    lon, lat = region.projection.to_lonlat(x_m=[x_m, x_m + east_m], y_m=[y_m, y_m + north_m])
    true_m: float = Geod(ellps="WGS84").inv(lon[0], lat[0], lon[1], lat[1])[2]
    return math.hypot(east_m, north_m) / true_m


def test_the_promise_of_one_report() -> None:
    promise = PlanarLaplace(level=math.log(4), radius_m=200).guarantee()
    assert (promise.unit, promise.neighbours, promise.trust) == (Unit.POINT, Neighbours.METRIC, Trust.LOCAL)
    assert promise.at_distance(200.0) == pytest.approx(math.log(4))
    assert promise.extra_m == 0  # the grid comes after the noise
    assert PlanarLaplace(cell_m=500.0).guarantee().extra_m == 0


def test_epsilon_may_be_given_as_a_level_within_a_radius() -> None:
    assert PlanarLaplace(level=1.0, radius_m=100.0).epsilon_per_m == 0.01
    assert PlanarLaplace().epsilon_per_m == pytest.approx(math.log(4) / 200)
    written = PlanarLaplace(level=1.0, radius_m=100.0).model_dump()
    kind = written.pop("kind")
    assert geodp.plugin(kind, **written).epsilon_per_m == 0.01


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"level": 1.0}, "go together"),
        ({"radius_m": 100.0}, "go together"),
        ({"epsilon_per_m": 0.02, "level": 1.0, "radius_m": 100.0}, "give only one"),
        ({"epsilon_per_m": 0.0}, "greater than 0"),
        ({"epsilon_per_m": -1.0}, "greater than 0"),
        ({"epsilon_per_m": math.inf}, "finite"),
        ({"epsilon_per_m": math.nan}, "finite"),
        ({"cell_m": 0.0}, "greater than 0"),
        ({"remap": True, "clamp": False}, "remap needs clamp"),
    ],
)
def test_impossible_settings_are_refused(fields: dict[str, Any], match: str) -> None:
    with pytest.raises(ValidationError, match=match):
        PlanarLaplace(**fields)


def test_it_takes_and_returns_arrays_and_needs_no_region() -> None:
    device = geodp.plugin("planar_laplace", epsilon_per_m=0.01)
    x, y = device.report([[0.0, 1.0], [2.0, 3.0]], 5.0, rng=rng())
    assert x.shape == y.shape == (2, 2)
    single = device.report(7.0, 8.0, rng=rng())
    assert single[0].shape == ()
    again = device.report([[0.0, 1.0], [2.0, 3.0]], 5.0, rng=SimulatedNoise(rng()))
    np.testing.assert_array_equal(x, again[0])
    assert device.report([], [], rng=rng())[0].size == 0


def test_inputs_are_left_alone() -> None:
    x, y = np.zeros(5), np.ones(5)
    PlanarLaplace().report(x, y, rng=rng(), region=REGION)
    assert (x == 0).all()
    assert (y == 1).all()


def test_reports_are_rounded_to_the_grid_and_clamped_to_the_region() -> None:
    west, south, east, north = REGION.box_m
    x, y = PlanarLaplace(epsilon_per_m=0.001, cell_m=250.0).report(np.zeros(5000), 0.0, rng=rng(), region=REGION)
    for places, low, high in ((x, west, east), (y, south, north)):
        np.testing.assert_array_equal(places / 250, np.round(places / 250))
        assert places.min() == 250 * math.ceil(low / 250)
        assert places.max() == 250 * math.floor(high / 250)
    x, y = PlanarLaplace(epsilon_per_m=0.001).report(np.zeros(5000), 0.0, rng=rng(), region=REGION)
    assert (x.min(), x.max(), y.min(), y.max()) == (west, east, south, north)
    x, _ = PlanarLaplace(epsilon_per_m=0.001, clamp=False).report(np.zeros(5000), 0.0, rng=rng(), region=REGION)
    assert x.max() > east


def test_reports_must_not_be_released() -> None:
    pytest.importorskip("opendp", reason="OpenDP is not installed: pip install 'geodp[release]'")
    with pytest.raises(NotReleasable, match="Use planar_geometric"):
        PlanarLaplace().report([0.0], [0.0], rng=ReleaseNoise())


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_places_that_are_no_places_are_refused_before_anything_is_drawn(bad: float) -> None:
    generator = rng()
    before = generator.bit_generator.state
    with pytest.raises(DataError, match="1 of 2 places have NaN or infinite coordinates"):
        PlanarLaplace().report([0.0, bad], [0.0, 0.0], rng=generator)
    with pytest.raises(DataError, match="1 of 2 places lie outside the region"):
        PlanarLaplace().report([0.0, 1e6], [0.0, 0.0], rng=generator, region=REGION)
    with pytest.raises(DataError, match="smaller than a cell"):
        PlanarLaplace(cell_m=1e5).report([0.0], [0.0], rng=generator, region=REGION)
    with pytest.raises(UsageError, match="needs a region"):
        PlanarLaplace(remap=True).report([0.0], [0.0], rng=generator)
    with pytest.raises(UsageError, match="takes no seed"):
        PlanarLaplace().report([0.0], [0.0], rng=3)  # type: ignore[arg-type]
    assert generator.bit_generator.state == before


def test_the_audit_names_pairs_from_centre_edge_and_corner() -> None:
    cases = [case for case in chosen_pairs(PlanarLaplace()) if isinstance(case, AuditCase)]
    assert len(cases) == 8 + 5 + 3  # bearings that stay inside the region
    assert all(case.claimed == pytest.approx(2.0) for case in cases)
    for case in cases[:1] + cases[-1:]:
        assert case.exact is not None
        with_, without = case.exact()
        assert 1.9 < np.abs(np.log(with_ / without)).max() <= 2.0 + 1e-9
        drawn = case.draw(SimulatedNoise(rng()), True, 1000)
        assert drawn.shape == (1000, 2)
        assert (case.score(drawn) <= case.threshold / 0.9 + 1e-6).all()  # the triangle inequality
