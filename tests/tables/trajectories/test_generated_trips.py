"""Generated trips: sizes as asked, on streets, by quickest ways, people with homes and habits."""

from itertools import pairwise

import numpy as np
import pytest
from shapely import Polygon

from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.tables.trajectories.generated_trips import TripSizes, generate_trips, street_network, trace

CITY = Region(-8.70, 41.10, -8.60, 41.17)
SMALL = TripSizes(people=40, trips=400, points=8_000, days=3, places=80)


def test_there_are_as_many_as_asked_and_all_lie_in_the_region() -> None:
    trips = generate_trips(SMALL, CITY, np.random.default_rng(1))
    assert (trips.size, trips.points, len(trips.people)) == (400, 8_000, 40)
    assert CITY.contains(trips.x_m, trips.y_m).all()
    assert set(trips.person.tolist()) == set(range(40))
    assert trips.counts.min() >= 2


def test_equal_generators_give_equal_trips() -> None:
    one, two = (generate_trips(SMALL, CITY, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one.x_m, two.x_m)
    np.testing.assert_array_equal(one.time_s, two.time_s)


def test_nobody_is_in_two_places_at_once_and_trips_go_on_where_the_last_one_ended() -> None:
    trips = generate_trips(SMALL, CITY, np.random.default_rng(2))
    for person in range(40):
        own = trips.select(trips.person == person)
        for one, two in pairwise(range(own.size)):
            assert own.departures_s[two] > own.departures_s[one] + own.durations_s[one]
            ends, starts = own.first[two] - 1, own.first[two]
            # Both are somewhere along a street at the same crossing: at most a block and a half each.
            assert np.hypot(own.x_m[ends] - own.x_m[starts], own.y_m[ends] - own.y_m[starts]) < 900


def test_people_have_habits_and_taxis_have_not() -> None:
    def distinct_ends(habit: float) -> float:
        sizes = TripSizes(people=40, trips=1_200, points=12_000, days=5, habit=habit, places=80)
        trips = generate_trips(sizes, CITY, np.random.default_rng(3))
        last = trips.first[1:] - 1
        cell = np.round(trips.x_m[last] / 500) * 1000 + np.round(trips.y_m[last] / 500)
        return float(np.mean([np.unique(cell[trips.person == person]).size for person in range(40)]))

    assert distinct_ends(0.95) < 0.75 * distinct_ends(0.0)


def test_speeds_are_those_of_streets() -> None:
    trips = generate_trips(SMALL, CITY, np.random.default_rng(4))
    speed_mps = trips.lengths_m / trips.durations_s
    assert 5 < np.median(speed_mps) < 15
    assert speed_mps.max() < 40


def test_ways_are_the_quickest_ones() -> None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import floyd_warshall

    rng = np.random.default_rng(5)
    streets = street_network(Region(10.0, 50.0, 10.03, 50.02), rng)
    time_s = streets.travel_s(streets.tail, streets.head)
    graph = csr_array((time_s, (streets.tail, streets.head)), shape=(streets.size, streets.size))
    best = floyd_warshall(graph, directed=False)
    assert np.isfinite(best).all()  # every crossing can be reached
    targets = np.array([3, streets.size - 1])
    following = streets.quickest(targets, rng, 0.0)
    origin = np.arange(streets.size)
    first, passed = trace(following, origin, np.zeros(streets.size, dtype=np.int64))
    leg_s = streets.travel_s(passed[:-1], passed[1:])
    for way in range(streets.size):
        legs = leg_s[first[way] : first[way + 1] - 1]
        assert passed[first[way]] == way
        assert passed[first[way + 1] - 1] == 3
        assert legs.sum() == pytest.approx(best[way, 3])


def test_a_polygon_keeps_its_trips_to_itself() -> None:
    corner = Polygon([(10.0, 50.0), (10.1, 50.0), (10.1, 50.03), (10.04, 50.03), (10.04, 50.08), (10.0, 50.08)])
    region = Region(10.0, 50.0, 10.1, 50.08, polygon=corner)
    streets = street_network(region, np.random.default_rng(6))
    assert region.contains(streets.x_m, streets.y_m).all()
    trips = generate_trips(SMALL, region, np.random.default_rng(6))
    assert region.contains(trips.x_m, trips.y_m).mean() > 0.99  # a straight line between fixes may cut the corner


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 20 points"):
        TripSizes(trips=10, points=12)
    with pytest.raises(UsageError, match="two places"):
        TripSizes(places=1)
    with pytest.raises(UsageError, match="too small for streets"):
        street_network(Region(10.0, 50.0, 10.005, 50.005), np.random.default_rng(1))
