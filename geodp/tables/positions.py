"""Places in a csv or Parquet file, checked and brought into the region: what `table` and `trace` read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.tables import reader
from geodp.tables.first_rows import MOST_LOOKED_AT, FirstRows, row_count
from geodp.tables.notices import notice
from geodp.tables.point_column import PointColumn

_MOST = 0.5  # more than half outside, and more than half inside when swapped: the columns are swapped


@dataclass(frozen=True)
class Columns:
    """Names of a file's columns; a name that is None is not read."""

    lon: str
    lat: str
    worker: str | None = None
    time: str | None = None
    points: PointColumn | None = None
    """Column of points that stands for both `lon` and `lat`."""

    @property
    def numbers(self) -> list[str]:
        """Names of the numeric columns."""
        return [self.lon, self.lat] if self.points is None else []


@dataclass(frozen=True)
class Positions:
    """The rows inside the region, in the file's order."""

    x_m: Array
    y_m: Array
    worker: npt.NDArray[np.int64] | None
    """Number of the worker, counted in order of first appearance; None when the file does not say."""
    time_s: Array | None
    names: Any
    """The file's own name of each worker number (a pyarrow array)."""


def anchored_path(path: str, folder: Path) -> str:
    """Return the path as seen from the folder of the file that names it ('' stays '')."""
    if not path:
        return ""
    try:
        return str(folder.resolve() / Path(path).expanduser())
    except RuntimeError:  # '~somebody' who has no home here
        return str(folder.resolve() / path)


def given_path(path: str, kind: str) -> Path:
    """Return the path, or say that none was given."""
    if not path:
        raise DataError(f"{kind}: no file is given. Set path to a csv or Parquet file.")
    return Path(path)


def read_positions(path: Path, columns: Columns, region: Region, *, most: int | None = None) -> Positions:
    """Read and check a file of places; points outside the region are dropped, and how many is said.

    With `most` reading ends after about so many rows, and nothing is said.
    """
    check = _Check(path, columns, region)
    x, y, time, worker = [], [], [], []
    for batch in _batches(path, columns):
        inside, x_m, y_m = check.look(batch)
        x.append(x_m[inside])
        y.append(y_m[inside])
        if columns.time:
            time.append(batch[columns.time][inside])
        if columns.worker:
            worker.append(batch[columns.worker].filter(inside))
        if most is not None and check.rows >= most:
            break
    if most is None:
        check.conclude()
    code, names = _numbered(worker) if columns.worker else (None, None)
    return Positions(np.concatenate(x), np.concatenate(y), code, np.concatenate(time) if columns.time else None, names)


def _batches(path: Path, columns: Columns) -> Iterator[dict[str, Any]]:
    points = columns.points
    for batch in reader.batches(
        path,
        columns.numbers,
        [columns.worker] if columns.worker else [],
        times=[columns.time] if columns.time else [],
        binary=[] if points is None else [points.name],
    ):
        if points is not None:
            places = points.places(batch.pop(points.name))
            batch |= {columns.lon: places["lon"], columns.lat: places["lat"]}
        yield batch


def look_at_positions(path: Path, columns: Columns, region: Region) -> FirstRows:
    """Check the first rows of a file of places, and say how many of them lie inside the region."""
    check, total = _Check(path, columns, region), row_count(path)
    for batch in _batches(path, columns):
        check.look(batch)
        if check.rows >= MOST_LOOKED_AT:
            break
    else:
        total = float(check.rows)
    check.refuse(whole=total <= check.rows)
    return FirstRows(path, total, check.rows, check.inside)


def read_times(path: Path, column: str) -> Iterator[Array]:
    """Yield the times of a file batch by batch, refusing those that are missing."""
    row = 0
    for batch in reader.batches(path, [], [], times=[column]):
        if not (good := np.isfinite(batch[column])).all():
            where = _row(path, row + int(np.argmin(good)))
            raise DataError(f"{path.name}: column '{column}' holds no time in {where}. Remove or mend such rows.")
        row += good.size
        yield batch[column]


@dataclass
class _Check:
    """What is wrong with the rows read so far; `conclude` says it when all are read."""

    path: Path
    columns: Columns
    region: Region
    rows: int = 0
    inside: int = 0
    swapped: int = 0
    first_bad: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Per problem: how many rows have it, and the first of them."""
    low: Array = field(default_factory=lambda: np.full(2, np.inf))
    high: Array = field(default_factory=lambda: np.full(2, -np.inf))

    def look(self, batch: dict[str, Any]) -> tuple[npt.NDArray[np.bool_], Array, Array]:
        """Check one batch; return which rows lie inside the region, and all rows in metres."""
        lon, lat = batch[self.columns.lon], batch[self.columns.lat]
        known = np.isfinite(lon) & np.isfinite(lat)
        self._note("coordinates", ~known)
        self._note("range", known & ((np.abs(lon) > 180) | (np.abs(lat) > 90)))
        if self.columns.time:
            self._note("time", ~np.isfinite(batch[self.columns.time]))
        if self.columns.worker:
            self._note("worker", reader.is_missing(batch[self.columns.worker]))
        x_m, y_m = self.region.projection.to_m(lon=np.where(known, lon, 0), lat=np.where(known, lat, 0))
        inside = known & self.region.contains(x_m, y_m)
        outside = known & ~inside
        if outside.any():
            swapped = self.region.projection.to_m(lon=lat[outside], lat=lon[outside])
            self.swapped += int(np.count_nonzero(self.region.contains(*swapped)))
        if known.any():
            self.low = np.minimum(self.low, [lon[known].min(), lat[known].min()])
            self.high = np.maximum(self.high, [lon[known].max(), lat[known].max()])
        self.rows += lon.size
        self.inside += int(np.count_nonzero(inside))
        return inside, x_m, y_m

    def _note(self, problem: str, bad: npt.NDArray[np.bool_]) -> None:
        if bad.any():
            count, first = self.first_bad.get(problem, (0, self.rows + int(np.argmax(bad))))
            self.first_bad[problem] = (count + int(np.count_nonzero(bad)), first)

    def conclude(self) -> None:
        """Raise the most telling problem, or say how many points were dropped."""
        self.refuse(whole=True)
        if outside := self.rows - self.inside:
            share = 100 * outside / self.rows
            notice(
                f"{self.path.name}: {outside:,} of {self.rows:,} points ({share:.2g} %) lie outside the region and are "
                "dropped."
            )

    def refuse(self, *, whole: bool) -> None:
        """Raise the most telling problem; where the file goes on, others may yet lie inside."""
        name, columns = self.path.name, self.columns
        if self.rows == 0:
            raise DataError(f"{name}: has column names but no rows")
        self._raise_if("coordinates", f"no {columns.lon} or {columns.lat}")
        outside = self.rows - self.inside
        if outside > _MOST * self.rows and self.swapped > _MOST * self.rows:
            raise DataError(
                f"{name}: {100 * outside / self.rows:.0f} % of points lie outside the region; "
                f"{100 * self.swapped / self.rows:.0f} % would lie inside with lat and lon swapped.\n"
                f"Set lon_column: {columns.lat} and lat_column: {columns.lon}, or mend the file; or is it the region "
                "that is swapped?"
            )
        self._raise_if("range", "a longitude beyond ±180 or a latitude beyond ±90 degrees")
        self._raise_if("time", f"no {columns.time} that can be read (seconds or dates)")
        self._raise_if("worker", f"no {columns.worker}")
        if self.inside == 0 and whole:
            raise DataError(self._nobody_inside())

    def _raise_if(self, problem: str, words: str) -> None:
        if problem in self.first_bad:
            count, first = self.first_bad[problem]
            rows = "1 row has" if count == 1 else f"{count:,} of {self.rows:,} rows have"
            where = _row(self.path, first)
            raise DataError(f"{self.path.name}: {rows} {words}, first in {where}. Remove or mend such rows.")

    def _nobody_inside(self) -> str:
        region = self.region
        area = "polygon" if region.polygon is not None else "box"
        return (
            f"{self.path.name}: none of its {self.rows:,} points lies inside the region, a {area} in "
            f"lon {region.west:g} to {region.east:g}, lat {region.south:g} to {region.north:g}.\n"
            f"The points span lon {self.low[0]:g} to {self.high[0]:g}, "
            f"lat {self.low[1]:g} to {self.high[1]:g}. Check the region, lon_column and lat_column."
        )


def _row(path: Path, index: int) -> str:
    """Say where a row stands: a csv file by its line (the names are line 1), Parquet by its number from 1."""
    return f"line {index + 2}" if ".csv" in path.name.lower() else f"row {index + 1}"


def _numbered(chunks: list[Any]) -> tuple[npt.NDArray[np.int64], Any]:
    """Give the workers numbers from 0 on, in order of first appearance."""
    import pyarrow as pa

    coded = pa.concat_arrays(chunks).dictionary_encode()
    return coded.indices.to_numpy().astype(np.int64), coded.dictionary
