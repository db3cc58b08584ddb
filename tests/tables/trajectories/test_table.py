"""The table of trajectories: offsets, order, selection, bounding."""

import numpy as np
import pandas as pd
import pytest

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.tables.trajectories.table import Trajectories, nobody

REGION = Region(10.0, 50.0, 10.1, 50.1)


def frame() -> pd.DataFrame:
    rows = [
        ("bo", "a", 30.0, 10.03, 50.03),
        ("ann", "a", 0.0, 10.01, 50.01),
        ("bo", "a", 10.0, 10.02, 50.02),
        ("ann", "b", 5.0, 10.05, 50.05),
        ("bo", "b", 2.0, 10.06, 50.06),
        ("ann", "a", 20.0, 10.04, 50.04),
    ]
    return pd.DataFrame(rows, columns=["user", "trajectory", "time_s", "lon", "lat"])


def test_points_in_any_order_become_trajectories_told_by_user_and_name_together() -> None:
    found = Trajectories.from_frame(frame(), REGION)
    assert found.people.tolist() == ["bo", "ann"]
    assert found.first.tolist() == [0, 2, 4, 5, 6]
    assert found.person.tolist() == [0, 1, 1, 0]
    assert found.names is not None
    assert found.names.tolist() == ["a", "a", "b", "b"]
    assert found.time_s.tolist() == [10, 30, 0, 20, 5, 2]
    assert found.owner.tolist() == [0, 0, 1, 1, 2, 3]


def test_a_frame_comes_back_as_it_was() -> None:
    once = Trajectories.from_frame(frame(), REGION)
    twice = Trajectories.from_frame(once.frame(REGION), REGION)
    np.testing.assert_array_equal(once.first, twice.first)
    np.testing.assert_array_equal(once.person, twice.person)
    np.testing.assert_allclose(once.x_m, twice.x_m, atol=1e-6)


def test_everyone_keeps_one_of_theirs() -> None:
    found = Trajectories.from_frame(frame(), REGION)
    assert found.rank.tolist() == [1, 0, 1, 0]
    assert sorted(found.keep_at_most(1).person.tolist()) == [0, 1]
    assert found.keep_at_most(2) is found


def many_days(people: int = 400, trips: int = 12) -> Trajectories:
    """Return people who depart every hour, in no order of the table."""
    order = np.random.default_rng(0).permutation(people * trips)
    names = np.array([f"p{number}" for number in range(people)], dtype=object)
    person, time_s = order // trips, (3600.0 * (order % trips)).astype(np.float64)
    return Trajectories(names, np.arange(order.size + 1), person, time_s, np.zeros(order.size), np.zeros(order.size))


def test_a_cap_keeps_early_and_late_departures_alike() -> None:
    """4 of 12 hours each: every hour is kept by 400/3 people, standard deviation 9.4; 50 away happens once in 1e7."""
    kept = many_days().keep_at_most(4, b"key")
    assert np.bincount(kept.person).tolist() == [4] * 400
    hours = np.bincount((kept.departures_s // 3600).astype(int), minlength=12)
    assert np.abs(hours - 400 / 3).max() < 50
    other = many_days().keep_at_most(4, b"another key")
    assert not np.array_equal(kept.departures_s, other.departures_s)


def test_one_trip_more_takes_the_place_of_one_other_of_the_same_person() -> None:
    world = many_days(people=30)
    before = {(p, t) for p, t in zip(*_kept(world), strict=True)}
    for gone in range(0, world.size, 7):
        less = world.select(np.arange(world.size) != gone)
        after = {(p, t) for p, t in zip(*_kept(less), strict=True)}
        assert len(before - after) <= 1
        assert len(after - before) <= 1
        assert {p for p, _ in before ^ after} <= {int(world.person[gone])}


def _kept(world: Trajectories) -> tuple[list[int], list[float]]:
    kept = world.keep_at_most(4, b"key")
    return kept.person.tolist(), kept.departures_s.tolist()


def test_lengths_are_straight_lines_within_a_trajectory() -> None:
    first = np.array([0, 3, 4])
    found = Trajectories(
        np.array(["p"], dtype=object),
        first,
        np.array([0, 0]),
        np.array([0.0, 1, 2, 0]),
        np.array([0.0, 3, 3, 100]),
        np.array([0.0, 4, 10, 100]),
    )
    assert found.lengths_m.tolist() == [11, 0]
    assert found.durations_s.tolist() == [2, 0]


def test_chosen_by_number_keeps_the_order_given() -> None:
    found = Trajectories.from_frame(frame(), REGION).select(np.array([3, 0]))
    assert found.time_s.tolist() == [2, 10, 30]
    assert found.names is not None
    assert found.names.tolist() == ["b", "a"]


def test_points_outside_are_gone_and_so_are_trajectories_without_points() -> None:
    small = Region(10.0, 50.0, 10.045, 50.1)
    table = Trajectories.from_frame(frame(), small)
    found = table.inside(small)
    assert found.size == 2
    assert found.counts.tolist() == [2, 2]


def test_nobody_is_a_table() -> None:
    assert nobody().size == nobody().points == 0
    assert nobody().lengths_m.size == 0
    assert nobody().keep_at_most(3).size == 0
    assert list(nobody().frame(REGION)) == ["user", "trajectory", "time_s", "lon", "lat"]


@pytest.mark.parametrize(
    ("first", "person", "time", "words"),
    [
        ([0, 1], [0], [0.0, 1.0], "offsets"),
        ([0, 0, 2], [0, 0], [0.0, 1.0], "no point"),
        ([0, 2], [1], [0.0, 1.0], "not there"),
        ([0, 2], [0], [1.0, 0.0], "backwards"),
    ],
)
def test_a_broken_table_is_refused(first: list[int], person: list[int], time: list[float], words: str) -> None:
    people = np.array(["p"], dtype=object)
    with pytest.raises(DataError, match=words):
        Trajectories(people, np.array(first), np.array(person), np.array(time), np.zeros(2), np.zeros(2))


def test_a_missing_column_and_a_missing_name_are_told() -> None:
    with pytest.raises(DataError, match="no column 'lat'"):
        Trajectories.from_frame(frame().drop(columns="lat"), REGION)
    nameless = frame()
    nameless.loc[2, "user"] = None
    with pytest.raises(DataError, match="without user"):
        Trajectories.from_frame(nameless, REGION)
