"""Workers who go to work in the morning and home in the evening."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from geodp.geometry import Array, Region
from geodp.model import bound_field
from geodp.world.bounds import GREATEST_SPEED_MPS, LEAST_SPEED_MPS, SO_FAST
from geodp.world.mobility import Mobility
from geodp.world.motion import Floats, Ids, Knots, Motion, Places, blocks, distance_m, join_blocks, round_places
from geodp.world.population import Population

DAY_S = 86_400.0
HOUR_S = 3_600.0
_FURTHEST_SPREADS = 3.0  # departures further from the peak than this many standard deviations are drawn in
_WORKDAYS = 5
_LEAST_STAY_S = HOUR_S  # nobody turns round at the office door
_OPPORTUNITIES = 3  # a missing workplace is the nearest of this many random start places


class Commuter(Mobility):
    """Workers commute between home and work around two daily peaks, and some go out once during the day.

    Departures are normal around the peaks (time of day). Those who do not commute stay at home; both may
    make an errand near where they spend the day. Everyone keeps one speed and goes straight; in a region
    with dents legs may cut across what lies outside it. A worker whose source knows no workplace works at
    the start place of another, the nearest of three drawn at random. With `favourites` errands lead to the same few
    places again and again, with `weekends` nobody works on two days of seven.
    """

    kind: ClassVar[str] = "commuter"

    morning_peak_h: float = Field(default=8.0, ge=0, lt=24)
    """Middle of the departures to work (hour of the day)."""
    evening_peak_h: float = Field(default=17.5, ge=0, lt=24)
    """Middle of the departures home (hour of the day)."""
    peak_spread_h: float = Field(default=1.0, ge=0, le=4)
    """Standard deviation of a departure (hours)."""
    commuting_share: float = Field(default=0.8, ge=0, le=1)
    """Share of the workers who commute."""
    errand_share: float = Field(default=0.3, ge=0, le=1)
    """Probability of an errand between morning and evening."""
    errand_m: float = Field(default=800.0, ge=0, le=1e6)
    """Mean distance of an errand (m)."""
    errand_s: float = Field(default=1800.0, ge=0, le=1e6)
    """Mean time spent at an errand's place (s)."""
    favourites: int = bound_field("they are kept in memory", default=0, ge=0, le=100)
    """Errands lead to so many places of one's own, the first ones more often (rank r with weight 1/r); 0: each leads to
    a place of its own."""
    weekends: bool = False
    """Whether people stay away from work on Saturdays and Sundays; errands then start from home."""
    first_weekday: int = Field(default=0, ge=0, le=6)
    """With weekends: day of the week on which the run begins, 0 is Monday."""
    min_speed_mps: float = bound_field(SO_FAST, default=3.0, ge=LEAST_SPEED_MPS, le=GREATEST_SPEED_MPS)
    """Least speed of a worker (m/s)."""
    max_speed_mps: float = bound_field(SO_FAST, default=12.0, ge=LEAST_SPEED_MPS, le=GREATEST_SPEED_MPS)
    """Greatest speed of a worker (m/s)."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.max_speed_mps < self.min_speed_mps:
            low, high = self.min_speed_mps, self.max_speed_mps
            raise ValueError(f"max_speed_mps must be at least min_speed_mps ({low:g}), got {high:g}")
        if self.evening_peak_h <= self.morning_peak_h:
            raise ValueError(
                f"evening_peak_h must be later than morning_peak_h ({self.morning_peak_h:g}), "
                f"got {self.evening_peak_h:g}"
            )
        return self

    def turns(self, region: Region, duration_s: float) -> float:  # noqa: ARG002 - a day is a day everywhere
        """Return eight points for every day."""
        return 8.0 * (2.0 + duration_s / DAY_S)

    def idle_fields(self) -> dict[str, str]:
        """Return the errands and the commute where there are none."""
        errands = ("errand_m", "errand_s", "favourites")
        found = {} if self.errand_share else dict.fromkeys(errands, "with errand_share: 0")
        found |= {} if self.weekends else {"first_weekday": "without weekends"}
        peaks = ("morning_peak_h", "evening_peak_h")
        return found if self.commuting_share else found | dict.fromkeys(peaks, "with commuting_share: 0")

    def move(
        self, population: Population, region: Region, *, start_s: float, duration_s: float, rng: np.random.Generator
    ) -> Motion:
        """Return everyone's days, cut to the run's time."""
        days = self._days(region, start_s, duration_s)
        return join_blocks(
            self._block(population, block, region, days=days, start_s=start_s, duration_s=duration_s, rng=rng)
            for block in blocks(population.size)
        )

    def _days(self, region: Region, start_s: float, duration_s: float) -> range:
        """Return the days that matter; the one before, when its last trips may end after the run's start."""
        longest_trip_s = math.hypot(region.width_m, region.height_m) / self.min_speed_mps
        spread_h = _FURTHEST_SPREADS * self.peak_spread_h
        at_work_s = (self.morning_peak_h + spread_h) * HOUR_S + longest_trip_s
        leaves_work_s = max((self.evening_peak_h + spread_h) * HOUR_S, at_work_s + _LEAST_STAY_S)
        reaches_into_next_day = leaves_work_s + longest_trip_s > DAY_S + start_s
        return range(-1 if reaches_into_next_day else 0, int((start_s + duration_s) // DAY_S) + 1)

    def _block(
        self,
        population: Population,
        block: slice,
        region: Region,
        *,
        days: range,
        start_s: float,
        duration_s: float,
        rng: np.random.Generator,
    ) -> tuple[Ids, Array, Floats, Floats]:
        people = self._people(population, block, region, rng)
        table = Knots(people.home_x.size)
        free_s = np.full(people.home_x.size, -np.inf)
        resting = people.at_home()
        for day in days:
            midnight_s = day * DAY_S - start_s
            off = self.weekends and (day + self.first_weekday) % 7 >= _WORKDAYS
            today = resting if off else people
            free_s = self._spend_day(today, region, table, midnight_s=midnight_s, free_s=free_s, rng=rng)
        motion = join_blocks([table.columns()]).within(duration_s)
        return np.diff(motion.first), motion.time_s, motion.x_m, motion.y_m

    def _people(self, population: Population, block: slice, region: Region, rng: np.random.Generator) -> _Commuters:
        """Say who of a block lives and works where; those who do not commute spend the day at home."""
        home = round_places(region, population.x_m[block], population.y_m[block])
        if population.work_x_m is None or population.work_y_m is None:
            work = round_places(region, *_nearest_of_some(population, block, rng))
        else:
            work = round_places(region, population.work_x_m[block], population.work_y_m[block])
        commutes = rng.random(home[0].size) < self.commuting_share
        work_x, work_y = np.where(commutes, work[0], home[0]), np.where(commutes, work[1], home[1])
        speed_mps = rng.uniform(self.min_speed_mps, self.max_speed_mps, home[0].size)
        trip_s = distance_m(*home, work_x, work_y) / speed_mps
        east_m, north_m = self._draw_favourites(home[0].size, rng)
        return _Commuters(
            *home, work_x=work_x, work_y=work_y, speed_mps=speed_mps, trip_s=trip_s, east_m=east_m, north_m=north_m
        )

    def _draw_favourites(self, people: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw where everyone's favourite places are, seen from where she spends the day on which she goes there."""
        if not self.favourites:
            return np.empty((people, 0)), np.empty((people, 0))
        angle = rng.uniform(0.0, 2 * math.pi, (people, self.favourites))
        length_m = rng.exponential(self.errand_m, (people, self.favourites))
        return length_m * np.cos(angle), length_m * np.sin(angle)

    def _spend_day(
        self,
        people: _Commuters,
        region: Region,
        table: Knots,
        *,
        midnight_s: float,
        free_s: Array,
        rng: np.random.Generator,
    ) -> Array:
        """Add a day to the timetable: home, work, errand, work, home; return when everyone is home again."""
        count = people.home_x.size
        leave_s = midnight_s + np.maximum(self._around(self.morning_peak_h, count, rng), 0.0)
        leave_s = np.maximum(leave_s, free_s)  # only where a trip takes most of a night
        arrive_s = leave_s + people.trip_s
        return_s = midnight_s + self._around(self.evening_peak_h, count, rng)
        return_s = np.maximum(return_s, arrive_s + _LEAST_STAY_S)
        home_s = return_s + people.trip_s
        goes, out_s, trip_s, stay_s, (errand_x, errand_y) = self._errand(people, arrive_s, return_s, region, rng)
        at_home, at_work, errand = (people.home_x, people.home_y), (people.work_x, people.work_y), (errand_x, errand_y)
        commutes = people.trip_s > 0
        starts = commutes if table.count.any() else np.ones(count, dtype=np.bool_)  # everyone has a first knot
        for time_s, (x_m, y_m), taken in (
            (leave_s, at_home, starts),
            (arrive_s, at_work, commutes),
            (out_s, at_work, goes),
            (out_s + trip_s, errand, goes),
            (out_s + trip_s + stay_s, errand, goes),
            (out_s + 2 * trip_s + stay_s, at_work, goes),
            (return_s, at_work, commutes),
            (home_s, at_home, commutes),
        ):
            table.add(np.flatnonzero(taken), time_s[taken], x_m[taken], y_m[taken])
        return home_s

    def _around(self, peak_h: float, count: int, rng: np.random.Generator) -> Array:
        """Draw departures around a peak (seconds after midnight)."""
        spread = np.clip(rng.standard_normal(count), -_FURTHEST_SPREADS, _FURTHEST_SPREADS)
        return (peak_h + self.peak_spread_h * spread) * HOUR_S

    def _errand(
        self, people: _Commuters, arrive_s: Array, return_s: Array, region: Region, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.bool_], Array, Array, Array, tuple[Places, Places]]:
        """Draw who goes on an errand, when, how long the way and the stay are, and where.

        An errand that would leave the region or outlast the day at work does not take place.
        """
        count = people.home_x.size
        goes = rng.random(count) < self.errand_share
        if self.favourites:
            chance = np.cumsum(1.0 / np.arange(1, self.favourites + 1))
            which = np.searchsorted(chance, rng.random(count) * chance[-1], side="right")
            rows = np.arange(count)
            x_m, y_m = people.work_x + people.east_m[rows, which], people.work_y + people.north_m[rows, which]
        else:
            angle = rng.uniform(0.0, 2 * math.pi, count)
            length_m = rng.exponential(self.errand_m, count)
            x_m, y_m = people.work_x + length_m * np.cos(angle), people.work_y + length_m * np.sin(angle)
        goes &= region.contains(x_m, y_m)
        place = round_places(region, np.where(goes, x_m, people.work_x), np.where(goes, y_m, people.work_y))
        trip_s = distance_m(people.work_x, people.work_y, *place) / people.speed_mps
        stay_s = rng.exponential(self.errand_s, count)
        spare_s = return_s - arrive_s - 2 * trip_s - stay_s
        goes &= spare_s >= 0
        out_s = arrive_s + np.maximum(spare_s, 0.0) * rng.random(count)
        return goes, out_s, trip_s, stay_s, place


@dataclass(frozen=True)
class _Commuters:
    """One block of workers, and where they spend a day."""

    home_x: Places
    home_y: Places
    work_x: Places
    work_y: Places
    speed_mps: Array
    trip_s: Array
    east_m: Array
    """How far east of where she spends the day each favourite place of a worker is (a column each)."""
    north_m: Array

    def at_home(self) -> _Commuters:
        """Return the same people on a day without work; their favourite places stay where they are."""
        east_m = self.east_m + (self.work_x - self.home_x).astype(np.float64)[:, None]
        north_m = self.north_m + (self.work_y - self.home_y).astype(np.float64)[:, None]
        home = (self.home_x, self.home_y)
        return _Commuters(*home, *home, self.speed_mps, np.zeros(self.trip_s.size), east_m, north_m)


def _nearest_of_some(population: Population, block: slice, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw a workplace for each of a block among everyone's start places, with a liking for near ones."""
    home_x, home_y = population.x_m[block], population.y_m[block]
    best_x, best_y, best_m = home_x, home_y, np.full(home_x.size, np.inf)
    for _ in range(_OPPORTUNITIES):
        other = rng.integers(population.size, size=home_x.size)
        x_m, y_m = population.x_m[other], population.y_m[other]
        length_m = np.hypot(x_m - home_x, y_m - home_y)
        nearer = length_m < best_m
        best_x, best_y = np.where(nearer, x_m, best_x), np.where(nearer, y_m, best_y)
        best_m = np.minimum(length_m, best_m)
    return best_x, best_y
