"""Trajectories in files: tables with a row per point.

Memory holds the columns as numbers and one batch of text, however long the file. A row that cannot be used is an error;
with `releasing` it is left out without a word, since a refusal would tell something about the person whose row it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Region
from geodp.tables.reader import NameIt, Numbering, TableReader, call_it, open_table, say_column
from geodp.tables.row_checks import RegionCheck, check_batches
from geodp.tables.trajectories.table import COLUMNS, Names, Trajectories

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Left:
    """What of a file was left out, and why (private: it is computed from the data)."""

    points: int
    """Points in the file."""
    outside: int = 0
    """Points outside the region."""
    repeated: int = 0
    """Points of a trajectory at a time that it already has."""
    unordered: int = 0
    """Points that stood after a later one of their trajectory: kept, and put in their place."""
    lost: int = 0
    """Trajectories of which nothing was left."""
    single: int = 0
    """Trajectories of a single point: kept; they have a place and no way."""

    def remarks(self) -> tuple[str, ...]:
        """Say what was left out, in words."""
        remarks = (
            (self.outside, f"{self.outside:,} of {self.points:,} points lie outside the region and are left out."),
            (self.repeated, f"{self.repeated:,} points repeat a time of their trajectory and are left out."),
            (self.unordered, f"{self.unordered:,} points stood after a later one; they are sorted by time."),
            (self.lost, f"{self.lost:,} trajectories lie outside the region altogether."),
            (self.single, f"{self.single:,} trajectories have a single point."),
        )
        return tuple(text for number, text in remarks if number)


@dataclass(frozen=True, eq=False)
class TrajectoryPoints:
    """All points of a file, checked, in degrees."""

    path: Path
    releasing: bool
    people: Names
    """Names of the people, sorted: the order of the file tells nothing."""
    labels: Names
    person: Codes
    label: Codes
    time_s: Array
    lon: Array
    lat: Array

    @property
    def size(self) -> int:
        """Number of points."""
        return int(self.lon.size)

    def box(self) -> Region:
        """Return the box of all points: derived from private data, hence for simulation only."""
        margin = 1e-6
        return Region(
            float(self.lon.min()) - margin,
            float(self.lat.min()) - margin,
            float(self.lon.max()) + margin,
            float(self.lat.max()) + margin,
        )

    def within(self, region: Region) -> tuple[Trajectories, Left]:
        """Return the trajectories inside the region, in metres, and what was left out."""
        check = RegionCheck(self.path, region)
        kept, x_m, y_m = check.look(self.lon, self.lat)
        if not self.releasing:
            check.refuse_swapped(", in the columns' names or in the region (west,south,east,north).")
            check.refuse_elsewhere("the region")
        backwards = self._backwards()
        whole = Trajectories.from_points(
            people=self.people,
            person=self.person,
            label=self.label,
            time_s=self.time_s,
            x_m=x_m,
            y_m=y_m,
            labels=self.labels,
        )
        inside = whole.inside(region)
        repeated = np.append(False, (np.diff(inside.time_s) == 0) & ~inside.starts[1:])
        result = inside.keep(~repeated)
        left = Left(
            points=self.size,
            outside=int(np.count_nonzero(~kept)),
            repeated=int(np.count_nonzero(repeated)),
            unordered=backwards,
            lost=whole.size - result.size,
            single=int(np.count_nonzero(result.counts == 1)),
        )
        return result, left

    def _backwards(self) -> int:
        """Count the points that stand after a later one of their trajectory, also where trajectories are mixed."""
        if self.releasing:
            return 0  # told to nobody
        key = self.person.astype(np.int64) * self.labels.size + self.label
        change, back = np.diff(key), np.diff(self.time_s) < 0
        if (change >= 0).all() and not (back & (change == 0)).any():
            return 0
        order = np.argsort(key, kind="stable")
        # The rank of a time, lifted by the trajectory's place: one running maximum then serves all trajectories.
        _, rank = np.unique(self.time_s, return_inverse=True)
        lifted = np.cumsum(np.append(0, np.diff(key[order]) != 0)) * self.size + rank[order]
        return int(np.count_nonzero(lifted < np.maximum.accumulate(lifted)))


def read_trajectories(path: Path, region: Region, *, releasing: bool = False) -> tuple[Trajectories, Left]:
    """Read the trajectories of a file that lie inside a region, and say what was left out."""
    return read_points(path, releasing=releasing, name_it=call_it).within(region)


def read_points(
    path: Path,
    *,
    releasing: bool = False,
    called: Mapping[str, str] | None = None,
    name_it: NameIt = say_column,
) -> TrajectoryPoints:
    """Read and check all points of a file; a row that lacks a value is an error, or (`releasing`) left out.

    `called` says what the columns are called in the file where that differs, `name_it` how to say so.
    """
    table = open_table(path, COLUMNS, called=called, name_it=name_it, releasing=releasing)
    return _gather(path, check_batches(table, total=releasing), releasing=releasing)


def gather_points(path: Path, batches: Iterable[dict[str, Any]], *, releasing: bool = False) -> TrajectoryPoints:
    """Check and gather points that a loader read: user and trajectory as pyarrow arrays, the rest as floats."""
    table = TableReader(path, COLUMNS, {name: name for name in COLUMNS})
    return _gather(path, check_batches(table, batches, total=releasing), releasing=releasing)


def _gather(path: Path, batches: Iterator[dict[str, Any]], *, releasing: bool) -> TrajectoryPoints:
    import pyarrow as pa

    users, labels = Numbering(), Numbering()
    parts: list[tuple[Any, ...]] = [(*np.empty((2, 0), dtype=np.int32), *np.empty((3, 0)))]
    for batch in batches:
        codes = users.number(batch["user"]).astype(np.int32), labels.number(batch["trajectory"]).astype(np.int32)
        parts.append((*codes, batch["time_s"], batch["lon"], batch["lat"]))
    person, label, time_s, lon, lat = (np.concatenate(column) for column in zip(*parts, strict=True))
    parts.clear()
    pa.default_memory_pool().release_unused()  # Arrow would keep what the batches took: as much again as the points
    people = _names(users)
    order = np.argsort(people.astype(str), kind="stable")
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.arange(order.size)
    return TrajectoryPoints(
        path=path,
        releasing=releasing,
        people=people[order],
        labels=_names(labels),
        person=place[person],
        label=label,
        time_s=time_s,
        lon=lon,
        lat=lat,
    )


def _names(numbering: Numbering) -> Names:
    names = np.empty(len(numbering.names), dtype=np.object_)
    names[:] = numbering.names
    return names
