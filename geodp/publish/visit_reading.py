"""Private visits read as sets: batch by batch, so that memory holds who visited what once, however long the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.model import did_you_mean
from geodp.publish.reading import is_missing
from geodp.publish.request import NOTHING_DONE
from geodp.visits.histories import Integers
from geodp.visits.venue_list import VenueList, as_text
from geodp.visits.visit_sets import VisitSets, user_words, visit_sets
from geodp.world import columns_file

_COMPACT_EVERY = 1 << 24  # visits that may pile up before repeated ones are thrown out
_LIKE = {
    "user": ("user_id", "userid", "uid", "person", "person_id", "worker"),
    "venue": ("venue_id", "poi", "loc", "location", "location_id", "place", "item"),
}


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

    def __init__(self, venues: VenueList) -> None:
        self.venues = venues
        self.rows = self.unlisted = 0
        self._numbers: dict[str, int] = {}
        self._pairs: list[Integers] = []
        self._piled = 0

    def add(self, user: Any, venue: Any) -> None:
        """Take a batch of two pyarrow columns of strings, every one complete."""
        number = self.venues.numbers_of(venue)
        known = number >= 0
        self.rows += number.size
        self.unlisted += int(np.count_nonzero(~known))
        codes = user.dictionary_encode()
        names = self._numbers
        of_code = np.array(
            [names.setdefault(name, len(names)) for name in codes.dictionary.to_pylist()], dtype=np.int64
        )
        who = of_code[np.asarray(codes.indices, dtype=np.int64)]
        self._pairs.append(np.unique(who[known] * self.venues.size + number[known]))
        self._piled += self._pairs[-1].size
        if self._piled > _COMPACT_EVERY:
            self._compact()

    def _compact(self) -> None:
        self._pairs = [np.unique(np.concatenate(self._pairs))] if self._pairs else []
        self._piled = 0

    def visits(self) -> tuple[list[str], Integers, Integers]:
        """Return the names of all users, and who visited what, each once, by number."""
        self._compact()
        pair = self._pairs[0] if self._pairs else np.empty(0, dtype=np.int64)
        size = max(self.venues.size, 1)
        return list(self._numbers), pair // size, pair % size

    def read(self) -> ReadVisits:
        """Return all visits as sets."""
        names, who, where = self.visits()
        return ReadVisits(visit_sets(user_words(names), who, where, self.venues.size), self.rows, self.unlisted)


def visit_files(path: Path) -> list[Path]:
    """Return the files of a path: itself, or the Parquet and csv files of a folder, in the order of their names."""
    if not path.is_dir():
        return [path]
    endings = columns_file.PARQUET + columns_file.CSV
    found = sorted(file for file in path.rglob("*") if file.is_file() and file.name.lower().endswith(endings))
    if not found:
        raise DataError(f"{path}: the folder holds neither Parquet nor csv files. {NOTHING_DONE}")
    return found


def read_visit_sets(path: Path, venues: VenueList, *, releasing: bool) -> ReadVisits:
    """Read a file (or the files of a folder) of visits: columns user, venue."""
    collector = VisitCollector(venues)
    for file in visit_files(path):
        for user, venue in visit_batches(file, releasing=releasing):
            collector.add(user, venue)
    read = collector.read()
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


def venues_of(path: Path, *, releasing: bool) -> VenueList:
    """Return the venues that were visited: derived from private data, hence for simulation only."""
    import pyarrow as pa

    names: set[str] = set()
    for file in visit_files(path):
        for _, venue in visit_batches(file, releasing=releasing):
            names.update(venue.unique().to_pylist())
    if not names:
        raise DataError(f"{path.name}: has column names but no visits. {NOTHING_DONE}")
    return VenueList(pa.array(sorted(names), pa.string()))


def visit_batches(path: Path, *, releasing: bool) -> Iterator[tuple[Any, Any]]:
    """Yield users and venues as strings, batch by batch; a row that lacks one of them is an error."""
    require_visit_columns(path, releasing=releasing)
    read = 0
    for part in name_batches(path, ["user", "venue"], releasing=releasing):
        for name in ("user", "venue"):
            _require_complete(path, name, part[name], read, releasing=releasing)
        user, venue = as_text(part["user"]), as_text(part["venue"])
        read += len(user)
        yield user, venue


def require_visit_columns(path: Path, *, releasing: bool) -> None:
    """Refuse a file without the columns user and venue.

    When releasing, columns of other names are not quoted: where the line of names is missing, that is a person's visit.
    """
    found = columns_file.column_names(path)
    for name in ("user", "venue"):
        if name in found:
            continue
        lower = {column.lower().strip(): column for column in found}
        other = next((lower[like] for like in (name, *_LIKE[name]) if like in lower), None)
        near = " Name its columns." if releasing else f" Found: {', '.join(found)}.{did_you_mean(name, found)}"
        hint = near if other is None else f" Rename '{other}' to '{name}'."
        raise DataError(f"{path.name}: no column '{name}'.{hint} {NOTHING_DONE}")


def name_batches(path: Path, columns: list[str], *, releasing: bool) -> Iterator[dict[str, Any]]:
    """Yield columns of names batch by batch; when releasing, an error does not quote the row at fault."""
    try:
        yield from columns_file.batches(path, [], columns)
    except DataError as error:
        if not releasing:
            raise
        raise DataError(
            f"{path.name}: cannot be read as a whole csv or Parquet file. With --mode simulate the message quotes what "
            f"is wrong. {NOTHING_DONE}"
        ) from error


def _require_complete(path: Path, name: str, column: Any, before: int, *, releasing: bool) -> None:
    missing = is_missing(column)
    if not missing.any():
        return
    many = "some rows have" if releasing else f"{int(missing.sum()):,} rows or more have"
    row = before + int(np.argmax(missing)) + 1
    where = f"line {row + 1}" if ".csv" in path.name.lower() else f"row {row}"
    raise DataError(f"{path.name}: {many} no {name}, first in {where}. Remove or mend such rows. {NOTHING_DONE}")
