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

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.publish.request import NOTHING_DONE
from geodp.tables import reader
from geodp.tables.point_column import point_column
from geodp.tables.usual_columns import named_columns

Mask = npt.NDArray[np.bool_]
PLACE = ("lon", "lat")
_MOST = 0.5  # more than half outside, and more than half inside when swapped: the columns are swapped


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

    A row that lacks a value is an error when simulating, and left out when releasing. `called` says what columns are
    called in the file where that differs.
    """
    import pyarrow as pa

    found = reader.column_names(path)
    wanted, called = list(names), named_columns(path, (*numbers, *names), found, called)
    points = point_column(path, found, named=[called[part] for part in PLACE if part in called])
    placed = [] if points is None else [part for part in numbers if part in PLACE]
    _require(path, {part: name for part, name in called.items() if part not in placed}, found, releasing=releasing)
    plain, binary = [part for part in numbers if part not in placed], [] if points is None else [points.name]
    parts = list(reader.batches(path, plain, wanted, binary=binary, called=called, total=releasing))
    if points is not None:
        parts = [part | points.places(part[points.name], total=releasing) for part in parts]
    if not releasing and not sum(len(part[numbers[0]]) for part in parts):
        raise DataError(f"{path.name}: has column names but no rows. {NOTHING_DONE}")
    rows = Rows(
        path,
        releasing,
        {name: np.concatenate([part[name] for part in parts]) for name in numbers},
        {name: pa.concat_arrays([part[name] for part in parts]) for name in wanted},
    )
    if releasing:
        return rows.chosen(_usable(rows))
    for name, values in rows.numbers.items():
        require_all(rows, np.isfinite(values), f"no {name}")
    for name, values in rows.names.items():
        require_all(rows, ~reader.is_missing(values), f"no {name}")
    return rows


def require_all(rows: Rows, good: Mask, fault: str) -> None:
    """Refuse rows that have a fault, naming the first of them."""
    if good.all():
        return
    bad = int(np.count_nonzero(~good))
    where = _row(rows.path, int(np.argmin(good)))
    raise DataError(
        f"{rows.path.name}: {bad:,} of {rows.size:,} rows have {fault}, first in {where}. Remove or mend such rows. "
        f"{NOTHING_DONE}"
    )


def inside(rows: Rows, region: Region) -> tuple[Mask, Array, Array]:
    """Return which rows lie in the region, and all rows in metres; refuse swapped columns and a wrong region.

    A release refuses nothing: whatever lies outside is left out.
    """
    lon, lat = rows.numbers["lon"], rows.numbers["lat"]
    x_m, y_m = region.projection.to_m(lon=lon, lat=lat)
    kept = region.contains(x_m, y_m) & (np.abs(lat) <= 90) & (np.abs(lon) <= 180)
    if not rows.releasing:
        _refuse_elsewhere(rows, region, kept)
    return kept, x_m, y_m


def _refuse_elsewhere(rows: Rows, region: Region, kept: Mask) -> None:
    lon, lat, outside = rows.numbers["lon"], rows.numbers["lat"], ~kept
    swapped = region.contains(*region.projection.to_m(lon=lat[outside], lat=lon[outside]))
    share, swapped_share = outside.mean(), np.count_nonzero(swapped) / rows.size
    if share > _MOST and swapped_share > _MOST:
        raise DataError(
            f"{rows.path.name}: {100 * share:.0f} % of points lie outside the region; {100 * swapped_share:.0f} % "
            f"would lie inside with lat and lon swapped, in the columns' names or in --region (its order is "
            f"west,south,east,north). {NOTHING_DONE}"
        )
    require_all(rows, (np.abs(lon) <= 180) & (np.abs(lat) <= 90), "a longitude beyond ±180 or a latitude beyond ±90")
    if not kept.any():
        raise DataError(f"{rows.path.name}: no point lies inside the region: check --region. {NOTHING_DONE}")


def _usable(rows: Rows) -> Mask:
    """Tell which rows have all that they need, and lie on earth."""
    good = np.ones(rows.size, dtype=np.bool_)
    for values in rows.numbers.values():
        good &= np.isfinite(values)
    for values in rows.names.values():
        good &= ~reader.is_missing(values)
    return good & (np.abs(rows.numbers["lon"]) <= 180) & (np.abs(rows.numbers["lat"]) <= 90)


def bounding_box(rows: Rows) -> Region:
    """Return the box of all points: derived from private data, hence for simulation only."""
    lon, lat = rows.numbers["lon"], rows.numbers["lat"]
    require_all(rows, (np.abs(lon) <= 180) & (np.abs(lat) <= 90), "a longitude beyond ±180 or a latitude beyond ±90")
    return Region(float(lon.min()), float(lat.min()), float(lon.max()), float(lat.max()))


def _require(path: Path, wanted: Mapping[str, str], found: list[str], *, releasing: bool) -> None:
    part, missing = next(((part, name) for part, name in wanted.items() if name not in found), (None, None))
    if part is None:
        return
    if reader.looks_like_data(found):
        raise DataError(f"{path.name}: the first line holds numbers instead of column names. {NOTHING_DONE}")
    hint = " Every row a person of its own? Say so: --one-row-per-person." if part == "user" else ""
    # Not quoted in a release: where the line of names is missing, the first line is where somebody is.
    seen = "" if releasing else f" Found: {', '.join(found)}."
    raise DataError(f"{path.name}: no column '{missing}'.{seen} Name it: --column {part}=COLUMN.{hint} {NOTHING_DONE}")


def _row(path: Path, index: int) -> str:
    """Say where a row stands: a csv file by its line (the names are line 1), Parquet by its number from 1."""
    return f"line {index + 2}" if ".csv" in path.name.lower() else f"row {index + 1}"
