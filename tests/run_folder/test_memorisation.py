"""Memorisation: copies are noticed, fresh trips of the same city are not."""

import numpy as np
import pytest

from geodp.run_folder.trip_scores import memorisation, nearest_m, waypoints
from geodp.tables.trajectories.generated_trips import TripSizes, generate_trips
from geodp.tables.trajectories.table import Trajectories, nobody
from tests.tables.trajectories.hand_made import BOX, table


def city(part: int) -> Trajectories:
    """Return one half of the people of one city: the halves are strangers to each other."""
    sizes = TripSizes(people=200, trips=800, points=12_000, places=150)
    trips = generate_trips(sizes, BOX, np.random.default_rng(8))
    return trips.select(trips.person % 2 == part)


def test_fresh_trips_of_the_same_city_are_as_far_as_the_held_out_ones() -> None:
    found = memorisation(city(0), city(1))
    assert found.ratio is not None
    assert found.near_share is not None
    assert 0.7 < found.ratio < 1.3
    assert found.near_share < 0.12


def test_copies_are_caught() -> None:
    found = memorisation(city(0), city(0))
    assert found.near_share is not None
    assert found.near_share > 0.4  # the half that is compared with is among the copies


def test_a_few_copies_among_fresh_ones_show_in_the_share_of_near_ones() -> None:
    real, fresh = city(0), city(1)
    copied = real.select(np.arange(0, real.size, 2)[:120])
    frame = [fresh.select(np.arange(200)), copied]
    both = Trajectories(
        real.people,
        np.append(frame[0].first, frame[0].points + frame[1].first[1:]),
        np.concatenate([part.person for part in frame]),
        np.concatenate([part.time_s for part in frame]),
        np.concatenate([part.x_m for part in frame]),
        np.concatenate([part.y_m for part in frame]),
    )
    plain, planted = memorisation(real, fresh).near_share, memorisation(real, both).near_share
    assert plain is not None
    assert planted is not None
    assert planted > plain + 0.1


def test_waypoints_are_spread_evenly_along_the_path() -> None:
    shapes = waypoints(table([(0, 0), (1, 0), (1, 1)], [(2, 2)]), number=5)
    np.testing.assert_allclose(shapes[0] + 3000, [0, 500, 1000, 1000, 1000, 0, 0, 0, 500, 1000], atol=1e-6)
    np.testing.assert_allclose(shapes[1] + 3000, 2000)


def test_the_distance_is_the_root_mean_square_over_the_places() -> None:
    known = waypoints(table([(0, 0), (1, 0)], [(5, 5), (6, 6)]))
    moved = waypoints(table([(0, 0.3), (1, 0.3)]))
    assert nearest_m(moved, known) == pytest.approx([300.0])


def test_too_little_to_compare_is_undefined() -> None:
    assert memorisation(table([(0, 0), (1, 1)]), city(0)).ratio is None
    assert memorisation(city(0), nobody()).ratio is None
    alone = table([(0, 0), (1, 1)], [(0, 0), (1, 1)], people=[0, 0])
    assert memorisation(alone, alone).ratio is None  # its halves are equal: no distance to compare with
