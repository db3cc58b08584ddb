"""What all formats of trajectories share: files of a folder, fixes in order, cleaned, cut into trips, and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.errors import DataError
from geodp.geometry import Array
from geodp.storage.files import is_regular
from geodp.tables.loaders import TRAJECTORIES, Dropped, Loaded, Loader
from geodp.tables.loaders.checks import Checker, box_of
from geodp.tables.loaders.text_files import require_file
from geodp.tables.trajectories import cleaning
from geodp.tables.trajectories.table import Integers, Mask

if TYPE_CHECKING:
    import pyarrow as pa


EMPTY = "files without a row"
TRACK = "track"
"""Column of the number of a track: two that share a name and stand side by side are two all the same."""


def files_of(path: Path, pattern: str, *, total: bool) -> list[Path]:
    """Return the file itself, or the files of a folder (and those below it) whose names fit a pattern, in order."""
    if is_regular(path):
        return [path]
    if not path.is_dir():
        raise DataError(f"{path}: no such file or folder")
    found = sorted(file for file in path.rglob(pattern) if file.is_file())
    if not found and not total:
        raise DataError(f"{path}: holds no file called {pattern}")
    return found


def each_file(
    files: list[Path],
    dropped: Dropped,
    read: Callable[[Path, Dropped], Iterator[dict[str, Any]]],
    check: Callable[[Path, Dropped], Checker],
) -> Iterator[pa.RecordBatch]:
    """Yield the checked rows of all files, with a number per track; empty ones are counted when there are others.

    A reader of a single file may number its tracks itself (`TRACK`); otherwise the number is that of the file.
    """
    for number, file in enumerate(files):
        if len(files) > 1 and file.stat().st_size == 0:
            dropped.note(EMPTY, 1)
            continue
        own = Dropped(lenient=dropped.lenient)
        try:
            yield from check(file, own).check_batches(_number_batch(part, number) for part in read(file, own))
        except DataError:
            if not dropped.lenient:  # a file is often one person's: what is wrong with it is nobody else's business
                raise
        dropped.rows += own.rows
        for reason, count in own.reasons.items():
            dropped.drop(reason, count)
        for what, count in own.notes.items():
            dropped.note(what, count)


def _number_batch(part: dict[str, Any], number: int) -> pa.RecordBatch:
    import pyarrow as pa

    track = part.get(TRACK, pa.repeat(pa.scalar(number, pa.int64()), len(part["user"])))
    return pa.record_batch([*(part[name] for name in TRAJECTORIES), track], [*TRAJECTORIES, TRACK])


def constant(value: str, count: int) -> Any:
    """Return a column that says the same in every row."""
    import pyarrow as pa

    return pa.repeat(pa.scalar(value, pa.string()), count)


_ROWS_AT_ONCE = 1 << 19
BACKWARDS = "time goes backwards"
REPEATED = "a time that the track already has"
JUMP = "cannot be reached from the fix before: faster than max_speed_mps"
STAY = "part of a stay, between two trips"
SHORT = "trips of fewer fixes than least_points"
REVERSED = "tracks written last fix first: turned round"
ENDLESS = "trips too long to be resampled: they keep their own fixes"
RESAMPLED = "fixes after resampling"


class TrackLoader(Loader):
    """Base of the formats of trajectories: what is cleaned and where trips are cut."""

    loads: ClassVar[Literal["visits", "trajectories"]] = "trajectories"
    track_files: ClassVar[str | None] = None
    """What the files of a folder are called, one or more per person; None: a single file holds everything."""

    region: str | None = None
    """Keep only fixes in `W,S,E,N` (degrees); null keeps all."""
    max_speed_mps: float | None = Field(default=100.0, gt=0)
    """A fix that needs a greater speed (m/s) from the one before is an error and is left out; null keeps all."""
    gap_s: float | None = Field(default=1200.0, gt=0)
    """A new trip begins after a silence longer than this (s); null never cuts."""
    stay_s: float | None = Field(default=600.0, gt=0)
    """Who stays this long (s) within `stay_m` has ended a trip; null never cuts."""
    stay_m: float = Field(default=100.0, gt=0)
    """How far one moves in a stay at most (m)."""
    least_points: int = Field(default=2, ge=1)
    """Trips with fewer fixes are left out."""
    every_s: float | None = Field(default=None, gt=0)
    """Resample trips to a fix every so many seconds, in straight lines; null keeps the fixes."""

    def idle_fields(self) -> dict[str, str]:
        """Return the width of stays where none ends a trip."""
        return {} if self.stay_s is not None else {"stay_m": "without stay_s"}

    def load(self, path: Path, *, total: bool = False) -> Loaded:
        """Open a file or a folder of them."""
        dropped = Dropped(lenient=total)
        return Loaded(self._trips(path, dropped), dropped)

    def rows(self, path: Path, dropped: Dropped) -> Iterator[pa.RecordBatch]:
        """Yield checked rows of the standard table, each track's rows one after the other."""
        if self.track_files is None:
            require_file(path)
            files = [path]
        else:
            files = files_of(path, self.track_files, total=dropped.lenient)
        read = partial(self.fixes, counted=dropped)
        return each_file(files, dropped, read, partial(self.checker, whole=len(files) == 1))

    def fixes(self, file: Path, dropped: Dropped, *, counted: Dropped) -> Iterator[dict[str, Any]]:
        """Yield columns of the standard table from one file.

        `dropped` counts what is wrong with the file, `counted` what is left out of all files by choice.
        """
        raise NotImplementedError

    def checker(self, path: Path, dropped: Dropped, *, whole: bool) -> Checker:
        """Return the check of one file: rows without a place or time, swapped columns."""
        names = ("user", "trajectory")
        return Checker(path, dropped, names=names, key=(), region=box_of(self.region), whole=whole)

    def _trips(self, path: Path, dropped: Dropped) -> Iterator[pa.RecordBatch]:
        trips = 0
        for tracks in _whole_tracks(self.rows(path, dropped)):
            batch, number = self._clean_tracks(tracks, dropped)
            trips += number
            yield batch
        if not trips and not dropped.lenient:
            reasons = "; ".join(f"{count:,}: {reason}" for reason, count in dropped.reasons.items())
            raise DataError(f"{path}: no trip is left ({reasons or 'no rows'}).")

    def _clean_tracks(self, tracks: _Tracks, dropped: Dropped) -> tuple[pa.RecordBatch, int]:
        """Return the trips of some tracks, and how many there are."""
        tracks = tracks.turn(cleaning.find_backwards_tracks(tracks.first, tracks.time_s), dropped)
        behind, repeated = cleaning.in_order(tracks.first, tracks.time_s)
        dropped.drop(BACKWARDS, int(np.count_nonzero(behind)))
        dropped.drop(REPEATED, int(np.count_nonzero(repeated)))
        tracks = tracks.keep(~(behind | repeated), tracks.begins)
        if self.max_speed_mps is not None:
            sane = cleaning.without_jumps(tracks.first, tracks.time_s, *tracks.local_m(), self.max_speed_mps)
            dropped.drop(JUMP, int(np.count_nonzero(~sane.kept)))
            tracks = tracks.keep(sane.kept, sane.begins)
        if self.gap_s is not None:
            begins = cleaning.cut_at_gaps(tracks.begins, tracks.time_s, self.gap_s)
            tracks = tracks.keep(np.ones(begins.size, dtype=np.bool_), begins)
        if self.stay_s is not None:
            stays = cleaning.cut_at_stays(
                tracks.first, tracks.time_s, *tracks.local_m(), stay_m=self.stay_m, stay_s=self.stay_s
            )
            dropped.drop(STAY, int(np.count_nonzero(~stays.kept)))
            tracks = tracks.keep(stays.kept, stays.begins)
        short = np.repeat(np.diff(tracks.first) < self.least_points, np.diff(tracks.first))
        dropped.drop(SHORT, int(np.count_nonzero(short)))
        tracks = tracks.keep(~short, tracks.begins)
        if self.every_s is not None:
            tracks = tracks.resample(self.every_s, dropped)
        return tracks.batch(), tracks.first.size - 1


@dataclass(frozen=True, eq=False)
class _Tracks:
    """Some tracks in columns; the parts of one that is cut keep its name until they are written."""

    user: Any
    """Name of each track's person (pyarrow strings)."""
    name: Any
    track: Integers
    """Number of the track that each one is a part of: two that share a name are not parts of one."""
    first: Integers
    time_s: Array
    lon: Array
    lat: Array

    @property
    def begins(self) -> Mask:
        """Whether a row is the first of its track."""
        return cleaning.track_starts(self.first, self.time_s.size)

    def local_m(self) -> tuple[Array, Array]:
        return cleaning.local_m(self.first, self.lon, self.lat)

    def turn(self, which: Integers, dropped: Dropped) -> _Tracks:
        """Return the tracks with some of them sorted by time."""
        if not which.size:
            return self
        order = np.arange(self.time_s.size)
        for track in which:
            rows = slice(self.first[track], self.first[track + 1])
            order[rows] = order[rows][np.argsort(self.time_s[rows], kind="stable")]
        dropped.note(REVERSED, int(np.diff(self.first)[which].sum()))
        columns = self.time_s[order], self.lon[order], self.lat[order]
        return _Tracks(self.user, self.name, self.track, self.first, *columns)

    def keep(self, kept: Mask, begins: Mask) -> _Tracks:
        """Return the rows kept, cut where a part begins."""
        rows, first = cleaning.apply_cuts(kept, begins)
        track = np.searchsorted(self.first, rows[first[:-1]], side="right") - 1
        user, name = self.user.take(track), self.name.take(track)
        return _Tracks(
            user=user,
            name=name,
            track=self.track[track],
            first=first,
            time_s=self.time_s[rows],
            lon=self.lon[rows],
            lat=self.lat[rows],
        )

    def resample(self, every_s: float, dropped: Dropped) -> _Tracks:
        endless = cleaning.too_long(self.first, self.time_s, every_s) if self.time_s.size else np.empty(0, np.bool_)
        dropped.note(ENDLESS, int(np.count_nonzero(endless)))
        first, *columns = cleaning.resample_tracks(self.first, self.time_s, self.lon, self.lat, every_s)
        dropped.note(RESAMPLED, int(columns[0].size))
        return _Tracks(self.user, self.name, self.track, first, *columns)

    def batch(self) -> pa.RecordBatch:
        """Return the rows of the standard table; parts of a track that was cut get `-1`, `-2`, … after its name."""
        import pyarrow as pa

        owner = pa.array(np.repeat(np.arange(self.first.size - 1), np.diff(self.first)))
        columns = [
            self.user.take(owner),
            self._names().take(owner),
            *(pa.array(column, pa.float64()) for column in (self.time_s, self.lon, self.lat)),
        ]
        return pa.record_batch(columns, list(TRAJECTORIES))

    def _names(self) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not len(self.name):
            return self.name
        run = np.cumsum(np.append(True, np.diff(self.track) != 0)) - 1  # the parts of a track stand side by side
        parts = np.bincount(run)
        number = np.arange(run.size) - np.append(0, np.cumsum(parts))[run] + 1
        numbered = pc.binary_join_element_wise(self.name, pa.array(number.astype(str), pa.string()), "-")
        return pc.if_else(pa.array(parts[run] > 1), numbered, self.name)


def _whole_tracks(batches: Iterator[pa.RecordBatch]) -> Iterator[_Tracks]:
    """Gather batches until there is enough, and cut behind the last whole track."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows, enough = 0, _ROWS_AT_ONCE
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows < enough:
            continue
        table = pa.Table.from_batches(waiting).combine_chunks()
        first = _offsets(table)
        cut = int(first[-2])
        if cut:
            yield _tracks(table.slice(0, cut), first[:-1])
            table = table.slice(cut)
        waiting, rows = table.to_batches(), table.num_rows
        enough = max(_ROWS_AT_ONCE, 2 * rows)  # one long track: twice as much before looking anew
    if waiting:
        table = pa.Table.from_batches(waiting).combine_chunks()
        yield _tracks(table, _offsets(table))


def _offsets(table: Any) -> Integers:
    """Return where tracks begin: another person, another name or, where the format tells, another number."""
    changes = np.zeros(table.num_rows, dtype=np.bool_)
    changes[0] = True
    if TRACK in table.schema.names:
        changes[1:] = np.diff(table.column(TRACK).to_numpy()) != 0
    for name in ("user", "trajectory"):
        codes = table.column(name).combine_chunks().dictionary_encode().indices.to_numpy()
        changes[1:] |= np.diff(codes) != 0
    return np.append(np.flatnonzero(changes), table.num_rows).astype(np.int64)


def _tracks(table: Any, first: Integers) -> _Tracks:
    def pick_names(name: str) -> Any:
        return table.column(name).combine_chunks().take(first[:-1])

    columns = (np.asarray(table.column(name).to_numpy(), dtype=np.float64) for name in ("time_s", "lon", "lat"))
    return _Tracks(pick_names("user"), pick_names("trajectory"), np.arange(first.size - 1), first, *columns)
