"""What attacks on histories find in real traces: singled out, known again, and found at home."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.attacks.home_work import geometric_median, is_night
from geodp.attacks.markov_linkage import log_likelihoods
from geodp.attacks.slots import SlotTable
from geodp.attacks.top_n import match_sets
from geodp.attacks.traces import Integers
from geodp.attacks.unicity import TraceIndex, draw_points
from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.figures.made_week import CELLS, MadeWeek, middles
from geodp.geometry import Array, Grid, Region

if TYPE_CHECKING:
    import pandas as pd

UNICITY, LINKAGE, HOMES = "people singled out", "people known again", "homes found within 200 m"
RESOLUTIONS = {"an hour, 1 km": (1, 1000.0), "6 hours, 1 km": (6, 1000.0), "a day, 2 km": (24, 2000.0)}
CHAIN, HISTOGRAM, TOP_2, TOP_5 = "Markov chain", "histogram", "2 most visited cells", "5 most visited cells"
NOISY, EXACT = "ln 4 per 200 m", "exact"
Row = tuple[str, str, float, int, float]


@dataclass(frozen=True, eq=False)
class TraceMoments:
    """Who was where when, people by number, in local time."""

    person: Integers
    time_s: Array
    x_m: Array
    y_m: Array
    region: Region

    def take(self, rows: npt.NDArray[np.bool_]) -> TraceMoments:
        """Return some of the rows."""
        return TraceMoments(self.person[rows], self.time_s[rows], self.x_m[rows], self.y_m[rows], self.region)

    def cut(self, hours: int, cell_m: float, people: int) -> SlotTable:
        """Cut into slots of time and cells."""
        cell = Grid.fit(self.region, cell_m).locate(self.x_m, self.y_m)
        inside = cell >= 0
        names = np.array([f"{number:06d}" for number in range(people)])
        slot = np.floor(self.time_s / (3600.0 * hours)).astype(np.int64)
        return SlotTable.of(names, self.person[inside], slot[inside], cell[inside], int(cell.max(initial=0)) + 1)


class TraceAttacks(FigureKind):
    """Attacks on traces of real people, or on a made-up week of people with homes, work and habits.

    `unicity`: share of people of whom a few points of their own, drawn at random, fit one trace alone. `linkage`: the
    later half of everyone's moments, names taken off, given to whose earlier half fits best. `homes`: share of people
    whose home (the geometric median of all their nights) is within 200 m of that of one report a night.

    Reference
    ---------
    [recalled] de Montjoye et al. 2013, Unique in the Crowd; Gambs et al. 2014, De-anonymization attack on geolocated
    data.
    """

    kind: ClassVar[str] = "trace_attacks"

    what: Literal["unicity", "linkage", "homes"] = "unicity"
    """Which attack."""
    path: str | None = None
    """Table of moments (null: a made-up week)."""
    places: str | None = None
    """Table of the places that moments name (null: they state coordinates)."""
    columns: tuple[str, ...] = ("user", "time", "lon", "lat")
    """Columns of person, time (seconds or a time stamp, UTC), and longitude and latitude, or place."""
    place_columns: tuple[str, ...] = ("poi", "lon", "lat")
    """Columns of the places."""
    degrees: float = Field(default=1.0, gt=0)
    """What one unit of longitude and latitude is, in degrees."""
    region: tuple[float, ...] = (10.0, 50.0, 10.14, 50.045)
    """West, south, east, north: what lies outside is left out."""
    utc_offset_h: float = 0.0
    """Hours by which local time is ahead of UTC."""
    people: int = Field(default=1000, ge=2)
    """People at most, those with the most moments."""
    repeats: int = Field(default=4, ge=2)
    """Repetitions with luck of their own."""

    def line_names(self) -> tuple[str, ...] | None:
        """Return the lines of the attack."""
        return {
            "unicity": tuple(RESOLUTIONS),
            "linkage": (CHAIN, HISTOGRAM, TOP_2, TOP_5),
            "homes": (EXACT, NOISY),
        }[self.what]

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Let the attack try, on each repetition."""
        real = None if self.path is None else self._read()
        rows: list[Row] = []
        for repeat in range(self.repeats):
            rng = np.random.default_rng([20, repeat])
            moments = real or make_moments(self.people, rng)
            attack = {"unicity": self._single_out, "linkage": self._link, "homes": self._find_homes}[self.what]
            rows += [(name, line, x, repeat, y) for name, line, x, y in attack(moments, rng)]
        return points_table(rows)

    def _single_out(self, moments: TraceMoments, rng: np.random.Generator) -> Iterator[tuple[str, str, float, float]]:
        people = int(moments.person.max()) + 1
        for line, (hours, cell_m) in RESOLUTIONS.items():
            slots = moments.cut(hours, cell_m, people)
            index = TraceIndex.of(slots)
            for points in (1, 2, 3, 4, 6, 8):
                _, rows = draw_points(slots, np.arange(people), points, rng)
                alone = [index.matches(slots.slot[mine], slots.cell[mine]).size == 1 for mine in rows]
                yield UNICITY, line, float(points), float(np.mean(alone)) if alone else math.nan

    def _link(self, moments: TraceMoments, rng: np.random.Generator) -> Iterator[tuple[str, str, float, float]]:
        people = int(moments.person.max()) + 1
        some = np.sort(rng.permutation(people)[: max(2, people * 4 // 5)])
        chosen = moments.take(np.isin(moments.person, some))
        chosen = TraceMoments(
            np.searchsorted(some, chosen.person), chosen.time_s, chosen.x_m, chosen.y_m, chosen.region
        )
        order = np.lexsort((chosen.time_s, chosen.person))
        first = np.searchsorted(chosen.person[order], np.arange(some.size + 1))
        late = np.zeros(order.size, dtype=np.bool_)
        for number in range(some.size):
            late[order[(first[number] + first[number + 1]) // 2 : first[number + 1]]] = True
        for cell_m in (1000.0, 2000.0):
            before, now = (chosen.take(part).cut(1, cell_m, some.size) for part in (~late, late))
            used, cell = np.unique(np.concatenate([before.cell, now.cell]), return_inverse=True)
            before = SlotTable(before.people, before.person, before.slot, cell[: before.size], used.size)
            now = SlotTable(now.people, now.person, now.slot, cell[before.size :], used.size)
            popularity = before.histograms().sum(axis=0) + 1
            popularity /= popularity.sum()
            for line, length in ((CHAIN, 1), (HISTOGRAM, 0)):
                best = log_likelihoods(before, now, popularity, order=length).argmax(axis=1)
                yield LINKAGE, line, cell_m, float(np.mean(best == np.arange(some.size)))
            for line, number in ((TOP_2, 2), (TOP_5, 5)):
                found = match_sets(before, now, number)
                right = np.asarray(found.weight)[found.target == found.who]
                yield LINKAGE, line, cell_m, float(right.sum() / some.size)

    def _find_homes(self, moments: TraceMoments, rng: np.random.Generator) -> Iterator[tuple[str, str, float, float]]:
        night = is_night(moments.time_s % 86_400 / 3600)
        asleep = moments.take(night)
        dates = np.floor((asleep.time_s + 43_200) / 86_400).astype(np.int64)  # a night belongs to one date
        asked, lasting = (1, 3, 7, 14), 14
        hits: dict[tuple[str, int], list[float]] = {}
        for who in np.unique(asleep.person):
            mine = np.flatnonzero(asleep.person == who)
            nights = np.unique(dates[mine])
            if nights.size < lasting:
                continue
            x, y = asleep.x_m[mine], asleep.y_m[mine]
            home = geometric_median(x, y, np.ones(mine.size))
            rows = np.array([rng.choice(mine[dates[mine] == one]) for one in rng.permutation(nights)[:lasting]])
            radius, angle = rng.gamma(2.0, 200 / math.log(4), lasting), rng.uniform(0, 2 * np.pi, lasting)
            for line, noise in ((EXACT, 0.0), (NOISY, 1.0)):
                east = asleep.x_m[rows] + noise * radius * np.cos(angle)
                north = asleep.y_m[rows] + noise * radius * np.sin(angle)
                for number in asked:
                    guess = geometric_median(east[:number], north[:number], np.ones(number))
                    near = math.hypot(guess[0] - home[0], guess[1] - home[1]) <= 200
                    hits.setdefault((line, number), []).append(float(near))
        for (line, number), found in hits.items():
            yield HOMES, line, float(number), float(np.mean(found))

    def _read(self) -> TraceMoments:
        """Read the moments of the people with the most of them, each place once in ten minutes."""
        import pandas as pd

        from geodp.errors import DataError

        frame = _open(str(self.path))
        if self.places is not None:
            named = _open(self.places)[list(self.place_columns)]
            frame = frame.merge(named, left_on=self.columns[2], right_on=self.place_columns[0], how="inner")
            lon, lat = frame[self.place_columns[1]], frame[self.place_columns[2]]
        else:
            lon, lat = frame[self.columns[2]] * self.degrees, frame[self.columns[3]] * self.degrees
        time = frame[self.columns[1]]
        if not pd.api.types.is_numeric_dtype(time):
            time = (pd.to_datetime(time) - pd.Timestamp(0)).dt.total_seconds()
        region = Region(*self.region)
        inside = np.flatnonzero(
            (lon >= self.region[0]) & (lon <= self.region[2]) & (lat >= self.region[1]) & (lat <= self.region[3])
        )
        if not inside.size:
            raise DataError(f"{self.path}: no moment lies in the region {self.region}.")
        user = frame[self.columns[0]].to_numpy()[inside]
        time_s = time.to_numpy(dtype=np.float64)[inside] + 3600 * self.utc_offset_h
        x, y = region.projection.to_m(lon=lon.to_numpy()[inside], lat=lat.to_numpy()[inside])
        names, person = np.unique(user, return_inverse=True)
        key = person.astype(np.int64)  # one row for a person, ten minutes and a square of 50 m
        for column, step in ((time_s, 600.0), (x, 50.0), (y, 50.0)):
            number = np.floor(column / step).astype(np.int64)
            number -= number.min()
            key = key * (int(number.max()) + 1) + number
        _, rows = np.unique(key, return_index=True)
        busy = np.argsort(-np.bincount(person[rows], minlength=names.size), kind="stable")[: self.people]
        place = np.full(names.size, -1)
        place[np.sort(busy)] = np.arange(busy.size)
        rows = rows[place[person[rows]] >= 0]
        local_s = np.asarray(time_s[rows], dtype=np.float64)
        return TraceMoments(place[person[rows]], local_s, x[rows], y[rows], region)


def _open(path: str) -> pd.DataFrame:
    import pandas as pd

    return pd.read_parquet(path) if path.endswith(".parquet") else pd.read_csv(path)


def make_moments(people: int, rng: np.random.Generator) -> TraceMoments:
    """Return two made-up weeks of people with homes, work and habits, an hour a row."""
    made = MadeWeek.people(people, rng)
    table = np.hstack([made.walk(rng), made.walk(rng)])
    x, y = middles()
    person, hour = np.repeat(np.arange(people), table.shape[1]), np.tile(np.arange(table.shape[1]), people)
    region = Region(10.0, 50.0, 10.14, 50.045)
    west, south, east, north = region.box_m
    to_x, to_y = (east - west) / (x.max() + 500), (north - south) / (y.max() + 500)
    assert table.max() < CELLS  # noqa: S101 - ten by five cells
    cell = table.ravel()
    time_s = (hour * 3600.0).astype(np.float64)
    return TraceMoments(person, time_s, west + x[cell] * to_x, south + y[cell] * to_y, region)
