"""The private visits and the public choices of `geodp publish visits`, as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.publish.request import NOTHING_DONE
from geodp.publish.visit_reading import PARTS, require_visit_columns
from geodp.tables import reader
from geodp.tables.usual_columns import find_column
from geodp.tables.visits.histories import Histories, Integers, Venues
from geodp.tables.visits.venue_list import as_text


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
    columns = require_visit_columns(path, releasing=releasing, called=columns)
    parts = list(reader.batches(path, (), PARTS, called=columns, total=releasing))
    user, venue = (_gathered(parts, name) for name in PARTS)
    if not releasing:
        _require_rows(path, user, venue)
    names = np.array(sorted(user.unique().drop_null().to_pylist() if users is None else users), dtype=np.object_)
    person = _numbers(user, {name: number for number, name in enumerate(names.tolist())})
    place = _numbers(venue, {name: number for number, name in enumerate(venues.name.tolist())})
    known = (person >= 0) & (place >= 0)
    if not releasing and not (place >= 0).any():
        raise DataError(
            f"{path.name}: no visit names a venue of the public list: do both files call venues alike? {NOTHING_DONE}"
        )
    return Histories(names, person[known], place[known]), _left_out(person, place)


def _gathered(parts: list[dict[str, Any]], name: str) -> Any:
    """Return a column of names as words; null where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nothing = pa.scalar(None, pa.string())
    words = [pc.if_else(reader.is_missing(part[name]), nothing, as_text(part[name])) for part in parts]
    return pa.chunked_array(words, pa.string()).combine_chunks()


def _numbers(column: Any, number: Mapping[str, int]) -> Integers:
    """Return the number of each name, -1 for those that have none."""
    codes = column.dictionary_encode()
    listed = np.array([*(number.get(name, -1) for name in codes.dictionary.to_pylist()), -1], dtype=np.int64)
    return listed[np.asarray(codes.indices.fill_null(listed.size - 1), dtype=np.int64)]


def _require_rows(path: Path, user: Any, venue: Any) -> None:
    """Refuse a file without visits, and rows that lack a value."""
    if not len(user):
        raise DataError(f"{path.name}: has column names but no visits. {NOTHING_DONE}")
    for name, column in zip(PARTS, (user, venue), strict=True):
        bad = np.flatnonzero(np.asarray(column.is_null()))
        if bad.size:
            raise DataError(f"{path.name}: {bad.size:,} rows have no {name}, first in row {bad[0] + 1}. {NOTHING_DONE}")


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
    import pyarrow as pa

    reader.require_columns(path, {"user of the list": "user"}, reader.column_names(path))
    parts = [as_text(part["user"]) for part in reader.batches(path, [], ["user"])]
    names = pa.chunked_array(parts, pa.string()).to_pylist()
    if not names:
        raise DataError(f"{path.name}: has column names but no users. {NOTHING_DONE}")
    if any(name in (None, "") for name in names):
        raise DataError(f"{path.name}: some rows have no user. {NOTHING_DONE}")
    if len(set(names)) != len(names):
        raise DataError(f"{path.name}: names a user twice. {NOTHING_DONE}")
    return [str(name) for name in names]


def read_personal_levels(path: Path) -> dict[str, str]:
    """Read who wants which level (columns user, level); a user without one, or with an empty one, has the default.

    The choices are public: they are published with the guarantee, and must not depend on where a person was.
    """
    found = reader.column_names(path)
    user = find_column(path, "user", found, name_it="call it 'user'") or "user"
    reader.require_columns(path, {"user of the levels": user, "level of a user": "level"}, found)
    levels: dict[str, str] = {}
    for part in reader.batches(path, [], ["user", "level"], called={"user": user}):
        users, wanted = (part[name].cast("string").to_pylist() for name in ("user", "level"))
        for user, level in zip(users, wanted, strict=True):
            if user in (None, ""):
                raise DataError(f"{path.name}: a level without a user. {NOTHING_DONE}")
            if level in (None, ""):
                continue
            if levels.setdefault(user, level) != level:
                raise DataError(
                    f"{path.name}: user '{user}' has two levels, '{levels[user]}' and '{level}'. {NOTHING_DONE}"
                )
    return levels
