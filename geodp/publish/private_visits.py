"""Private visits: for counts as sets, read batch by batch; for `geodp publish visits` as histories, visit by visit.

Of sets, memory holds who visited what once, however long the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.privacy.keyed_choice import user_words
from geodp.tables.formats import is_table
from geodp.tables.reader import as_text, call_it, open_table, words_of
from geodp.tables.row_checks import check_batches
from geodp.tables.visits.histories import Histories, Integers, Names, Venues
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
            for user, venue in _gather_batches(batches):
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


def _gather_batches(batches: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
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
        raise DataError(f"{path}: the folder holds neither Parquet nor csv files, nor other tables.")
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
        raise DataError(f"{path.name}: has column names but no visits.")
    if not listed:
        raise DataError(f"{path.name}: no visit names a venue of the public list: do both files call venues alike?")


def venues_of(path: Path, *, releasing: bool, called: Mapping[str, str] | None = None) -> Venues:
    """Return the venues that were visited: derived from private data, hence for simulation only."""
    names: set[str] = set()
    for file in visit_files(path):
        for _, venue in visit_batches(file, releasing=releasing, called=called):
            names.update(venue.unique().to_pylist())
    if not names:
        raise DataError(f"{path.name}: has column names but no visits.")
    listed = np.array(sorted(names), dtype=np.object_)
    return Venues(listed, *np.full((2, listed.size), np.nan))


def visit_batches(path: Path, *, releasing: bool, called: Mapping[str, str] | None = None) -> Iterator[tuple[Any, Any]]:
    """Yield users and venues as strings, batch by batch.

    A row that lacks one of them is an error when simulating, and left out when releasing.
    """
    table = open_table(path, PARTS, called=called, releasing=releasing)
    for part in check_batches(table, total=releasing, what=None):
        yield as_text(part["user"]), as_text(part["venue"])


def read_visits(
    path: Path,
    venues: Venues,
    *,
    releasing: bool,
    columns: Mapping[str, str] | None = None,
    users: Sequence[str] | None = None,
) -> tuple[Histories, tuple[str, ...]]:
    """Read private visits; those to venues that are not in the public list, or of people not in theirs, are left out.

    A row that lacks a value is an error when simulating. A release leaves its visit out and keeps the name: whose
    record is emptied stays among the people.

    Parameters
    ----------
    path
        The file.
    venues
        The public list of venues.
    releasing
        Whether rows are read as a total function.
    columns
        What the columns of user and venue are called where that differs.
    users
        The public list of people; None: those whom the file names.
    """
    table = open_table(path, PARTS, called=columns, releasing=releasing)
    parts = list(table.batches(total=True) if releasing else check_batches(table, what="visits"))
    user, venue = (words_of(parts, name) for name in PARTS)
    names = np.array(sorted(user.unique().drop_null().to_pylist() if users is None else users), dtype=np.object_)
    person = _numbers(user, names)
    place = venues.numbers_of(venue)
    known = (person >= 0) & (place >= 0)
    if not releasing:
        require_visits(path, place.size, int(np.count_nonzero(place >= 0)))
    return Histories(names, person[known], place[known]), _describe_left_out(person, place)


def _numbers(column: Any, names: Names) -> Integers:
    """Return the number of each name, -1 for those that have none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(column, value_set=pa.array(names, pa.string()), skip_nulls=True)
    return np.asarray(pc.fill_null(found, -1), dtype=np.int64)


def _describe_left_out(person: Integers, place: Integers) -> tuple[str, ...]:
    """Say what was left out (private: told when simulating only)."""
    unlisted, strangers = np.count_nonzero(place < 0), np.count_nonzero(person < 0)
    remarks = (
        (unlisted, f"{unlisted:,} of {place.size:,} visits are to venues not in the list, left out."),
        (strangers, f"{strangers:,} of {person.size:,} visits are of people not in the list of users, left out."),
    )
    return tuple(text for number, text in remarks if number)


def read_users(path: Path) -> list[str]:
    """Read the public list of people (column user): each gets a record in the output, whatever is in the data."""
    names = words_of(list(check_batches(open_table(path, ["user"]), what="users")), "user").to_pylist()
    if len(set(names)) != len(names):
        raise DataError(f"{path.name}: names a user twice.")
    return [str(name) for name in names]


def read_personal_levels(path: Path) -> dict[str, str]:
    """Read who wants which level (columns user, level); a user without one, or with an empty one, has the default.

    The choices are public: they are published with the guarantee, and must not depend on where a person was.
    """
    table = open_table(path, ("user", "level"), gaps=("level",), name_it=call_it)
    levels: dict[str, str] = {}
    for part in check_batches(table, what=None):
        for user, level in zip(*(as_text(part[name]).to_pylist() for name in ("user", "level")), strict=True):
            if level not in (None, "") and levels.setdefault(user, level) != level:
                raise DataError(f"{path.name}: user '{user}' has two levels, '{levels[user]}' and '{level}'.")
    return levels
