"""The private visits and the public choices of `geodp publish visits`, as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.publish.request import NOTHING_DONE
from geodp.publish.visit_reading import PARTS
from geodp.tables.reader import as_text, call_it, open_table, words_of
from geodp.tables.row_checks import checked_batches
from geodp.tables.visits.histories import Histories, Integers, Names, Venues


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
        The file (csv or Parquet).
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
    parts = list(table.batches(total=True) if releasing else checked_batches(table, what="visits"))
    user, venue = (words_of(parts, name) for name in PARTS)
    names = np.array(sorted(user.unique().drop_null().to_pylist() if users is None else users), dtype=np.object_)
    person = _numbers(user, names)
    place = venues.numbers_of(venue)
    known = (person >= 0) & (place >= 0)
    if not releasing and not (place >= 0).any():
        raise DataError(
            f"{path.name}: no visit names a venue of the public list: do both files call venues alike? {NOTHING_DONE}"
        )
    return Histories(names, person[known], place[known]), _left_out(person, place)


def _numbers(column: Any, names: Names) -> Integers:
    """Return the number of each name, -1 for those that have none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(column, value_set=pa.array(names, pa.string()), skip_nulls=True)
    return np.asarray(pc.fill_null(found, -1), dtype=np.int64)


def _left_out(person: Integers, place: Integers) -> tuple[str, ...]:
    """Say what was left out (private: told when simulating only)."""
    unlisted, strangers = np.count_nonzero(place < 0), np.count_nonzero(person < 0)
    told = (
        (unlisted, f"{unlisted:,} of {place.size:,} visits are to venues not in the list, left out."),
        (strangers, f"{strangers:,} of {person.size:,} visits are of people not in the list of users, left out."),
    )
    return tuple(text for number, text in told if number)


def read_users(path: Path) -> list[str]:
    """Read the public list of people (column user): each gets a record in the output, whatever is in the data."""
    names = words_of(list(checked_batches(open_table(path, ["user"]), what="users")), "user").to_pylist()
    if len(set(names)) != len(names):
        raise DataError(f"{path.name}: names a user twice. {NOTHING_DONE}")
    return [str(name) for name in names]


def read_personal_levels(path: Path) -> dict[str, str]:
    """Read who wants which level (columns user, level); a user without one, or with an empty one, has the default.

    The choices are public: they are published with the guarantee, and must not depend on where a person was.
    """
    table = open_table(path, ("user", "level"), gaps=("level",), name_it=call_it)
    levels: dict[str, str] = {}
    for part in checked_batches(table, what=None):
        for user, level in zip(*(as_text(part[name]).to_pylist() for name in ("user", "level")), strict=True):
            if level not in (None, "") and levels.setdefault(user, level) != level:
                raise DataError(f"{path.name}: user '{user}' has two levels, '{levels[user]}' and '{level}'.")
    return levels
