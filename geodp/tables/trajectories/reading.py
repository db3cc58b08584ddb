"""Trajectories in files: csv, Parquet or GeoParquet with a row per point, read batch by batch.

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

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.tables import reader
from geodp.tables.point_column import PointColumn, point_column
from geodp.tables.trajectories.table import COLUMNS, Integers, Mask, Names, Trajectories
from geodp.tables.usual_columns import named_columns

_MOST = 0.5  # more than half outside, and more than half inside when swapped: the columns are swapped
LATEST_S = 1e12
"""Beyond this (30,000 years) a number is no time in seconds, and differences of times are no longer exact."""
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
        told = (
            (self.outside, f"{self.outside:,} of {self.points:,} points lie outside the region and are left out."),
            (self.repeated, f"{self.repeated:,} points repeat a time of their trajectory and are left out."),
            (self.unordered, f"{self.unordered:,} points stood after a later one; they are sorted by time."),
            (self.lost, f"{self.lost:,} trajectories lie outside the region altogether."),
            (self.single, f"{self.single:,} trajectories have a single point."),
        )
        return tuple(text for number, text in told if number)


@dataclass(frozen=True, eq=False)
class Points:
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
        x_m, y_m = region.projection.to_m(lon=self.lon, lat=self.lat)
        kept = region.contains(x_m, y_m)
        if not self.releasing:
            self._refuse_elsewhere(kept, region)
        backwards = self._backwards()
        whole = Trajectories.from_points(
            self.people, self.person, self.label, self.time_s, x_m, y_m, labels=self.labels
        )
        inside = whole.inside(region)
        repeated = np.append(False, (np.diff(inside.time_s) == 0) & ~inside.starts[1:])
        result = inside.keeping(~repeated)
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

    def _refuse_elsewhere(self, kept: Mask, region: Region) -> None:
        """Refuse swapped columns and a wrong region."""
        name, outside = self.path.name, ~kept
        swapped = region.contains(*region.projection.to_m(lon=self.lat[outside], lat=self.lon[outside]))
        share, swapped_share = float(outside.mean()), np.count_nonzero(swapped) / self.size
        if share > _MOST and swapped_share > _MOST:
            raise DataError(
                f"{name}: {100 * share:.0f} % of points lie outside the region; {100 * swapped_share:.0f} % would lie "
                "inside with lat and lon swapped, in the columns' names or in the region (west,south,east,north)."
            )
        if not kept.any():
            raise DataError(f"{name}: no point lies inside the region: check the region.")


def read_trajectories(path: Path, region: Region, *, releasing: bool = False) -> tuple[Trajectories, Left]:
    """Read the trajectories of a file that lie inside a region, and say what was left out."""
    return read_points(path, releasing=releasing, name_it="call it '{}' in the file").within(region)


def read_points(
    path: Path,
    *,
    releasing: bool = False,
    called: Mapping[str, str] | None = None,
    name_it: str = "say --column {}=NAME",
) -> Points:
    """Read and check all points of a file; a row that lacks a value is an error, or (`releasing`) left out.

    `called` says what the columns are called in the file where that differs, `name_it` how to say so.
    """
    found = reader.column_names(path)
    named = named_columns(path, COLUMNS, found, called, name_it=name_it)
    points = point_column(path, found, named=(named["lon"], named["lat"]))
    wanted = {part: name for part, name in named.items() if points is None or part not in ("lon", "lat")}
    _require(path, wanted, found, releasing=releasing, name_it=name_it)
    batches = _batches(path, wanted, points, total=releasing)
    return gathered_points(path, batches, releasing=releasing)


def gathered_points(path: Path, batches: Iterable[Mapping[str, Any]], *, releasing: bool = False) -> Points:
    """Check and gather points that were read from a file: user and trajectory as pyarrow arrays, the rest as floats."""
    import pyarrow as pa

    users, labels, parts, row = _Names(), _Names(), [], 0
    for batch in batches:
        if releasing:
            batch = _usable(batch)  # noqa: PLW2901 - what is left of it
        else:
            _refuse_incomplete(path, batch, row)
        row += batch["lon"].size
        codes = users.number(batch["user"]), labels.number(batch["trajectory"])
        parts.append((*codes, batch["time_s"], batch["lon"], batch["lat"]))
    if not row and not releasing:
        raise DataError(f"{path.name}: has column names but no rows.")
    if not parts:
        parts.append((np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0), np.empty(0), np.empty(0)))
    person, label, *numbers = (np.concatenate(column) for column in zip(*parts, strict=True))
    parts.clear()
    pa.default_memory_pool().release_unused()  # Arrow would keep what the batches took: as much again as the points
    people, place = users.sorted()
    return Points(path, releasing, people, labels.all(), place[person].astype(np.int32), label, *numbers)


class _Names:
    """Numbers for names, given in the order of their first appearance over all batches."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}

    def number(self, column: Any) -> Codes:
        coded = column.dictionary_encode()
        known = [self._known.setdefault(name, len(self._known)) for name in coded.dictionary.to_pylist()]
        codes: Codes = np.asarray(known, dtype=np.int32)[coded.indices.to_numpy(zero_copy_only=False)]
        return codes

    def all(self) -> Names:
        names = np.empty(len(self._known), dtype=np.object_)
        names[:] = list(self._known)
        return names

    def sorted(self) -> tuple[Names, Integers]:
        """Return the names in order, and the place of each number in it."""
        names = self.all()
        order = np.argsort(names.astype(str), kind="stable")
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        return names[order], place


def _batches(
    path: Path, named: Mapping[str, str], points: PointColumn | None, *, total: bool
) -> Iterator[dict[str, Any]]:
    numbers, binary = (["lon", "lat"], []) if points is None else ([], [points.name])
    words = ["user", "trajectory"]
    for batch in reader.batches(path, numbers, words, times=["time_s"], binary=binary, called=named, total=total):
        yield batch if points is None else batch | points.places(batch.pop(points.name), total=total)


def _require(path: Path, wanted: Mapping[str, str], found: list[str], *, releasing: bool, name_it: str) -> None:
    part, missing = next(((part, name) for part, name in wanted.items() if name not in found), (None, None))
    if part is None:
        return
    if reader.looks_like_data(found):
        raise DataError(f"{path.name}: the first line holds numbers instead of column names {', '.join(COLUMNS)}.")
    # Not quoted in a release: where the line of names is missing, the first line is where somebody was.
    seen = "" if releasing else f"; found: {', '.join(found)}"
    raise DataError(
        f"{path.name}: no column '{missing}'. A file of trajectories has the columns {', '.join(COLUMNS)}{seen}. "
        f"If it is called otherwise, {name_it.replace('{}', part)}."
    )


def _refuse_incomplete(path: Path, batch: Mapping[str, Any], before: int) -> None:
    """Refuse a batch with a row that lacks a value or lies nowhere on earth, naming the first such row."""
    lon, lat = batch["lon"], batch["lat"]
    with np.errstate(invalid="ignore"):
        swapped = np.count_nonzero((np.abs(lat) > 90) & (np.abs(lon) <= 90)) > _MOST * lat.size
    for fault, bad in _faults(batch).items():
        if bad.any():
            row = before + int(np.argmax(bad))
            where = f"line {row + 2}" if ".csv" in path.name.lower() else f"row {row + 1}"
            advice = "lat and lon look swapped" if swapped and "beyond" in fault else "Remove or mend such rows"
            raise DataError(f"{path.name}: {np.count_nonzero(bad):,} rows have {fault}, first in {where}. {advice}.")


def _usable(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows without a fault."""
    good = ~np.logical_or.reduce(list(_faults(batch).values()))
    words = {name: batch[name].filter(good) for name in ("user", "trajectory")}
    return words | {name: batch[name][good] for name in ("time_s", "lon", "lat")}


def _faults(batch: Mapping[str, Any]) -> dict[str, Mask]:
    """Tell which rows of a batch lack a value, lie nowhere on earth or have no time in seconds, fault by fault."""
    lon, lat = batch["lon"], batch["lat"]
    faults = {f"no {name}": ~np.isfinite(batch[name]) for name in ("time_s", "lon", "lat")}
    faults |= {f"no {name}": reader.is_missing(batch[name]) for name in ("user", "trajectory")}
    with np.errstate(invalid="ignore"):
        faults["a longitude beyond ±180 or a latitude beyond ±90"] = (np.abs(lon) > 180) | (np.abs(lat) > 90)
        faults["a time_s that is no time in seconds"] = np.abs(batch["time_s"]) > LATEST_S
    return faults
