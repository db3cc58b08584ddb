"""Households and convoys: who is with whom, where, and when."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from geodp.geometry import Region
from geodp.registry import plugin
from geodp.world.mobility.companions import Companions
from geodp.world.motion import Motion
from geodp.world.population import Population

TOWN = Region(10.0, 50.0, 10.1, 50.07)


def move(people: int, *, start_h: float = 7.0, **fields: object) -> tuple[Companions, Motion]:
    rng = np.random.default_rng(3)
    x_m, y_m = TOWN.sample(people, rng)
    mobility = plugin("companions", "mobility", **fields)
    motion = mobility.move(Population(x_m, y_m), TOWN, start_s=3600.0 * start_h, duration_s=7200.0, rng=rng)
    return mobility, motion


@settings(max_examples=60, deadline=None)
@given(people=st.integers(1, 400), shares=st.lists(st.integers(0, 5), min_size=1, max_size=5))
def test_shares_of_households_are_kept_and_nobody_is_left_out(people: int, shares: list[int]) -> None:
    total = sum(shares)
    if not total:
        return
    sizes = {size: share / total for size, share in enumerate(shares, start=1)}
    mobility = Companions(sizes=sizes)
    household = mobility.list_households(people)
    assert household.size == people
    assert (np.diff(household) >= 0).all()
    members = np.bincount(household)
    assert members.min() == 1 or 1 not in members
    assert members.max() <= mobility.largest
    full = people / sum(size * share for size, share in sizes.items())
    for size, share in sizes.items():
        if size > 1:
            assert full * share - 1 < np.count_nonzero(members == size) <= full * share + 1e-6


def test_a_household_is_in_one_place_at_all_times() -> None:
    mobility, motion = move(300)
    household = mobility.list_households(300)
    first = np.searchsorted(household, household)
    moved = 0.0
    for time_s in (0.0, 1800.0, 3600.0, 7200.0):
        x_m, y_m = motion.at(time_s)
        assert (x_m == x_m[first]).all()
        assert (y_m == y_m[first]).all()
        moved = max(moved, float(np.abs(x_m - motion.at(0.0)[0]).max()))
    assert moved > 1000
    _, night = move(300, start_h=1.0)
    homes = np.unique(np.column_stack(night.at(0.0)), axis=0)
    assert len(homes) == household[-1] + 1  # households differ


def test_a_convoy_is_where_the_one_in_front_was() -> None:
    mobility, motion = move(200, sizes={4: 1.0}, lag_s=60.0)
    household = mobility.list_households(200)
    place = np.arange(200) - np.searchsorted(household, household)
    x_m, y_m = motion.at(3600.0)
    for behind in (1, 2, 3):
        then_x, then_y = motion.at(3600.0 - 60.0 * behind)
        own = np.flatnonzero(place == behind)
        assert x_m[own] == pytest.approx(then_x[own - behind])
        assert y_m[own] == pytest.approx(then_y[own - behind])
    assert (x_m[place == 3] != x_m[place == 0]).any()


def test_those_who_do_not_follow_start_at_home_and_go_alone() -> None:
    _mobility, motion = move(2000, sizes={2: 1.0}, together=0.7)
    second = np.arange(1, 2000, 2)
    night = move(2000, sizes={2: 1.0}, together=0.7, start_h=1.0)[1]
    start_x, end_x = night.at(0.0)[0], motion.at(7200.0)[0]
    assert (start_x[second] == start_x[second - 1]).all()
    apart = np.count_nonzero(end_x[second] != end_x[second - 1])
    # 1000 coins of 0.3, of which nearly all who go alone have moved: six standard deviations are 87 (1e-9)
    assert 150 < apart < 300 + 87


def test_everyone_moves_as_without_companions_when_all_live_alone() -> None:
    rng = np.random.default_rng(3)
    x_m, y_m = TOWN.sample(50, rng)
    plain = plugin("commuter", "mobility").move(
        Population(x_m, y_m), TOWN, start_s=7 * 3600.0, duration_s=7200.0, rng=rng
    )
    _, motion = move(50, sizes={1: 1.0})
    assert (motion.x_m == plain.x_m).all()
    assert (motion.time_s == plain.time_s).all()


def test_replayed_trips_are_those_of_whom_one_follows() -> None:
    trips = plugin("street_trips", "source", count=6).load(TOWN, np.random.default_rng(0))
    mobility = plugin("companions", "mobility", sizes={3: 1.0}, lag_s=30.0, mobility={"kind": "replay"})
    motion = mobility.move(trips, TOWN, start_s=0.0, duration_s=86_400.0, rng=np.random.default_rng(0))
    found = motion.trips
    assert found.size
    assert set(found.person.tolist()) <= set(range(6))
    own = [found.select(found.person == who) for who in range(3)]
    assert own[1].size == own[0].size > 0
    assert own[2].x_m == pytest.approx(own[0].x_m)
    assert own[2].time_s == pytest.approx(own[0].time_s + 60.0)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({1: 0.4, 2: 0.3}, "add up to 1, got 0.7"),
        ({1: 0.7, 2: 0.7}, "add up to 1, got 1.4"),
        ({1: 1.5, 2: -0.5}, "must not be negative"),
        ({0: 1.0}, "1 to 1,000 people, got 0"),
        ({5000: 1.0}, "1 to 1,000 people, got 5000"),
        ({}, "got none"),
    ],
)
def test_shares_that_do_not_fit_are_refused(sizes: dict[int, float], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Companions(sizes=sizes)


def test_what_has_no_effect_is_refused() -> None:
    with pytest.raises(ValidationError, match="everyone lives alone"):
        Companions(sizes={1: 1.0}, lag_s=5.0)
    with pytest.raises(ValidationError, match="lag_s has no effect"):
        Companions(together=0.0, lag_s=5.0)
    with pytest.raises(ValidationError, match="cannot be used here"):
        plugin("companions", "mobility", mobility={"kind": "companions"})
