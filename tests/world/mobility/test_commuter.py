"""Commuters. Every statistical bound here is crossed by chance in fewer than 1e-6 of all seeds."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from geodp.geometry import Region
from geodp.registry import plugin
from geodp.world.motion import Motion
from geodp.world.population import Population
from tests.world.places import angle_shaped, box, uniform_population

HOUR_S = 3600.0


def town(region: Region, count: int) -> Population:
    """Homes in the western half, workplaces in the eastern."""
    rng = np.random.default_rng(0)
    west, south, east, north = region.box_m
    middle = (west + east) / 2
    return Population(
        rng.uniform(west, middle - 1, count), rng.uniform(south, north, count),
        rng.uniform(middle + 1, east, count), rng.uniform(south, north, count),
    )  # fmt: skip


def commute(
    population: Population, region: Region, start_h: float, hours: float, seed: int = 0, **fields: Any
) -> Motion:
    motion: Motion = plugin("commuter", **fields).move(
        population,
        region,
        start_s=start_h * HOUR_S,
        duration_s=hours * HOUR_S,
        rng=np.random.default_rng(seed),
    )
    return motion


def test_people_sleep_at_home_and_spend_the_day_at_work() -> None:
    region = box(4000, 4000)
    people = town(region, 3000)
    motion = commute(people, region, 0, 48, commuting_share=1.0, errand_share=0.0)
    home = np.array([people.x_m, people.y_m])
    work = np.array([people.work_x_m, people.work_y_m], dtype=np.float64)
    for hour, place in [(3, home), (13, work), (23, home), (24 + 13, work), (24 + 23, home)]:
        here = np.array(motion.at(hour * HOUR_S))
        np.testing.assert_allclose(here, place, atol=1e-3)  # single precision: 0.2 mm at 4 km


@pytest.mark.parametrize("start_h", [0.5, 7.9, 13.0, 17.2])
def test_a_run_that_starts_later_meets_people_where_the_day_has_taken_them(start_h: float) -> None:
    region = box(4000, 4000)
    people = town(region, 20_000)
    whole, later = commute(people, region, 0, 24), commute(people, region, start_h, 0.5, seed=1)
    east = [np.count_nonzero(m.at(t)[0] > 0) for m, t in [(whole, start_h * HOUR_S), (later, 0.0)]]
    # The two runs draw apart; the same share of people must be in the eastern half at the same time of day.
    table = np.array([[n, 20_000 - n] for n in east])
    assert east == [0, 0] or stats.fisher_exact(table).pvalue > 1e-6


def test_after_midnight_those_with_a_long_way_are_still_on_the_road() -> None:
    region, count = box(90_000, 90_000), 4000
    people = uniform_population(region, count)
    settings: dict[str, Any] = {"min_speed_mps": 1.5, "max_speed_mps": 3.0, "peak_spread_h": 0.5}
    whole = commute(people, region, 0, 30, **settings)
    later = commute(people, region, 0.5, 1, seed=1, **settings)
    walking = []
    for motion, time_s in [(whole, 24.5 * HOUR_S), (later, 0.0)]:
        before, after = motion.at(time_s), motion.at(time_s + 60)
        walking.append(int(np.count_nonzero(np.hypot(after[0] - before[0], after[1] - before[1]) > 1)))
    assert walking[0] > 100
    assert stats.fisher_exact(np.array([[n, count - n] for n in walking])).pvalue > 1e-6


def test_departures_are_normal_around_the_peak() -> None:
    region = box(4000, 4000)
    motion = commute(town(region, 5000), region, 0, 12, commuting_share=1.0, errand_share=0.0, peak_spread_h=0.5)
    leaves_h = motion.time_s[motion.first[:-1]] / HOUR_S
    clipped = np.clip((leaves_h - 8.0) / 0.5, -3, 3)
    inside = clipped[np.abs(clipped) < 3 - 1e-9]
    assert np.mean(np.abs(clipped) >= 3 - 1e-9) < 0.01
    assert stats.kstest(inside, stats.truncnorm(-3, 3).cdf).pvalue > 1e-6


def test_the_share_of_commuters_is_kept() -> None:
    region, count = box(4000, 4000), 10_000
    motion = commute(town(region, count), region, 0, 13, commuting_share=0.7, errand_share=0.0)
    at_work = int(np.count_nonzero(motion.at(13 * HOUR_S)[0] > 0))
    assert stats.binomtest(at_work, count, 0.7).pvalue > 1e-6


def test_errands_lead_near_the_place_of_the_day_and_back() -> None:
    region = box(8000, 8000)
    people = town(region, 4000)
    motion = commute(people, region, 0, 24, commuting_share=0.0, errand_share=1.0, errand_m=200.0)
    x_m, y_m = (np.repeat(v, np.diff(motion.first)) for v in (people.x_m, people.y_m))
    away_m = np.hypot(motion.x_m - x_m, motion.y_m - y_m)
    furthest = np.maximum.reduceat(away_m, motion.first[:-1])
    went = furthest > 0.01
    assert np.mean(went) > 0.9  # the rest would have left the region or outlasted the day
    assert 170 < furthest[went].mean() < 215  # 200 m, less those that would have left the region
    np.testing.assert_allclose(motion.at(24 * HOUR_S)[0], people.x_m, atol=1e-3)


def test_legs_have_the_speed_that_was_drawn_and_stay_in_the_region() -> None:
    region = box(9000, 3000)
    motion = commute(uniform_population(region, 70_000), region, 7, 3, min_speed_mps=2.0, max_speed_mps=9.0)
    assert motion.workers == 70_000  # more than one block
    assert motion.max_speed_mps <= 9.0 * (1 + 1e-9)
    assert region.contains(motion.x_m, motion.y_m).all()
    for hour in np.linspace(0, 3, 7):
        assert region.contains(*motion.at(hour * HOUR_S)).all()


@pytest.mark.parametrize("start_h", [0.0, 4.0, 23.5])
def test_times_ascend_even_where_a_trip_takes_most_of_a_day(start_h: float) -> None:
    region = box(90_000, 90_000)
    motion = commute(uniform_population(region, 300), region, start_h, 72, min_speed_mps=1.0, max_speed_mps=2.0)
    assert (np.diff(motion.time_s)[~motion.starts_worker[1:]] >= 0).all()
    assert motion.max_speed_mps <= 2.0 * (1 + 1e-9)


def test_those_without_a_workplace_get_one_among_the_places_of_others_and_rather_near() -> None:
    region = box(10_000, 10_000)
    people = uniform_population(region, 5000)
    motion = commute(people, region, 0, 13, commuting_share=1.0, errand_share=0.0)
    x_m, y_m = motion.at(13 * HOUR_S)
    known = np.round(np.column_stack([people.x_m, people.y_m]), 2)
    found = np.round(np.column_stack([x_m, y_m]), 2)
    assert np.mean(np.isin(found[:, 0], known[:, 0])) > 0.99  # up to rounding at a half
    # The nearest of three: well below the 5.2 km between two random places, yet no walk next door.
    assert 1500 < np.median(np.hypot(x_m - people.x_m, y_m - people.y_m)) < 4000


def test_in_a_polygon_people_stop_inside_it() -> None:
    region = angle_shaped()
    people = uniform_population(region, 2000)
    motion = commute(people, region, 0, 24, errand_share=1.0, errand_m=2000.0)
    assert np.mean(region.contains(motion.x_m, motion.y_m)) > 0.999  # within 2 mm of the outline: rounded


def test_at_night_nobody_moves() -> None:
    region = box(4000, 4000)
    assert commute(town(region, 500), region, 1, 2).is_static


def test_an_evening_before_the_morning_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"evening_peak_h must be later than morning_peak_h \(8\), got 6"):
        plugin("commuter", evening_peak_h=6)


def test_errands_lead_to_the_same_few_places_again() -> None:
    region = box(20_000, 20_000)
    people = Population(*np.zeros((4, 200)))
    days: dict[str, Any] = {"errand_share": 1.0, "errand_s": 60.0, "commuting_share": 0.0}
    for favourites, most in ((2, 2), (0, 12)):
        motion = commute(people, region, 0, 24 * 12, favourites=favourites, **days)
        places = np.unique(np.column_stack([np.repeat(np.arange(200), np.diff(motion.first)), motion.x_m]), axis=0)
        away = places[np.abs(places[:, 1]) > 1.0]
        number = np.bincount(away[:, 0].astype(int), minlength=200)
        assert number.max() <= most
        assert number.mean() > 0.8 * most


def test_nobody_works_at_weekends_and_favourites_stay_where_they_are() -> None:
    region = box(4000, 4000)
    people = town(region, 300)
    settings: dict[str, Any] = {"commuting_share": 1.0, "weekends": True, "favourites": 1, "errand_m": 100.0}
    motion = commute(people, region, 0, 24 * 7, errand_share=1.0, **settings)
    saturday = motion.at(5 * 24 * HOUR_S + 4 * HOUR_S)
    np.testing.assert_allclose(saturday, [people.x_m, people.y_m], atol=1e-3)
    noon = [motion.at((24 * day + 13) * HOUR_S)[0] > 0 for day in (2, 6)]
    assert noon[0].mean() > 0.9
    knots = np.repeat(np.arange(300), np.diff(motion.first))
    at_weekend = motion.time_s > 5 * 24 * HOUR_S + 1
    for worker in range(5):
        before, after = (
            {*motion.x_m[(knots == worker) & (at_weekend == late)].round(1).tolist()} for late in (False, True)
        )
        assert after <= {*before}
