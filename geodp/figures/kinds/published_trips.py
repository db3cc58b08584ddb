"""Synthetic trips scored while one setting of the publication varies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator

from geodp.figures.kinds import POINT_COLUMNS, FigureKind, Making
from geodp.model import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from geodp.geometry import Region
    from geodp.tables.trajectories.table import Trajectories


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
