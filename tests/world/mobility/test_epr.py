"""Lives of exploration and return. Every statistical bound here is crossed in fewer than 1e-6 of all seeds."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import geodp
from geodp.errors import DataError
from geodp.geometry import Region
from geodp.public.streets import StreetNetwork
from geodp.registry import plugin
from geodp.scenario.schema import load_scenario
from geodp.tables.movement_laws import distinct_places, fit_exponent, shares_by_rank
from geodp.tables.trajectories.generated_trips import make_up_streets
from geodp.tables.visit_log import VisitLog, order_visits
from geodp.tables.visits.histories import Histories, Venues
from geodp.world.exploration import DistanceLaw, PlacesToGo, choose_places
from geodp.world.motion import LivedMotion
from geodp.world.population import Population
from geodp.world.weekly_diaries import HOME, OUT, Diaries, keep_diaries
from tests.world.places import box

HOUR_S, DAY_S = 3_600.0, 86_400.0
REGION = box(12_000, 12_000)


def town(count: int, seed: int = 0) -> Population:
    rng = np.random.default_rng(seed)
    west, south, east, north = REGION.box_m
    home = rng.uniform(west, east, count), rng.uniform(south, north, count)
    work = rng.uniform(west, east, count), rng.uniform(south, north, count)
    return Population(*home, *work)


@cache
def live(count: int = 300, start_h: float = 0.0, days: float = 7.0, seed: int = 0, **fields: Any) -> LivedMotion:
    motion = plugin(
        "epr", "mobility", **{"past_days": 14, **({} if "venues" in fields else {"places": 800}), **fields}
    ).move(
        town(count),
        REGION,
        start_s=start_h * HOUR_S,
        duration_s=days * DAY_S,
        rng=np.random.default_rng([seed, 9]),
    )
    assert isinstance(motion, LivedMotion)
    return motion


def tell(motion: LivedMotion, **fields: Any) -> tuple[Histories, Venues]:
    found: tuple[Histories, Venues] = plugin("from_mobility", "visit_source", **fields).observe(
        motion, np.random.default_rng(1)
    )
    return found


def log_of(motion: LivedMotion, **fields: Any) -> VisitLog:
    visits, venues = tell(motion, **fields)
    x_m, y_m = REGION.projection.to_m(lon=venues.lon, lat=venues.lat)
    assert visits.time_s is not None
    return order_visits(visits.person, visits.time_s, visits.venue, x_m[visits.venue], y_m[visits.venue], monday_s=0.0)


def share_at(motion: LivedMotion, time_s: float, x_m: np.ndarray | None, y_m: np.ndarray | None) -> float:
    assert x_m is not None
    assert y_m is not None
    east, north = motion.at(time_s)
    return float(np.mean(np.hypot(east - x_m, north - y_m) < 1.0))


def test_nights_are_spent_at_home_work_days_at_work_and_weekends_not() -> None:
    people, motion = town(300), live(commuting_share=1.0)
    assert share_at(motion, 3.5 * HOUR_S, people.x_m, people.y_m) > 0.85
    assert share_at(motion, 11 * HOUR_S, people.work_x_m, people.work_y_m) > 0.6
    assert share_at(motion, 5 * DAY_S + 11 * HOUR_S, people.work_x_m, people.work_y_m) == 0.0
    sunday = live(days=1.0, commuting_share=1.0, first_weekday=6)
    assert share_at(sunday, 11 * HOUR_S, people.work_x_m, people.work_y_m) == 0.0


def test_visits_movement_and_places_of_a_worker_agree() -> None:
    motion = live()
    told, venues = motion.told, motion.venues
    assert told is not None
    assert venues is not None
    x_m, y_m = REGION.projection.to_m(lon=venues.lon, lat=venues.lat)
    seen = (told.kind == OUT) & (told.time_s > 0) & (told.time_s < 7 * DAY_S - 1)
    east, north = motion.at_times(told.time_s[seen] + 1e-3, told.person[seen])
    away_m = np.hypot(east - x_m[told.venue[seen]], north - y_m[told.venue[seen]])
    assert seen.sum() > 1_000
    assert away_m.max() < 0.1


def test_everyone_keeps_her_pace_and_time_goes_on() -> None:
    motion = live(min_speed_mps=2.0, max_speed_mps=4.0)
    inner = ~motion.starts_worker[1:]
    assert (np.diff(motion.time_s)[inner] >= 0).all()
    assert motion.max_speed_mps <= 4.0 * (1 + 1e-6)
    assert np.isin(np.arange(motion.workers), np.repeat(np.arange(motion.workers), np.diff(motion.first))).all()


def test_those_who_explore_less_know_fewer_places_and_return_to_them_more() -> None:
    few, many = (log_of(live(rho=rho), work_share=0.0) for rho in (0.1, 0.9))
    assert distinct_places(few).mean() < 0.7 * distinct_places(many).mean()
    assert shares_by_rank(few)[0] > shares_by_rank(many)[0]


def test_exploration_follows_its_exponent() -> None:
    # S(n) grows as n^(1/(1+γ)) where whatever is explored is new (Song et al. 2010).
    people, visits = 200, 200
    side = np.arange(0, 60_000, 100.0)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    places = PlacesToGo(grid[:, 0], grid[:, 1], np.ones(len(grid)))
    kind = np.tile(np.array([HOME, OUT], dtype=np.int8), people * visits)
    diary = Diaries(
        np.arange(people + 1) * 2 * visits, kind, np.arange(kind.size, dtype=np.float64), np.zeros(kind.size)
    )
    middle = np.full(kind.size, 30_000.0)
    place = choose_places(
        diary,
        places,
        bases=(middle, middle),
        rho=0.6,
        gamma=0.6,
        law=DistanceLaw(power=0.0, near_m=100.0, reach_m=1e7, furthest_m=29_000.0),
        reach=np.ones(people),
        rng=np.random.default_rng(5),
    )
    chosen = place[kind == OUT].reshape(people, visits)
    assert (place[kind == HOME] == -1).all()
    sizes = np.array([25, 50, 100, 200])
    found = np.array([np.mean([np.unique(row[:size]).size for row in chosen]) for size in sizes])
    assert fit_exponent(sizes.astype(np.float64), found) == pytest.approx(1 / 1.6, abs=0.04)


def test_new_places_lie_as_far_away_as_the_law_says() -> None:
    law = DistanceLaw(power=1.5, near_m=100.0, reach_m=3_000.0, furthest_m=20_000.0)
    rng = np.random.default_rng(2)
    drawn = law.draw(200_000, rng)
    r = np.linspace(1.0, 20_000.0, 400_001)
    density = (r + 100.0) ** -1.5 * np.exp(-r / 3_000.0)
    below = np.interp([200.0, 1_000.0, 5_000.0], r, np.cumsum(density) / density.sum())
    found = [np.mean(drawn <= at) for at in (200.0, 1_000.0, 5_000.0)]
    assert found == pytest.approx(below.tolist(), abs=0.01)
    grid = np.stack(np.meshgrid(np.arange(0, 20_000, 100.0), np.arange(0, 20_000, 100.0)), axis=-1).reshape(-1, 2)
    places = PlacesToGo(grid[:, 0], grid[:, 1], np.ones(len(grid)))
    middle, away_m = np.full(2_000, 10_050.0), np.linspace(500.0, 8_000.0, 2_000)
    chosen = places.explore(middle, middle, away_m, rng)
    true_m = np.hypot(grid[chosen, 0] - 10_050.0, grid[chosen, 1] - 10_050.0)
    assert np.abs(true_m - away_m).max() <= 71.0


def test_who_is_late_is_late_until_there_is_time() -> None:
    first = np.array([0, 3, 4])
    diary = Diaries(first, np.array([0, 2, 0, 0], np.int8), np.array([0, 100, 150, 0.0]), np.array([0, 200, 0, 0.0]))
    depart_s, arrive_s = keep_diaries(diary, np.array([0.0, 30.0, 40.0, 0.0]))
    assert arrive_s.tolist() == [0, 100, 340, 0]
    assert depart_s.tolist() == [0, 70, 300, 0]


def test_people_go_along_streets() -> None:
    motion = live(60, days=1.0, past_days=2, streets="generated")
    network: StreetNetwork = make_up_streets(REGION)
    east, north = (np.delete(column, motion.first[:-1]) for column in (motion.x_m, motion.y_m))
    straight = live(60, days=1.0, past_days=2)
    assert motion.time_s.size > 3 * straight.time_s.size
    assert np.mean(network.away_m(east.astype(float), north.astype(float)) < 1.0) > 0.8
    assert motion.max_speed_mps <= 12.0 * (1 + 1e-3)


def test_lives_begin_before_the_run_and_homes_are_told_only_when_asked() -> None:
    visits, venues = tell(live())
    assert visits.time_s is not None
    assert visits.time_s.min() < -13 * DAY_S
    assert 0 <= visits.venue.min() <= visits.venue.max() < venues.size
    silent, _ = tell(live(), work_share=0.0, out_share=0.0)
    homes, _ = tell(live(), work_share=0.0, out_share=0.0, home_share=1.0)
    assert silent.size == 0
    assert np.unique(np.column_stack([homes.person, homes.venue]), axis=0).shape[0] == 300


def test_companions_share_their_visits() -> None:
    pairs = plugin("companions", "mobility", sizes={2: 1.0}, mobility={"kind": "epr", "places": 100, "past_days": 3})
    motion = pairs.move(town(4), REGION, start_s=0.0, duration_s=DAY_S, rng=np.random.default_rng(0))
    visits, _ = tell(motion)
    first, second = (visits.venue[visits.person == person].tolist() for person in (0, 1))
    assert first == second
    assert first != visits.venue[visits.person == 2].tolist()


def write_venues(folder: Path, region: Region) -> Path:
    rng = np.random.default_rng(4)
    lon = rng.uniform(region.west, region.east, 60)
    lat = rng.uniform(region.south, region.north, 60)
    rows = [f"v{i},{lon[i]},{lat[i]},d{i % 3},bar" for i in range(60)]
    file = folder / "places.csv"
    file.write_text("\n".join(["venue,lon,lat,district,category", *rows]))
    return file


def test_places_of_a_file_are_the_public_list(tmp_path: Path) -> None:
    motion = live(20, days=1.0, venues=str(write_venues(tmp_path, REGION)))
    visits, venues = tell(motion)
    assert (venues.size, venues.name[0], visits.size > 20) == (60, "v0", True)
    listed = plugin("epr", "mobility", venues=str(tmp_path / "places.csv")).list_places()
    assert (listed.levels, listed.categories, listed.size) == (("district",), ("bar",), 60)
    with pytest.raises(DataError, match="fewer than two of its 60 venues"):
        plugin("epr", "mobility", venues=str(tmp_path / "places.csv")).look(Region(-1.0, -1.0, -0.9, -0.9))


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValidationError, match="max_speed_mps must be at least"):
        plugin("epr", "mobility", min_speed_mps=5.0, max_speed_mps=4.0)
    with pytest.raises(ValidationError, match="at least one weight"):
        plugin("epr", "mobility", hours=(0.0,) * 24)
    assert plugin("epr", "mobility", outings_per_day=0.0).idle_fields()["rho"] == "with outings_per_day: 0"


SCENARIO = """geodp: 1
name: lives
region: {west: -122.47, south: 37.74, east: -122.39, north: 37.80}
duration_s: 3600
start_time: '12:00'
workers:
  source: {kind: synthetic_city, count: 60}
  mobility: {kind: MOBILITY, places: 200, past_days: 10}
  visit_source: {kind: from_mobility}
tasks: {demand: {kind: poisson, per_hour: 10}}
curator: {mechanism: {kind: uniform_grid, epsilon: 1.0}}
publish: [{kind: prilocation, epsilon: 1.0}]
"""


def test_a_scenario_publishes_the_visits_of_its_lives(tmp_path: Path) -> None:
    (tmp_path / "lives.yaml").write_text(SCENARIO.replace("MOBILITY", "epr"))
    found = geodp.run(tmp_path / "lives.yaml", out=tmp_path / "run")
    assert found.folder.visits.size > 500
    assert (found.folder.metrics["entropy_real_bits"] or 0.0) > 0.5
    wrong = SCENARIO.replace("MOBILITY", "commuter").replace(", places: 200, past_days: 10", "")
    (tmp_path / "wrong.yaml").write_text(wrong)
    with pytest.raises(geodp.errors.ScenarioError, match="needs a mobility that keeps their stays"):
        load_scenario(tmp_path / "wrong.yaml")
