"""The private visits and the public choices of `geodp publish visits`, as files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from geodp.errors import DataError
from geodp.publish.request import NOTHING_DONE
from geodp.publish.visit_reading import PARTS, name_batches, require_visit_columns
from geodp.visits.histories import Histories, Venues
from geodp.world import columns_file
from geodp.world.usual_columns import find_column


def read_visits(
    path: Path, venues: Venues, *, releasing: bool, columns: Mapping[str, str] | None = None
) -> tuple[Histories, tuple[str, ...]]:
    """Read private visits; those to venues that are not in the public list are left out.

    `columns` names the columns of user and venue where they are called otherwise.
    """
    import pyarrow as pa

    columns = require_visit_columns(path, releasing=releasing, called=columns)
    parts = list(name_batches(path, PARTS, releasing=releasing, called=columns))
    missing = {
        name: np.concatenate([np.empty(0, np.bool_), *(columns_file.is_missing(p[name]) for p in parts)])
        for name in PARTS
    }
    user, venue = (
        pa.chunked_array([pa.array(part[name]).cast(pa.string()) for part in parts], pa.string()) for name in PARTS
    )
    if not len(user):
        raise DataError(f"{path.name}: has column names but no visits. {NOTHING_DONE}")
    for name in PARTS:
        bad = np.flatnonzero(missing[name])
        if bad.size:
            many = "some rows have" if releasing else f"{bad.size:,} rows have"
            raise DataError(f"{path.name}: {many} no {name}, first in row {bad[0] + 1}. {NOTHING_DONE}")
    codes = user.combine_chunks().dictionary_encode()
    names = np.array(codes.dictionary.to_pylist(), dtype=np.object_)
    order = np.argsort(names.astype(str), kind="stable")  # sorted, so that the order of the file tells nothing
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    places = venue.combine_chunks().dictionary_encode()
    number = venues.numbers_of(places.dictionary.to_pylist())[places.indices.to_numpy()]
    known = number >= 0
    if not known.any():
        raise DataError(
            f"{path.name}: no visit names a venue of the public list: do both files call venues alike? {NOTHING_DONE}"
        )
    person = place[np.asarray(codes.indices.to_numpy(), dtype=np.int64)]
    left_out = int(np.count_nonzero(~known))
    remarks = (f"{left_out:,} of {known.size:,} visits are to venues not in the list, left out.",) if left_out else ()
    return Histories(names[order], person[known], number[known]), remarks


def read_personal_levels(path: Path) -> dict[str, str]:
    """Read who wants which level (columns user, level); a user without one, or with an empty one, has the default.

    The choices are public: they are published with the guarantee, and must not depend on where a person was.
    """
    found = columns_file.column_names(path)
    user = find_column(path, "user", found, name_it="call it 'user'") or "user"
    columns_file.require_columns(path, {"user of the levels": user, "level of a user": "level"}, found)
    levels: dict[str, str] = {}
    for part in columns_file.batches(path, [], ["user", "level"], called={"user": user}):
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
