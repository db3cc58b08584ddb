"""Published trips and visits, scored while one setting of the publication varies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator

from geodp.errors import DataError
from geodp.figures.kinds import POINT_COLUMNS, FigureKind, Making
from geodp.model import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from geodp.curator.publications._visits_publication import VisitsPublication
    from geodp.geometry import Region
    from geodp.tables.trajectories.table import Trajectories
    from geodp.tables.visits.hierarchy import Hierarchy
    from geodp.tables.visits.histories import Histories, ReleasedVisits, Replacements, Venues


class PublishedTrips(FigureKind):
    """Trips published by several methods, scored while one field of the publication varies.

    Every line is a publication `dpt` by its fields; all lines share trips and luck. Without a file the trips are
    generated.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 12.3.2.
    """

    kind: ClassVar[str] = "published_trips"

    x: str = "epsilon"
    """Field of the publication that varies."""
    values: tuple[float, ...] = (0.1, 1.0, 10.0)
    """Its values."""
    lines: dict[str, dict[str, Any]] = Field(default_factory=lambda: {"geodp": {"variant": "geodp"}})
    """Name of a line → fields of its publication."""
    y: tuple[str, ...] = ("density_jsd",)
    """What is measured: scores of trips."""
    repeats: int = Field(default=2, ge=1)
    """Releases of each, with the same trips and luck of their own."""
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
    """At most so many trips of the file are used, evenly spread."""

    @field_validator("y")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        from geodp.tables.trajectories.scores import SCORES

        for name in value:
            if name not in SCORES:
                raise ValueError(f"no score is called '{name}'.{did_you_mean(name, SCORES)}")
        return value

    def line_names(self) -> tuple[str, ...]:
        """Return the names of the lines."""
        return tuple(self.lines)

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - the panel's settings are filled in already
        """Publish and score every line at every value."""
        import pandas as pd

        from geodp.curator.publications.dpt import Dpt
        from geodp.privacy.noise import SimulatedNoise
        from geodp.streams import Streams
        from geodp.tables.trajectories.scores import SCORES

        real, area = self.held()
        rows: list[tuple[str, str, float, int, float]] = []
        for line, fields in self.lines.items():
            for value in self.values:
                item = Dpt.model_validate({**fields, self.x: value})
                for repeat in range(self.repeats):
                    noise = SimulatedNoise(Streams(repeat).generator("figure.noise"))
                    released = item.release(real, area, noise)
                    scores = {name: SCORES[name](real, released, area) for name in self.y}
                    rows += [(name, line, value, repeat, score) for name, score in scores.items() if score is not None]
        return pd.DataFrame(rows, columns=list(POINT_COLUMNS))

    def held(self) -> tuple[Trajectories, Region]:
        """Return the trips and their public region."""
        import numpy as np

        from geodp.geometry import Region
        from geodp.tables.trajectories.generated_trips import TripSizes, generated_trips

        area = Region(*self.region)
        if self.path:
            return self._loaded(area), area
        sizes = TripSizes(people=self.people, trips=self.trips, points=self.fixes, habit=0.3)
        return generated_trips(sizes, area, np.random.default_rng(1)), area

    def _loaded(self, area: Region) -> Trajectories:
        import numpy as np
        import pandas as pd

        from geodp.tables.trajectories.table import COLUMNS, Trajectories

        frame = pd.read_parquet(self.path, columns=list(self.columns)).set_axis(list(COLUMNS), axis=1)
        lon, lat = frame["lon"] * self.degrees, frame["lat"] * self.degrees
        inside = lon.between(area.west, area.east) & lat.between(area.south, area.north)
        held = Trajectories.from_frame(frame.assign(lon=lon, lat=lat)[inside], area).inside(area)
        rank = np.arange(held.points) - held.first[held.owner]
        held = held.keeping(rank % self.every == 0)
        held = held.chosen(held.counts >= 2)
        step = max(1, -(-held.size // self.most_trips))
        return held.chosen(np.arange(0, held.size, step))


DISTANCE = "distance error DE"
REIDENTIFIED = "people re-identified at the first guess"
NUMBERS = "visits too many or too few per person"
QUANTITIES = (DISTANCE, REIDENTIFIED, NUMBERS)


class PublishedVisits(FigureKind):
    """Visits published by several methods, scored while one field of the publication varies.

    Every line is a publication (`kind` and fields); one that lacks the field is drawn level. All lines share visits and
    luck. Without files the visits are generated.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 12.4.5 (figure 12.7).
    """

    kind: ClassVar[str] = "published_visits"

    x: str = "epsilon"
    """Field of the publication that varies."""
    values: tuple[float, ...] = (0.1, 0.5, 1.0)
    """Its values."""
    lines: dict[str, dict[str, Any]] = Field(default_factory=lambda: {"prilocation": {"kind": "prilocation"}})
    """Name of a line → its publication; `people` limits how many people are published."""
    y: tuple[str, ...] = (DISTANCE,)
    """What is measured."""
    repeats: int = Field(default=3, ge=1)
    """Releases of each, with the same visits and luck of their own."""
    people: int = Field(default=300, ge=1)
    """People: generated, or at most so many of the file (every so-manieth, by name)."""
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

    @field_validator("y")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in QUANTITIES:
                raise ValueError(f"nothing is called '{name}'.{did_you_mean(name, QUANTITIES)}")
        return value

    def line_names(self) -> tuple[str, ...]:
        """Return the names of the lines."""
        return tuple(self.lines)

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - the panel's settings are filled in already
        """Publish and score every line at every value."""
        import pandas as pd

        from geodp.tables.visits.hierarchy import hierarchy_of

        histories, venues = self._loaded() if self.visits_path else self._generated()
        hierarchy = hierarchy_of(venues, self.levels)
        rows: list[tuple[str, str, float, int, float]] = []
        for line, fields in self.lines.items():
            own = _first_people(histories, int(fields.get("people", self.people)))
            for repeat in range(self.repeats):
                known: dict[str, dict[str, float]] = {}
                for value in self.values:
                    item = self._publication(fields, value)
                    key = item.model_dump_json()
                    if key not in known:
                        known[key] = self._scores(item, own, venues, hierarchy, repeat)
                    rows += [(name, line, value, repeat, score) for name, score in known[key].items()]
        return pd.DataFrame(rows, columns=list(POINT_COLUMNS))

    def _publication(self, fields: dict[str, Any], value: float) -> VisitsPublication:
        from geodp.registry import find

        plain = {key: entry for key, entry in fields.items() if key not in ("kind", "people")}
        cls: Any = find(str(fields.get("kind", "prilocation")), "publication")
        if self.x in cls.model_fields:
            plain[self.x] = int(value) if cls.model_fields[self.x].annotation is int else value
        made: VisitsPublication = cls.model_validate(plain)
        return made

    def _scores(
        self, item: VisitsPublication, histories: Histories, venues: Venues, hierarchy: Hierarchy, repeat: int
    ) -> dict[str, float]:
        """Publish once; the stream is the same for all lines and values, so that they share their luck."""
        import numpy as np

        from geodp.privacy.noise import SimulatedNoise
        from geodp.streams import Streams
        from geodp.tables.visits.visit_scores import count_error, distance_errors, matched

        noise = SimulatedNoise(Streams(repeat).generator("figure.noise"))
        released, truth = item.release_with_truth(histories, venues, noise)
        wide = item.sensitivities_m(histories.people, hierarchy)
        measures: dict[str, Callable[[ReleasedVisits, Replacements], float]] = {
            DISTANCE: lambda _, moved: float(np.nanmean(distance_errors(moved, hierarchy, wide))),
            REIDENTIFIED: lambda told, _: matched(histories, told, venues).share(),
            NUMBERS: lambda told, _: count_error(histories, told),
        }
        return {name: measures[name](released, truth) for name in self.y}

    def _generated(self) -> tuple[Histories, Venues]:
        import numpy as np

        from geodp.tables.visits.generated_visits import Sizes, generated_histories
        from geodp.tables.visits.histories import Venues

        sizes = Sizes(people=self.people, visits=self.mean_visits, venues=self.venues, cities=self.cities)
        histories, venues = generated_histories(sizes, np.random.default_rng(12))
        levels = {name: venues.levels[name] for name in self.levels}
        return histories, Venues(venues.name, venues.lon, venues.lat, levels, venues.category)

    def _loaded(self) -> tuple[Histories, Venues]:
        """Join visits, venues and levels by the name of the venue."""
        import numpy as np

        from geodp.tables.visits.histories import Histories, Venues

        name, levels = self.venue_column, list(self.levels)
        places = _table(self.places_path, [name, "lon", "lat"]).drop_duplicates(name)
        joined = places.merge(_table(self.levels_path, [name, *levels]), on=name).dropna(subset=levels)
        visits = _table(self.visits_path, ["user", name])
        visits = visits[visits[name].isin(joined[name])]
        if visits.empty:
            raise DataError("the figure's files have no visit in common: do they call venues alike?")
        users = np.unique(visits["user"].astype(str))
        chosen = users[np.unique(np.linspace(0, users.size - 1, min(self.people, users.size)).astype(int))]
        visits = visits[visits["user"].astype(str).isin(chosen)]
        people, person = np.unique(visits["user"].astype(str), return_inverse=True)
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
    from geodp.tables.visits.histories import Histories

    if number >= len(histories.people):
        return histories
    kept = histories.person < number
    return Histories(histories.people[:number], histories.person[kept], histories.venue[kept])


def _table(path: str, columns: list[str]) -> pd.DataFrame:
    from pathlib import Path

    import pandas as pd

    from geodp.tables.reader import column_names, require_columns

    require_columns(Path(path), {f"column {name}": name for name in columns}, column_names(Path(path)))
    frame = pd.read_parquet(path) if path.endswith(".parquet") else pd.read_csv(path)
    return frame[columns]
