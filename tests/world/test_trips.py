"""Trips read off movements: from stay to stay, sampled, cut to the run."""

import numpy as np

from geodp.registry import plugin
from geodp.world.motion import Motion, stand_still, trips_of
from tests.world.places import box, uniform_population


def test_a_trip_goes_from_stay_to_stay_and_bridges_short_stops() -> None:
    time = np.array([0.0, 100, 160, 260, 600, 660])
    x = np.array([0.0, 1000, 1000, 2000, 2000, 2600])
    trips = trips_of(Motion(np.array([0, 6]), time, x, np.zeros(6)), 1000.0)
    assert trips.departures_s.tolist() == [0, 600]
    assert trips.durations_s.tolist() == [260, 60]
    assert trips.time_s[:10].tolist() == [*range(0, 260, 30), 260]
    np.testing.assert_allclose(trips.x_m[:5], [0, 300, 600, 900, 1000])


def test_trips_are_cut_to_the_run() -> None:
    motion = Motion(np.array([0, 2, 3]), np.array([-100.0, 100, 0]), np.array([0.0, 2000, 5]), np.zeros(3))
    trips = trips_of(motion, 50.0)
    assert trips.person.tolist() == [0]
    assert trips.time_s.tolist() == [0, 30, 50]
    np.testing.assert_allclose(trips.x_m, [1000, 1300, 1500])


def test_who_stands_has_no_trip() -> None:
    assert trips_of(stand_still(np.zeros(3), np.zeros(3)), 100.0).size == 0
    late = Motion(np.array([0, 2]), np.array([500.0, 600]), np.array([0.0, 10]), np.zeros(2))
    assert trips_of(late, 100.0).size == 0


def test_trips_of_a_generated_movement_lie_on_it() -> None:
    region = box(5_000, 5_000)
    population = uniform_population(region, 50)
    motion = plugin("random_waypoint").move(
        population, region, start_s=0.0, duration_s=3600.0, rng=np.random.default_rng(2)
    )
    trips = trips_of(motion, 3600.0)
    assert trips.size > 50
    x, y = motion.at_times(trips.time_s, trips.person[trips.owner])
    np.testing.assert_allclose(trips.x_m, x)
    np.testing.assert_allclose(trips.y_m, y)
