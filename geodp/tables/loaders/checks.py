"""Checks that every format shares: rows without a value, impossible places, swapped columns, duplicates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError, UsageError
from geodp.streams import GOLDEN, mix_bits
from geodp.tables.loaders import Dropped
from geodp.tables.reader import Numbering, is_missing
from geodp.tables.row_checks import BEYOND, MOST, on_earth

if TYPE_CHECKING:
    import pyarrow as pa


Keys = npt.NDArray[np.uint64]


class SeenRows:
    """Remembers rows by a 64-bit hash; sorted runs are merged pairwise, so n rows cost n log n.

    Two unlike rows share a hash with probability n²/2⁶⁵: one in a million for the 6.4 million rows of Gowalla.
    """

    def __init__(self) -> None:
        self._runs: list[Keys] = []

    def find_repeated(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Tell which rows were seen before, in earlier batches or earlier in this one, and remember all."""
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        again = np.zeros(keys.size, dtype=np.bool_)
        again[order[1:]] = ordered[1:] == ordered[:-1]
        for run in self._runs:
            place = np.minimum(np.searchsorted(run, keys), run.size - 1)
            again |= run[place] == keys
        self._remember(np.unique(ordered))
        return again

    def _remember(self, run: Keys) -> None:
        if not run.size:
            return
        while self._runs and self._runs[-1].size <= 2 * run.size:
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        self._runs.append(run)


def row_keys(columns: Sequence[npt.NDArray[np.int64]]) -> Keys:
    """Mix whole numbers into one 64-bit key per row (splitmix64, column by column)."""
    keys = np.zeros(columns[0].size, dtype=np.uint64)
    for column in columns:
        keys = mix_bits((keys ^ column.astype(np.uint64)) + GOLDEN)
    return keys


Mask = npt.NDArray[np.bool_]
Box = tuple[float, float, float, float]
"""West, south, east and north, degrees."""
NO_TIME = "no time that can be read"
NO_PLACE = "no place that can be read"
NULL_ISLAND = "the place 0, 0: written where none was known"
OUTSIDE = "outside the region"
TWICE = "the same as an earlier row"
MALFORMED = "another number of columns"


class Checker:
    """Leaves unusable rows out of the batches of one file, and counts them.

    Parameters
    ----------
    path
        The file, for messages.
    dropped
        Where rows are counted.
    names
        Columns of words that every row needs.
    key
        Columns that make two rows the same (none: rows may repeat).
    region
        Rows outside are left out; with it, swapped columns are told even where both readings lie on earth.
    places, times
        Whether there are places and times at all.
    whole
        Whether the file is all there is; one of many may lie outside the region altogether, or hold nothing.
    """

    def __init__(
        self,
        path: Path,
        dropped: Dropped,
        *,
        names: Sequence[str],
        key: Sequence[str],
        region: Box | None = None,
        places: bool = True,
        times: bool = True,
        whole: bool = True,
    ) -> None:
        self._path, self._dropped, self._names, self._key, self._region = path, dropped, names, key, region
        self._places, self._times, self._alone, self._swapped = places, times, whole, 0
        self._seen, self._numbers = SeenRows(), {name: Numbering() for name in names}

    def check_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the usable rows of every batch; refuse a file that holds hardly any."""
        for batch in batches:
            yield self._usable(batch)
            if self._dropped.rows >= 1000:
                self._refuse_swapped()
        self._refuse_swapped()
        self._refuse_waste()

    def _usable(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self._dropped.rows += batch.num_rows
        good = np.ones(batch.num_rows, dtype=np.bool_)
        for reason, bad in self._faults(batch):
            self._dropped.drop(reason, int(np.count_nonzero(good & bad)))
            good &= ~bad
        batch = batch.filter(good)
        if not self._key:
            return batch
        again = self._seen.find_repeated(row_keys([self._whole(batch, name) for name in self._key]))
        self._dropped.drop(TWICE, int(np.count_nonzero(again)))
        return batch.filter(~again)

    def _faults(self, batch: pa.RecordBatch) -> Iterator[tuple[str, Mask]]:
        for name in self._names:
            yield f"no {name}", is_missing(batch.column(name))
        if self._times:
            yield NO_TIME, ~np.isfinite(_numbers(batch, "time_s"))
        if not self._places:
            return
        lon, lat = _numbers(batch, "lon"), _numbers(batch, "lat")
        yield NO_PLACE, ~(np.isfinite(lon) & np.isfinite(lat))
        yield NULL_ISLAND, (lon == 0) & (lat == 0)
        sound = on_earth(lon, lat)
        if self._region is None:
            self._swapped += int(np.count_nonzero(~sound & on_earth(lat, lon)))
        yield BEYOND, ~sound
        if self._region is not None:
            inside = _inside(self._region, lon, lat)
            self._swapped += int(np.count_nonzero(~inside & _inside(self._region, lat, lon)))
            yield OUTSIDE, ~inside

    def _whole(self, batch: pa.RecordBatch, name: str) -> npt.NDArray[np.int64]:
        if name in self._numbers:
            return self._numbers[name].number(batch.column(name))
        return _numbers(batch, name).view(np.int64)

    def _refuse_swapped(self) -> None:
        if not self._dropped.lenient and self._swapped > MOST * max(self._dropped.rows, 1):
            where = "on earth" if self._region is None else "inside the region"
            share = 100 * self._swapped / self._dropped.rows
            raise DataError(
                f"{self._path.name}: {share:.0f} % of the rows would lie {where} with lat and lon swapped, and do not "
                "as they are. Swap the two columns."
            )

    def _refuse_waste(self) -> None:
        dropped = self._dropped
        if dropped.lenient:
            return
        if not dropped.rows and self._alone:
            raise DataError(f"{self._path.name}: holds no rows")
        wasted = dropped.total - dropped.reasons.get(TWICE, 0) - dropped.reasons.get(OUTSIDE, 0)
        if wasted > MOST * dropped.rows or (self._alone and not dropped.kept):
            reasons = "; ".join(f"{count:,}: {reason}" for reason, count in dropped.reasons.items())
            raise DataError(
                f"{self._path.name}: {dropped.total:,} of {dropped.rows:,} rows cannot be used ({reasons}). Is the "
                "file in the format that was named?"
            )


def box_of(text: str | None) -> Box | None:
    """Read `W,S,E,N`, degrees."""
    if text is None:
        return None
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"region: write west,south,east,north in degrees, got '{text}'") from None
    if not (west < east and south < north):
        raise UsageError(f"region {text}: west must be less than east, and south less than north")
    return west, south, east, north


def _inside(box: Box, lon: npt.NDArray[np.float64], lat: npt.NDArray[np.float64]) -> Mask:
    west, south, east, north = box
    with np.errstate(invalid="ignore"):
        return np.asarray((lon >= west) & (lon <= east) & (lat >= south) & (lat <= north))


def _numbers(batch: pa.RecordBatch, name: str) -> npt.NDArray[np.float64]:
    return np.asarray(batch.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)
