"""Replay: workers are where the trips say, from a file or a source; impossible trips are not followed."""

from pathlib import Path

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.registry import plugin
from geodp.tables.trajectories.table import Trajectories
from geodp.world.motion import ReplayedMotion, trips_of
from geodp.world.population import Population
from tests.tables.trajectories.hand_made import save_trajectories

REGION = Region(10.0, 50.0, 10.2, 50.1)
Way = list[tuple[float, float]]
"""Times (s) and places east of the middle (m)."""


def trips_along(ways: list[Way], people: list[int]) -> Trajectories:
    count = [len(way) for way in ways]
    rows = np.array([row for way in ways for row in way], dtype=np.float64)
    names = np.array([f"u{i}" for i in range(max(people) + 1)], dtype=object)
    first = np.append(0, np.cumsum(count)).astype(np.int64)
    return Trajectories(names, first, np.array(people), rows[:, 0], rows[:, 1], np.zeros(len(rows)))


def replayed(
    trips: Trajectories, *, start_s: float = 0.0, duration_s: float = 1000.0, **fields: object
) -> ReplayedMotion:
    count = len(trips.people)
    population = Population(np.full(count, -50.0), np.zeros(count), trips=trips)
    motion = plugin("replay", **fields).move(
        population, REGION, start_s=start_s, duration_s=duration_s, rng=np.random.default_rng(0)
    )
    assert isinstance(motion, ReplayedMotion)
    return motion


def test_workers_follow_their_trips_and_wait_between_them() -> None:
    ways: list[Way] = [[(100, 0), (200, 1000)], [(500, 1100), (600, 100)]]
    motion = replayed(trips_along(ways, [0, 0]))
    places = [motion.of(0, t)[0] for t in (0, 100, 150, 200, 480, 490, 500, 550, 600, 900)]
    # The next trip begins 100 m on: at 5 m/s the worker leaves 20 s before it.
    assert places == pytest.approx([0, 0, 500, 1000, 1000, 1050, 1100, 600, 100, 100])


def test_the_clock_is_the_scenarios() -> None:
    ways: list[Way] = [[(28_900, 0), (29_000, 1000)]]
    motion = replayed(trips_along(ways, [0]), start_s=28_800.0)
    assert [motion.of(0, t)[0] for t in (0, 100, 150, 200)] == pytest.approx([0, 0, 500, 1000])
    unix: list[Way] = [[(86_400 * 14_000 + 28_900, 0), (86_400 * 14_000 + 29_000, 1000)]]
    assert replayed(trips_along(unix, [0]), start_s=28_800.0).of(0, 150)[0] == pytest.approx(500)
    assert replayed(trips_along(unix, [0]), times="each").of(0, 50)[0] == pytest.approx(500)


def test_who_has_no_trip_stands_at_the_start_place() -> None:
    trips = trips_along([[(0, 0), (100, 100)]], [1])
    motion = replayed(trips)
    assert motion.of(0, 50)[0] == -50
    assert motion.of(1, 50)[0] == pytest.approx(50)


def test_trips_that_cannot_be_are_not_followed() -> None:
    ways: list[Way] = [
        [(0, 0), (100, 1000)],
        [(50, 0), (80, 500)],  # begins before the first one ends
        [(101, 5000), (150, 4000)],  # four kilometres away after a second
        [(300, 1000), (400, 0)],
    ]
    motion = replayed(trips_along(ways, [0, 0, 0, 0]), max_speed_mps=100.0)
    assert motion.trips is not None
    assert motion.trips.departures_s.tolist() == [0, 300]
    assert motion.max_speed_mps <= 100


def test_wrong_fixes_are_left_out() -> None:
    motion = replayed(trips_along([[(0, 0), (10, 100), (20, 5900), (30, 300)]], [0]), max_speed_mps=100.0)
    assert motion.of(0, 20)[0] == pytest.approx(200)


def test_a_run_at_another_time_is_refused_with_advice() -> None:
    with pytest.raises(DataError, match="times: each"):
        replayed(trips_along([[(0, 0), (100, 1000)]], [0]), start_s=40_000.0)
    with pytest.raises(DataError, match="needs trips"):
        plugin("replay").move(
            Population(np.zeros(1), np.zeros(1)), REGION, start_s=0.0, duration_s=1.0, rng=np.random.default_rng(0)
        )


def test_a_file_has_its_people_followed_equally_often(tmp_path: Path) -> None:
    ways: list[Way] = [[(0, 1000.0 * i), (500, 1000.0 * i + 100)] for i in range(4)]
    path = tmp_path / "trips.parquet"
    save_trajectories(path, trips_along(ways, [0, 1, 2, 3]), REGION)
    population = Population(np.zeros(10), np.zeros(10))
    motion = plugin("replay", path=str(path), stagger_s=60.0).move(
        population, REGION, start_s=0.0, duration_s=1000.0, rng=np.random.default_rng(1)
    )
    assert motion.workers == 10
    assert motion.trips.people.tolist() == [f"worker-{i:05d}" for i in range(10)]
    followed = np.round(motion.at(0.0)[0] / 1000)
    assert sorted(np.unique(followed, return_counts=True)[1].tolist()) == [2, 2, 3, 3]
    begins = motion.trips.departures_s
    assert (begins[:4] == 0).all()
    assert (begins[4:] > 0).all()
    assert begins.max() <= 60


def test_the_source_of_generated_trips_has_one_person_per_worker() -> None:
    rng = np.random.default_rng(3)
    population = plugin("street_trips", count=50).load(REGION, rng)
    assert population.size == 50
    motion = plugin("replay").move(population, REGION, start_s=8 * 3600.0, duration_s=7200.0, rng=rng)
    trips = trips_of(motion, 7200.0)
    assert trips.size > 30
    assert trips.time_s.min() >= 0
    assert trips.time_s.max() <= 7200
    for number in (0, trips.size - 1):  # the movement goes where the trip does
        point = trips.first[number]
        there = motion.of(int(trips.person[number]), float(trips.time_s[point]))
        assert there == pytest.approx((trips.x_m[point], trips.y_m[point]), abs=1e-6)
