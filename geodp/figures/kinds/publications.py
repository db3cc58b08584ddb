"""Published trips and visits, scored while one setting of the publication varies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from geodp.errors import DataError, UsageError
from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.geometry import Region
from geodp.model import did_you_mean
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.registry import find, plugin
from geodp.streams import Streams
from geodp.tables.visits.hierarchy import Hierarchy, hierarchy_of
from geodp.tables.visits.histories import Histories, Venues

if TYPE_CHECKING:
    import pandas as pd

    from geodp.curator.visits_publication import VisitsPublication
    from geodp.tables.trajectories.table import Trajectories


class PublishedRecords(FigureKind):
    """Records published by several methods, scored while one field of the publication varies."""

    default_kind: ClassVar[str]
    """The publication of a line that names none."""

    x: str = "epsilon"
    """Field of the publication that varies; a line whose publication lacks it is drawn level."""
    values: tuple[float, ...] = (0.1, 1.0, 10.0)
    """Its values."""
    lines: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Name of a line → its publication (`kind` and fields); `people` limits how many people are published."""
    repeats: int = Field(default=2, ge=1)
    """Releases of each, with the same records and luck of their own."""

    @classmethod
    @abstractmethod
    def quantities(cls) -> Iterable[str]:
        """Return what can be measured."""

    @abstractmethod
    def read_records(self) -> Any:
        """Return the true records, with what is public about them."""

    @abstractmethod
    def scores(self, item: Any, held: Any, people: int | None, noise: Noise) -> Mapping[str, float | None]:
        """Publish the records (of so many people) once, and measure."""

    @field_validator("y", check_fields=False)
    @classmethod
    def _check_quantities(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in cls.quantities():
                raise ValueError(f"no score is called '{name}'.{did_you_mean(name, cls.quantities())}")
        return value

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - the panel's settings are filled in already
        """Publish and score every line at every value; all lines share records and luck."""
        held, rows = self.read_records(), []
        kinds = {line: str(fields.get("kind", self.default_kind)) for line, fields in self.lines.items()}
        varied = {line for line, kind in kinds.items() if self.x in find(kind, "publication").model_fields}
        if not varied:
            raise UsageError(f"x: no line's publication has a field '{self.x}'")
        for line, fields in self.lines.items():
            plain = {key: entry for key, entry in fields.items() if key not in ("kind", "people")}
            for repeat in range(self.repeats):
                known: dict[str, Mapping[str, float | None]] = {}
                for value in self.values:
                    item = plugin(kinds[line], "publication", **plain, **({self.x: value} if line in varied else {}))
                    key = item.model_dump_json()
                    if key not in known:
                        noise = SimulatedNoise(Streams(repeat).generator("figure.noise"))
                        known[key] = self.scores(item, held, fields.get("people"), noise)
                    rows += [(name, line, value, repeat, y) for name, y in known[key].items() if y is not None]
        return points_table(rows)


class PublishedTrips(PublishedRecords):
    """Trips published by several methods, scored while one field of the publication varies.

    Every line is a publication of trips. Without a file the trips are generated.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 12.3.2.
    """

    kind: ClassVar[str] = "published_trips"
    default_kind: ClassVar[str] = "synthetic_trips"

    lines: dict[str, dict[str, Any]] = Field(default_factory=lambda: {"geodp": {"kind": "synthetic_trips"}})
    """Name of a line → its publication (`kind` and fields)."""
    y: tuple[str, ...] = ("density_jsd",)
    """What is measured: scores of trips."""
    people: int = Field(default=4000, ge=1)
    """Generated people."""
    trips: int = Field(default=4000, ge=1)
    """Generated trips."""
    fixes: int = Field(default=80_000, ge=2)
    """Points of all generated trips."""
    region: tuple[float, float, float, float] = (-0.07, -0.07, 0.07, 0.07)
    """West, south, east and north of the public region (degrees)."""
    path: str = ""
    """A Parquet file of real points instead: `columns` name user, trajectory, time, longitude and latitude."""
    columns: tuple[str, str, str, str, str] = ("user", "trajectory", "time_s", "lon", "lat")
    """Columns of the file."""
    degrees: float = Field(default=1.0, gt=0)
    """What one unit of the file's longitudes and latitudes is worth (degrees)."""
    every: int = Field(default=1, ge=1)
    """Of the points of a trip inside the region, every so-manieth is used."""
    most_trips: int = Field(default=20_000, ge=1)
    """Maximum number of trips of the file that are used, evenly spread."""

    @classmethod
    def quantities(cls) -> Iterable[str]:
        """Return the scores of trips."""
        from geodp.run_folder.mobility_scores import ALL_SCORES

        return ALL_SCORES

    def scores(
        self,
        item: Any,
        held: tuple[Trajectories, Region],
        people: int | None,  # noqa: ARG002 - all trips are published
        noise: Noise,
    ) -> dict[str, float | None]:
        """Publish the trips once, and compare."""
        from geodp.run_folder.mobility_scores import ALL_SCORES

        real, area = held
        released = item.release(real, area, noise)
        return {name: ALL_SCORES[name](real, released, area) for name in self.y}

    def read_records(self) -> tuple[Trajectories, Region]:
        """Return the trips and their public region."""
        from geodp.tables.trajectories.generated_trips import TripSizes, generate_trips

        area = Region(*self.region)
        if self.path:
            return self._load_records(area), area
        sizes = TripSizes(people=self.people, trips=self.trips, points=self.fixes, habit=0.3)
        return generate_trips(sizes, area, np.random.default_rng(1)), area

    def _load_records(self, area: Region) -> Trajectories:
        import pandas as pd

        from geodp.tables.trajectories.table import COLUMNS, Trajectories

        frame = pd.read_parquet(self.path, columns=list(self.columns)).set_axis(list(COLUMNS), axis=1)
        lon, lat = frame["lon"] * self.degrees, frame["lat"] * self.degrees
        inside = lon.between(area.west, area.east) & lat.between(area.south, area.north)
        held = Trajectories.from_frame(frame.assign(lon=lon, lat=lat)[inside], area).inside(area)
        rank = np.arange(held.points) - held.first[held.owner]
        held = held.keep(rank % self.every == 0)
        held = held.select(held.counts >= 2)
        step = max(1, -(-held.size // self.most_trips))
        return held.select(np.arange(0, held.size, step))


DISTANCE = "distance error DE"
REIDENTIFIED = "people re-identified at the first guess"
NUMBERS = "visits too many or too few per person"
MOVED = "km from the true place to the published one"
FINEST = "visits in their unit of the finest level"
COARSEST = "visits in their unit of the coarsest level"


class PublishedVisits(PublishedRecords):
    """Visits published by several methods, scored while one field of the publication varies.

    Every line is a publication of visits. Without files the visits are generated.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 12.4.5 (figure 12.7).
    """

    kind: ClassVar[str] = "published_visits"
    default_kind: ClassVar[str] = "prilocation"

    values: tuple[float, ...] = (0.1, 0.5, 1.0)
    """Its values."""
    lines: dict[str, dict[str, Any]] = Field(default_factory=lambda: {"prilocation": {"kind": "prilocation"}})
    """Name of a line → its publication (`kind` and fields); `people` limits how many people are published."""
    y: tuple[str, ...] = (DISTANCE,)
    """What is measured."""
    repeats: int = Field(default=3, ge=1)
    """Releases of each, with the same visits and luck of their own."""
    people: int = Field(default=300, ge=1)
    """People: generated, or the maximum number of people of the file (every so-manieth, by name)."""
    mean_visits: int = Field(default=16, ge=1)
    """Mean number of visits of a generated person."""
    venues: int = Field(default=1500, ge=1)
    """Generated venues."""
    cities: int = Field(default=5, ge=1)
    """Generated cities."""
    levels: tuple[str, ...] = ("city", "street")
    """Levels of the hierarchy, coarsest first."""
    visits_path: str = ""
    """A Parquet or csv file of visits to use instead: columns user and `venue_column`."""
    places_path: str = ""
    """Its venues: `venue_column`, lon, lat."""
    levels_path: str = ""
    """The levels of its venues: `venue_column` and one column per level; venues without one are left out."""
    venue_column: str = "venue"
    """Column that names the venue in all three files."""

    @classmethod
    def quantities(cls) -> Iterable[str]:
        """Return the errors of places and of numbers, and the shares of people found again and of visits that stay."""
        return (DISTANCE, REIDENTIFIED, NUMBERS, MOVED, FINEST, COARSEST)

    def read_records(self) -> tuple[Histories, Venues, Hierarchy]:
        """Return the visits, the venues and their hierarchy."""
        histories, venues = self._load_records() if self.visits_path else self._generate_visits()
        return histories, venues, hierarchy_of(venues, self.levels)

    def scores(
        self, item: VisitsPublication, held: tuple[Histories, Venues, Hierarchy], people: int | None, noise: Noise
    ) -> dict[str, float]:
        """Publish the visits of the first people once, and compare."""
        from geodp.run_folder.visit_scores import (
            count_error,
            distance_errors,
            find_displacements,
            match_people,
            same_unit_share,
        )

        histories, venues, hierarchy = held
        histories = _first_people(histories, self.people if people is None else people)
        released, truth = item.release_with_truth(histories, venues, noise)
        wide = item.sensitivities_m(histories.people, hierarchy)
        measures = {
            DISTANCE: lambda: float(np.nanmean(distance_errors(truth, hierarchy, wide))),
            REIDENTIFIED: lambda: match_people(histories, released, venues).share(),
            NUMBERS: lambda: count_error(histories, released),
            MOVED: lambda: float(find_displacements(truth, hierarchy).mean()) / 1000,
            FINEST: lambda: same_unit_share(truth, hierarchy.units[hierarchy.levels[-1]]),
            COARSEST: lambda: same_unit_share(truth, hierarchy.units[hierarchy.levels[0]]),
        }
        return {name: measures[name]() for name in self.y}

    def _generate_visits(self) -> tuple[Histories, Venues]:
        from geodp.tables.visits.generated_visits import Sizes, generate_histories

        sizes = Sizes(people=self.people, visits=self.mean_visits, venues=self.venues, cities=self.cities)
        histories, venues = generate_histories(sizes, np.random.default_rng(12))
        levels = {name: venues.levels[name] for name in self.levels}
        return histories, Venues(venues.name, venues.lon, venues.lat, levels, venues.category)

    def _load_records(self) -> tuple[Histories, Venues]:
        """Join visits, venues and levels by the name of the venue."""
        name, levels = self.venue_column, list(self.levels)
        places = _table(self.places_path, [name, "lon", "lat"]).drop_duplicates(name)
        joined = places.merge(_table(self.levels_path, [name, *levels]), on=name).dropna(subset=levels)
        visits = _table(self.visits_path, ["user", name])
        visits = visits[visits[name].isin(joined[name])]
        if visits.empty:
            raise DataError("the figure's files have no visit in common: do they call venues alike?")
        visits = visits.assign(user=visits["user"].astype(str))
        users = np.unique(visits["user"])
        chosen = users[np.unique(np.linspace(0, users.size - 1, min(self.people, users.size)).astype(int))]
        visits = visits[visits["user"].isin(chosen)]
        people, person = np.unique(visits["user"], return_inverse=True)
        number = {venue: place for place, venue in enumerate(joined[name])}
        venue = visits[name].map(number).to_numpy(dtype=np.int64)
        public = Venues(
            joined[name].astype(str).to_numpy(dtype=np.object_),
            joined["lon"].to_numpy(dtype=np.float64),
            joined["lat"].to_numpy(dtype=np.float64),
            {level: joined[level].astype(str).to_numpy(dtype=np.object_) for level in levels},
        )
        return Histories(people.astype(np.object_), person.astype(np.int64), venue), public


def _first_people(histories: Histories, number: int) -> Histories:
    """Return the histories of the first people alone."""
    if number >= len(histories.people):
        return histories
    kept = histories.person < number
    return Histories(histories.people[:number], histories.person[kept], histories.venue[kept])


def _table(path: str, columns: list[str]) -> pd.DataFrame:
    import pandas as pd

    from geodp.tables.reader import call_it, open_table

    open_table(Path(path), (), called={name: name for name in columns}, name_it=call_it)
    frame = pd.read_parquet(path) if path.endswith(".parquet") else pd.read_csv(path)
    return frame[columns]
