"""Workers who live one life each: home, work, favourites, new places, week after week."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.model import bound_field
from geodp.tables.positions import FirstRows
from geodp.tables.visits.histories import Venues
from geodp.tables.visits.venue_file import read_venues
from geodp.world.bounds import GREATEST_SPEED_MPS, LEAST_SPEED_MPS, SO_FAST
from geodp.world.exploration import DistanceLaw, PlacesToGo, choose_places, find_bases
from geodp.world.lives import LifeRows
from geodp.world.mobility import Mobility, PlaceList
from geodp.world.motion import Floats, Ids, LivedMotion, Motion, Told, join_blocks, round_places
from geodp.world.population import Population
from geodp.world.street_ways import StreetWays, open_network
from geodp.world.visit_sources.generated_visits import CATEGORIES, LEVELS, GeneratedVisits, draw_popularities
from geodp.world.weekly_diaries import DAY_S, WORK, Week, write_diaries

_PEOPLE_PER_BLOCK = 1 << 13
_LISTED = 2_000
_HOURS = (0.6, 0.3, 0.2, 0.2, 0.2, 0.5, 1.5, 3, 4, 4, 4, 5, 7, 6, 4.5, 4.5, 5.5, 8, 9, 8, 6, 4.5, 3, 1.5)


class Epr(Mobility):
    """One life per worker: nights at home, work days, weekends, and outings to old and new places.

    Out of home and work a person explores with probability ρ·S^-γ, S being how many places she has found, and else
    returns to one of her places, the likelier the more often she has been there. New places lie as far away as a
    truncated power law says, from home, work, or wherever she is. Lives begin `past_days` before the run, so that
    favourites are there when it starts; visit source `from_mobility` tells of the same lives. Places are public: those
    of the file `venues`, or made up for the region as `generated_visits` does. Who has no known workplace works where
    the law of distances leads her once. A run begins on the day of the week `first_weekday`.

    Reference
    ---------
    Song et al. 2010, Modelling the scaling properties of human mobility; González et al. 2008 (distances).
    """

    kind: ClassVar[str] = "epr"
    file_fields: ClassVar[tuple[str, ...]] = ("venues", "streets")

    venues: str = ""
    """Public list of places (columns venue, lon, lat; optionally category and a hierarchy); '' makes some up."""
    places: int = bound_field("the list is kept in memory", default=_LISTED, ge=2, le=1_000_000)
    """Number of places that are made up."""
    rho: float = Field(default=0.6, gt=0, le=1)
    """ρ of the probability of exploring, ρ·S^-γ."""
    gamma: float = Field(default=0.21, ge=0, le=2)
    """γ of the probability of exploring."""
    distance_power: float = Field(default=1.75, ge=0, le=5)
    """Power β of the law of distances: density (r + near)^-β·exp(-r / reach)."""
    popularity: float = Field(default=0.9, ge=0, le=3)
    """How unequal places are: popularity falls with the rank, drawn by lot, to this power; 0: all are alike."""
    near_m: float = Field(default=200.0, gt=0, le=1e6)
    """Distance up to which new places are about equally likely (m)."""
    reach_m: float = Field(default=8_000.0, gt=0, le=1e7)
    """Distance beyond which new places become rare (m)."""
    reach_spread: float = Field(default=0.6, ge=0, le=3)
    """How unlike people are: standard deviation of the logarithm of each one's factor of distances."""
    outings_per_day: float = bound_field("every stop is kept", default=1.2, ge=0, le=50)
    """Mean number of outings on a working day."""
    outing_spread: float = Field(default=0.5, ge=0, le=3)
    """Standard deviation of the logarithm of each one's rate of outings."""
    weekend_factor: float = Field(default=1.5, ge=0, le=10)
    """Outings at a weekend's day, over those on a working day."""
    chain: float = Field(default=0.25, ge=0, lt=1)
    """Chance that a stop of an outing is followed by another one."""
    stay_s: float = Field(default=2_400.0, gt=0, le=86_400)
    """Median of the time spent at a stop (s)."""
    stay_spread: float = Field(default=0.9, ge=0, le=3)
    """Standard deviation of the logarithm of that time."""
    hours: tuple[float, ...] = Field(default=_HOURS, min_length=24, max_length=24)
    """How many outings begin in each hour of the day, as 24 weights."""
    commuting_share: float = Field(default=0.7, ge=0, le=1)
    """Share of the workers who go to work from Monday to Friday."""
    morning_peak_h: float = Field(default=8.5, ge=0, lt=24)
    """Middle of the arrivals at work (hour of the day)."""
    evening_peak_h: float = Field(default=17.5, ge=0, lt=24)
    """Middle of the times by which people are home from work (hour of the day)."""
    peak_spread_h: float = Field(default=1.0, ge=0, le=4)
    """Standard deviation of these (hours)."""
    past_days: int = bound_field("all of it is lived", default=28, ge=0, le=1_000)
    """Days of each life before the run."""
    first_weekday: int = Field(default=0, ge=0, le=6)
    """Day of the week on which the run begins: 0 is Monday, 6 Sunday."""
    min_speed_mps: float = bound_field(SO_FAST, default=3.0, ge=LEAST_SPEED_MPS, le=GREATEST_SPEED_MPS)
    """Least pace of a worker (m/s)."""
    max_speed_mps: float = bound_field(SO_FAST, default=12.0, ge=LEAST_SPEED_MPS, le=GREATEST_SPEED_MPS)
    """Greatest pace of a worker (m/s)."""
    streets: str = ""
    """File of public streets (lines) along which people go, `generated` for made-up ones; '': straight on."""

    @field_validator("hours")
    @classmethod
    def _weights(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if min(value) < 0 or sum(value) <= 0:
            raise ValueError("needs at least one weight greater than 0, and none below 0")
        return value

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

    def idle_fields(self) -> dict[str, str]:
        """Return what has no effect without outings or work, and the number of places where a file has them."""
        found = {"places": "with a file of venues"} if self.venues else {}
        if not self.outings_per_day:
            out = ("rho", "gamma", "outing_spread", "weekend_factor", "chain", "stay_s", "stay_spread", "hours")
            found |= dict.fromkeys(out, "with outings_per_day: 0")
        if not self.commuting_share:
            peaks = ("morning_peak_h", "evening_peak_h", "peak_spread_h")
            found |= dict.fromkeys(peaks, "with commuting_share: 0")
        return found

    def files(self) -> list[Path]:
        """Return the files of places and streets, where there are some."""
        return [Path(name) for name in (self.venues, self.streets) if name and name != "generated"]

    def anchor(self, folder: Path) -> Self:
        """Return a copy whose files are found from the given folder; `generated` is no file."""
        anchored = super().anchor(folder)
        return anchored if self.streets != "generated" else anchored.model_copy(update={"streets": self.streets})

    def turns(self, region: Region, duration_s: float) -> float:
        """Return two points for every stay and the corners of streets between them."""
        stays = (2.0 + duration_s / DAY_S) * (2.0 + self.outings_per_day * (1.0 + 1.0 / (1.0 - self.chain)))
        corners = (region.width_m + region.height_m) / 600 if self.streets else 0.0
        return stays * (2.0 + corners)

    def list_places(self) -> PlaceList:
        """Return what is public about the places: those of the file, or of made-up ones."""
        if not self.venues:
            return PlaceList(LEVELS, tuple(CATEGORIES), self.places)
        listed = read_venues(Path(self.venues))
        names = () if listed.category is None else tuple(sorted({str(name) for name in listed.category}))
        return PlaceList(tuple(listed.levels), names, listed.size)

    def look(self, region: Region) -> FirstRows | None:
        """Look at the list of places: some of them must lie in the region."""
        if not self.venues:
            return None
        self._inside(region)
        return FirstRows(Path(self.venues), read_venues(Path(self.venues)).size)

    def move(
        self, population: Population, region: Region, *, start_s: float, duration_s: float, rng: np.random.Generator
    ) -> Motion:
        """Let everyone live up to the end of the run; return the run's time of it, and what visits there were."""
        venues, town = self._lay_out(region, rng)
        ways = StreetWays(open_network(self.streets, region)) if self.streets else None
        days = range(-max(self.past_days, 1), int((start_s + duration_s) // DAY_S) + 1)
        told: list[Told] = []

        def live() -> Iterator[tuple[Ids, Array, Floats, Floats]]:
            for begin in range(0, population.size, _PEOPLE_PER_BLOCK):
                block = slice(begin, min(begin + _PEOPLE_PER_BLOCK, population.size))
                rows = self._live(population, block, region, town, days=days, start_s=start_s, rng=rng)
                if ways is not None:
                    rows = rows.go_along(ways)
                told.append(rows.tell(begin, duration_s))
                yield rows.trace(duration_s, ways)

        motion = join_blocks(live())
        return LivedMotion(motion.first, motion.time_s, motion.x_m, motion.y_m, told=Told.join(told), venues=venues)

    def _inside(self, region: Region) -> Venues:
        """Return the places of the file that lie in the region."""
        listed = read_venues(Path(self.venues))
        if not listed.placed:
            raise DataError(f"{Path(self.venues).name}: mobility 'epr' needs a place (lon, lat) for every venue")
        x_m, y_m = region.projection.to_m(lon=listed.lon, lat=listed.lat)
        inside = region.contains(x_m, y_m)
        if np.count_nonzero(inside) < 2:
            raise DataError(f"{Path(self.venues).name}: fewer than two of its {listed.size:,} venues lie in the region")
        return listed.select(inside)

    def _lay_out(self, region: Region, rng: np.random.Generator) -> tuple[Venues, PlacesToGo]:
        """Return the public places, and what draws people to them."""
        venues = self._inside(region) if self.venues else GeneratedVisits(venues=self.places).lay_out(region, rng)
        x_m, y_m = round_places(region, *region.projection.to_m(lon=venues.lon, lat=venues.lat))
        pull = draw_popularities(venues.size, rng, self.popularity)
        return venues, PlacesToGo(x_m.astype(np.float64), y_m.astype(np.float64), pull)

    def _live(
        self,
        population: Population,
        block: slice,
        region: Region,
        town: PlacesToGo,
        *,
        days: range,
        start_s: float,
        rng: np.random.Generator,
    ) -> LifeRows:
        """Let a block of people live through some days."""
        home = round_places(region, population.x_m[block], population.y_m[block])
        people = home[0].size
        law = DistanceLaw(self.distance_power, self.near_m, self.reach_m, math.hypot(region.width_m, region.height_m))
        reach = np.exp(rng.normal(0.0, self.reach_spread, people)) if self.reach_spread else np.ones(people)
        if population.work_x_m is None or population.work_y_m is None:
            office = town.explore(home[0], home[1], law.draw(people, rng) * reach, rng)
            work = round_places(region, town.x_m[office], town.y_m[office])
        else:
            work = round_places(region, population.work_x_m[block], population.work_y_m[block])
        diary = write_diaries(
            people, self._week(), days, midnight_s=-start_s, first_weekday=self.first_weekday, rng=rng
        )
        base_x, base_y = find_bases(diary, home, work)
        place = choose_places(
            diary, town, bases=(base_x, base_y), rho=self.rho, gamma=self.gamma, law=law, reach=reach, rng=rng
        )
        out = place >= 0
        x_m, y_m = round_places(region, np.where(out, town.x_m[place], base_x), np.where(out, town.y_m[place], base_y))
        near_home, near_work = town.nearest(*home), town.nearest(*work)
        person = diary.person
        venue = np.where(out, place, np.where(diary.kind == WORK, near_work[person], near_home[person]))
        speed_mps = rng.uniform(self.min_speed_mps, self.max_speed_mps, people)
        return LifeRows.time(diary, venue, x_m, y_m, speed_mps)

    def _week(self) -> Week:
        return Week(**{field.name: getattr(self, field.name) for field in fields(Week)})
