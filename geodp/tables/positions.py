"""Places in a table, checked and brought into the region: what `table`, `trace` and `replay` read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.tables.formats import row_count
from geodp.tables.notices import notice
from geodp.tables.reader import MOST_LOOKED_AT, TableReader
from geodp.tables.row_checks import RegionCheck, RowFaults, check_batches


@dataclass(frozen=True)
class FirstRows:
    """How many rows a file has, and what was seen of the first of them: soon said, however long the file."""

    path: Path
    rows: float
    """Rows of the file: estimated from the length of the first lines of a csv, otherwise stated."""
    looked_at: int = 0
    inside: int = 0
    """Rows, of those looked at, inside the region."""

    @property
    def whole(self) -> bool:
        """Whether every row was looked at."""
        return 0 < self.rows <= self.looked_at

    def sentence(self) -> str:
        """Say it in words."""
        name = self.path.name
        if not self.looked_at:
            return f"{name}: about {self.rows:,.0f} rows"
        share = 100 * self.inside / self.looked_at
        if self.whole:
            return f"{name}: {share:.3g} % of its {self.looked_at:,} rows lie inside the region"
        return (
            f"{name}: {share:.3g} % of the first {self.looked_at:,} rows lie inside the region; it has about "
            f"{self.rows:,.0f}"
        )


@dataclass(frozen=True)
class Fixes:
    """The rows inside the region, in the file's order: where, and where the file says so who and when."""

    x_m: Array
    y_m: Array
    worker: npt.NDArray[np.int64] | None
    """Number of the worker, counted in order of first appearance; None when the file does not say."""
    time_s: Array | None
    names: Any
    """The file's own name of each worker number (a pyarrow array)."""


def require_path(path: str, kind: str) -> Path:
    """Return the path, or say that none was given."""
    if not path:
        raise DataError(f"{kind}: no file is given. Set path to a csv, Parquet, GeoPackage or GeoJSON file.")
    return Path(path)


def read_fixes(table: TableReader, region: Region, *, most: int | None = None) -> Fixes:
    """Read and check a file of places; points outside the region are dropped, and how many is said.

    With `most` reading ends after about so many rows, and nothing is said.
    """
    check, worker, time_s = _Check(table, region), [], []
    x, y = [], []
    for batch, inside, x_m, y_m in check.batches(most):
        x.append(x_m[inside])
        y.append(y_m[inside])
        if table.has("time_s"):
            time_s.append(batch["time_s"][inside])
        if table.has("worker"):
            worker.append(batch["worker"].filter(inside))
    if most is None:
        check.refuse(whole=True)
        check.tell_dropped()
    code, names = _number_names(worker) if worker else (None, None)
    return Fixes(np.concatenate(x), np.concatenate(y), code, np.concatenate(time_s) if time_s else None, names)


def look_at_positions(table: TableReader, region: Region) -> FirstRows:
    """Check the first rows of a file of places, and say how many of them lie inside the region."""
    check, total = _Check(table, region), row_count(table.path)
    for _ in check.batches(MOST_LOOKED_AT):
        pass
    if check.ended:
        total = float(check.places.rows)
    check.refuse(whole=total <= check.places.rows)
    return FirstRows(table.path, total, check.places.rows, check.places.inside)


def read_times(table: TableReader) -> Array:
    """Return all times of a file, refusing those that are missing."""
    alone = replace(table, called={"time_s": table.called["time_s"]}, points=None)
    return np.concatenate([np.empty(0), *(batch["time_s"] for batch in check_batches(alone))])


class _Check:
    """Goes through a file of places, and knows what is wrong with it."""

    def __init__(self, table: TableReader, region: Region) -> None:
        self.table, self.faults, self.places = table, RowFaults(table), RegionCheck(table.path, region)
        self.ended = False

    def batches(self, most: int | None) -> Iterator[tuple[dict[str, Any], npt.NDArray[np.bool_], Array, Array]]:
        """Yield batches with which rows lie inside and all rows in metres, until enough are looked at."""
        for batch in self.table.batches():
            self.faults.look(batch)
            yield batch, *self.places.look(batch["lon"], batch["lat"])
            if most is not None and self.places.rows >= most:
                return
        self.ended = True

    def refuse(self, *, whole: bool) -> None:
        """Raise the most telling problem; where the file goes on, others may yet lie inside."""
        if not self.places.rows:
            raise DataError(f"{self.table.path.name}: has column names but no rows")
        lon, lat = (self.table.called.get(part, part) for part in ("lon", "lat"))
        self.places.refuse_swapped(
            f".\nSet lon_column: {lat} and lat_column: {lon}, or mend the file; or is it the region that is swapped?"
        )
        self.faults.refuse()
        if whole:
            self.places.refuse_elsewhere("the region, lon_column and lat_column")

    def tell_dropped(self) -> None:
        """Say how many points lie outside."""
        rows = self.places.rows
        if outside := rows - self.places.inside:
            notice(
                f"{self.table.path.name}: {outside:,} of {rows:,} points ({100 * outside / rows:.2g} %) lie outside "
                "the region and are dropped."
            )


def _number_names(chunks: list[Any]) -> tuple[npt.NDArray[np.int64], Any]:
    """Give the workers numbers from 0 on, in order of first appearance."""
    import pyarrow as pa

    coded = pa.concat_arrays(chunks).dictionary_encode()
    return coded.indices.to_numpy().astype(np.int64), coded.dictionary
