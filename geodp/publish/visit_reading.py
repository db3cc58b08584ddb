"""Private visits read as sets: batch by batch, so that memory holds who visited what once, however long the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.privacy.keyed_choice import user_words
from geodp.publish.request import NOTHING_DONE
from geodp.tables.formats import is_table
from geodp.tables.reader import as_text, open_table
from geodp.tables.row_checks import checked_batches
from geodp.tables.visits.histories import Integers, Venues
from geodp.tables.visits.visit_sets import VisitSets, distinct, sets_of_sorted

PARTS = ("user", "venue")
"""Columns of the private data."""
_COMPACT_AT = 1 << 24  # visits that may pile up at least before repeated ones are thrown out
_GATHER_ROWS, _GATHER_BYTES = 1 << 22, 1 << 28


@dataclass(frozen=True)
class ReadVisits:
    """Visits as sets, with private facts about what was left out."""

    sets: VisitSets
    rows: int
    unlisted: int
    """Rows whose venue is not in the public list."""

    def remarks(self) -> tuple[str, ...]:
        """Say what was left out (private: told when simulating only)."""
        listed = self.rows - self.unlisted
        lines = []
        if self.unlisted:
            lines.append(f"{self.unlisted:,} of {self.rows:,} visits are to venues not in the list, left out.")
        if listed > self.sets.venue.size:
            lines.append(f"{listed - self.sets.venue.size:,} visits repeat an earlier one and count once.")
        return tuple(lines)


class VisitCollector:
    """Takes visits batch by batch; users are told apart by name."""

    def __init__(self, venues: Venues) -> None:
        self.venues = venues
        self.rows = self.unlisted = 0
        self._users = UserNumbering()
        self._visits = np.empty(0, dtype=np.int64)  # user × venues + venue, sorted, each once
        self._new: list[Integers] = []
        self._piled = 0

    def add_all(self, batches: Iterable[tuple[Any, Any]]) -> None:
        """Take batches of two pyarrow columns of strings (user, venue), every one complete."""
        with ThreadPoolExecutor(1) as beside:
            for user, venue in _gathered(batches):
                who = beside.submit(self._users.numbers_of, user)  # hashing leaves the other core free
                self._add(self.venues.numbers_of(venue), who)

    def _add(self, number: Integers, who: Future[Integers]) -> None:
        known = number >= 0
        self.rows += number.size
        self.unlisted += int(np.count_nonzero(~known))
        self._new.append(distinct(who.result()[known] * self.venues.size + number[known]))
        self._piled += self._new[-1].size
        if self._piled > max(_COMPACT_AT, self._visits.size):  # seldom enough that sorting stays near-linear
            self._compact()

    def _compact(self) -> None:
        piled = np.concatenate([self._visits, *self._new])
        self._visits, self._new, self._piled = np.empty(0, dtype=np.int64), [], 0
        self._visits = distinct(piled)

    def visits(self) -> tuple[list[str], Integers]:
        """Return the names of all users, and who visited what: user × venues + venue, sorted, each once."""
        self._compact()
        return self._users.names.to_pylist(), self._visits

    def read(self) -> ReadVisits:
        """Return all visits as sets."""
        names, visits = self.visits()
        return ReadVisits(sets_of_sorted(user_words(names), visits, self.venues.size), self.rows, self.unlisted)


class UserNumbering:
    """Numbers users from 0 in the order in which they are first met."""

    def __init__(self) -> None:
        import pyarrow as pa

        self.names = pa.array([], pa.large_string())

    def numbers_of(self, column: Any) -> Integers:
        """Return the number of each name of a pyarrow column of strings; new names get the next ones."""
        import pyarrow as pa
        import pyarrow.compute as pc

        codes = column.dictionary_encode()
        met = codes.dictionary.cast(pa.large_string())
        number = np.array(pc.fill_null(pc.index_in(met, value_set=self.names), -1), dtype=np.int64)
        new = number < 0
        number[new] = len(self.names) + np.arange(np.count_nonzero(new))
        self.names = pa.concat_arrays([self.names, met.filter(pa.array(new))])
        return np.asarray(number[codes.indices.to_numpy()])


def _gathered(batches: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Put small batches together: looking names up has a price per batch, a table of all names known so far."""
    import pyarrow as pa

    held: list[tuple[Any, Any]] = []
    rows = size = 0
    for user, venue in batches:
        held.append((user, venue))
        rows, size = rows + len(user), size + user.nbytes + venue.nbytes
        if rows >= _GATHER_ROWS or size >= _GATHER_BYTES:
            yield tuple(pa.concat_arrays(column) for column in zip(*held, strict=True))
            held, rows, size = [], 0, 0
    if held:
        yield tuple(pa.concat_arrays(column) for column in zip(*held, strict=True))


def visit_files(path: Path) -> list[Path]:
    """Return the files of a path: itself, or the tables of a folder, in the order of their names."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.is_file() and is_table(file))
    if not found:
        raise DataError(f"{path}: the folder holds neither Parquet nor csv files, nor other tables. {NOTHING_DONE}")
    return found


def read_visit_sets(
    path: Path, venues: Venues, *, releasing: bool, called: Mapping[str, str] | None = None
) -> ReadVisits:
    """Read a file (or the files of a folder) of visits: columns user, venue, or what they are called there."""
    collector = VisitCollector(venues)
    files = visit_files(path)
    collector.add_all(batch for file in files for batch in visit_batches(file, releasing=releasing, called=called))
    read = collector.read()
    if not releasing:
        require_visits(path, read.rows, read.rows - read.unlisted)
    return read


def require_visits(path: Path, rows: int, listed: int) -> None:
    """Refuse data without a single visit to a venue of the list."""
    if not rows:
        raise DataError(f"{path.name}: has column names but no visits. {NOTHING_DONE}")
    if not listed:
        raise DataError(
            f"{path.name}: no visit names a venue of the public list: do both files call venues alike? {NOTHING_DONE}"
        )


def venues_of(path: Path, *, releasing: bool, called: Mapping[str, str] | None = None) -> Venues:
    """Return the venues that were visited: derived from private data, hence for simulation only."""
    names: set[str] = set()
    for file in visit_files(path):
        for _, venue in visit_batches(file, releasing=releasing, called=called):
            names.update(venue.unique().to_pylist())
    if not names:
        raise DataError(f"{path.name}: has column names but no visits. {NOTHING_DONE}")
    listed = np.array(sorted(names), dtype=np.object_)
    return Venues(listed, *np.full((2, listed.size), np.nan))


def visit_batches(path: Path, *, releasing: bool, called: Mapping[str, str] | None = None) -> Iterator[tuple[Any, Any]]:
    """Yield users and venues as strings, batch by batch.

    A row that lacks one of them is an error when simulating, and left out when releasing.
    """
    table = open_table(path, PARTS, called=called, releasing=releasing)
    for part in checked_batches(table, total=releasing, what=None):
        yield as_text(part["user"]), as_text(part["venue"])
