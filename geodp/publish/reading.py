"""Reading private data. What happens to a row that cannot be used depends on the mode.

When simulating, it is an error that counts and quotes. When releasing, it is left out without a word: a refusal, too,
would tell something about the person whose row it is, and nobody pays for that. What is public may still be refused:
the file is not there, its line of column names (or its schema, in Parquet) lacks a column. `geodp check-data` tells the
holder of the data what a release leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Region
from geodp.tables.reader import open_table, say_column
from geodp.tables.row_checks import Mask, RegionCheck, checked_batches


@dataclass(frozen=True)
class Rows:
    """Columns of a private file, every one of them complete."""

    path: Path
    releasing: bool
    numbers: dict[str, Array]
    names: dict[str, Any] = field(default_factory=dict)
    """Columns of words or numbers that name something (pyarrow arrays)."""

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(next(iter(self.numbers.values())).size)

    def codes(self, name: str) -> npt.NDArray[np.int64]:
        """Return the values of a naming column as numbers from 0 on."""
        return np.asarray(self.names[name].dictionary_encode().indices.to_numpy(), dtype=np.int64)

    def chosen(self, keep: Mask) -> Rows:
        """Return some of the rows."""
        numbers = {name: values[keep] for name, values in self.numbers.items()}
        names = {name: values.filter(keep) for name, values in self.names.items()}
        return Rows(self.path, self.releasing, numbers, names)


def read_rows(
    path: Path,
    *,
    numbers: Sequence[str],
    names: Sequence[str] = (),
    releasing: bool,
    called: Mapping[str, str] | None = None,
) -> Rows:
    """Read the columns wanted.

    A row that lacks a value, or lies nowhere on earth, is an error when simulating, and left out when releasing.
    `called` says what columns are called in the file where that differs.
    """
    import pyarrow as pa

    table = open_table(path, (*numbers, *names), called=called, name_it=_name_it, releasing=releasing)
    parts = list(checked_batches(table, total=releasing))
    return Rows(
        path,
        releasing,
        {name: np.concatenate([part[name] for part in parts]) for name in numbers},
        {name: pa.concat_arrays([part[name] for part in parts]) for name in names},
    )


def inside(rows: Rows, region: Region) -> tuple[Mask, Array, Array]:
    """Return which rows lie in the region, and all rows in metres; refuse swapped columns and a wrong region.

    A release refuses nothing: whatever lies outside is left out.
    """
    check = RegionCheck(rows.path, region)
    found = check.look(rows.numbers["lon"], rows.numbers["lat"])
    if not rows.releasing:
        check.refuse_swapped(", in the columns' names or in --region (its order is west,south,east,north).")
        check.refuse_elsewhere("--region")
    return found


def bounding_box(rows: Rows) -> Region:
    """Return the box of all points: derived from private data, hence for simulation only."""
    lon, lat = rows.numbers["lon"], rows.numbers["lat"]
    return Region(float(lon.min()), float(lat.min()), float(lon.max()), float(lat.max()))


def _name_it(part: str) -> str:
    hint = ". Every row a person of its own? Say so: --one-row-per-person" if part == "user" else ""
    return say_column(part) + hint
