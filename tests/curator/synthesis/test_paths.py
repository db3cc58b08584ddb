"""Paths between ends: lengths and extents as wanted, never outside the region, and points that keep them."""

import numpy as np
import pytest

from geodp.curator.publications.synthetic_trips import SyntheticTrips
from geodp.curator.synthesis.densities import Density
from geodp.curator.synthesis.grids import square_grid
from geodp.curator.synthesis.paths import WantedTrips, choose_paths
from geodp.curator.synthesis.points_on_paths import place_points
from geodp.curator.synthesis.trip_ends import Ends
from geodp.curator.synthesis.trip_shapes import measure_extents
from geodp.privacy.noise import SimulatedNoise
from geodp.run_folder.trip_scores import diameters_m, length_jsd, path_length_ratio
from geodp.tables.trajectories.generated_trips import TripSizes, generate_trips
from tests.curator.synthesis.small_town import TOWN, polyline

ROAMING = TripSizes(people=100, trips=3_000, points=60_000, habit=0.0, roaming=0.7, places=200)


def even_density() -> Density:
    grid = square_grid(TOWN, 12)
    share = np.full(grid.size, 1 / grid.size)
    return Density(grid, share, 10, share * 1e4, 1.0)


def wanted(rng: np.random.Generator, count: int, stretch: float) -> WantedTrips:
    x_m, y_m = rng.uniform(-2500, 2500, (2, 2, count))
    ends = Ends(x_m[0], y_m[0], x_m[1], y_m[1])
    length_m = stretch * np.maximum(ends.apart_m, 500.0)
    return WantedTrips(ends, length_m, np.maximum(ends.apart_m, length_m / 3), np.full(count, 12))


@pytest.mark.parametrize("stretch", [1.05, 1.2, 1.5, 2.5, 5.0])
def test_paths_have_the_length_asked_for_and_stay_inside(stretch: float) -> None:
    rng = np.random.default_rng(0)
    asked = wanted(rng, 400, stretch)
    paths = choose_paths(asked, even_density(), TOWN, rng)
    assert TOWN.contains(paths.x_m, paths.y_m).all()
    off = paths.reached_m[:, -1] / asked.length_m
    assert np.median(off) == pytest.approx(1.0, abs=1e-3)
    assert np.mean(np.abs(off - 1) < 0.02) > 0.95  # the rest has too little room between its ends and the border


def test_points_on_bent_paths_keep_their_lengths() -> None:
    """Lines from point to point cut no corner: every bend gets a point, if there are points enough."""
    rng = np.random.default_rng(1)
    asked = wanted(rng, 300, 2.5)
    paths = choose_paths(asked, even_density(), TOWN, rng)
    first, x_m, y_m = place_points(paths, asked.points, even_density())
    assert np.array_equal(np.diff(first), asked.points)
    step = np.hypot(np.diff(x_m, append=0.0), np.diff(y_m, append=0.0))
    step[first[1:] - 1] = 0.0
    assert np.add.reduceat(step, first[:-1]) == pytest.approx(paths.reached_m[:, -1], rel=1e-6)


def test_widths_in_eight_directions_tell_the_extent_to_two_percent() -> None:
    trips = generate_trips(ROAMING, TOWN, np.random.default_rng(2))
    ratio = measure_extents(trips) / np.maximum(diameters_m(trips), 1.0)
    assert 0.985 < ratio.min() <= ratio.max() < 1.01
    assert measure_extents(polyline((0.0, 0.0), (300.0, 400.0)))[0] == pytest.approx(500.0, rel=0.02)


def test_without_noise_trips_that_roam_keep_their_lengths() -> None:
    real = generate_trips(ROAMING, TOWN, np.random.default_rng(3))
    first, last = real.first[:-1], real.first[1:] - 1
    apart_m = np.hypot(real.x_m[last] - real.x_m[first], real.y_m[last] - real.y_m[first])
    assert np.mean(real.lengths_m > 2 * apart_m) > 0.5
    method = SyntheticTrips(epsilon=1000.0, unit="trajectory")
    made = method.release(real, TOWN, SimulatedNoise(np.random.default_rng(4)))
    assert path_length_ratio(real, made, TOWN) == pytest.approx(1.0, abs=0.03)
    assert length_jsd(real, made, TOWN) == pytest.approx(0.0, abs=0.01)


def test_without_noise_trips_that_roam_keep_their_extents() -> None:
    real = generate_trips(ROAMING, TOWN, np.random.default_rng(3))
    method = SyntheticTrips(epsilon=1000.0, unit="trajectory")
    made = method.release(real, TOWN, SimulatedNoise(np.random.default_rng(4)))
    assert diameters_m(made).mean() == pytest.approx(diameters_m(real).mean(), rel=0.05)
