"""What can be wrong with the rows of a table: values that lack, places that are none, columns that are swapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.tables.reader import PLACE, TIMES, TableReader, is_missing

Mask = npt.NDArray[np.bool_]
BEYOND = "a longitude beyond ±180 or a latitude beyond ±90"
LATEST_S = 1e12
"""Beyond this (30,000 years) a number is no time in seconds, and differences of times are no longer exact."""
MOST = 0.5
"""More than half outside, and more than half inside when swapped: the columns are swapped."""


def on_earth(lon: Array, lat: Array) -> Mask:
    """Tell which places lie on earth (missing ones do not)."""
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(lon) <= 180) & (np.abs(lat) <= 90))


def row_faults(table: TableReader, batch: Mapping[str, Any]) -> Iterator[tuple[str, Mask]]:
    """Yield the faults that make rows useless, each with the rows that have it."""
    called = table.called
    if table.placed:
        lon, lat = batch["lon"], batch["lat"]
        known = np.isfinite(lon) & np.isfinite(lat)
        yield f"no {called.get('lon', 'lon')} or {called.get('lat', 'lat')}", ~known
        yield BEYOND, known & ~on_earth(lon, lat)
    for part, name in called.items():
        if part in TIMES:
            yield f"no {name} that can be read (seconds or dates)", ~np.isfinite(batch[part])
            with np.errstate(invalid="ignore"):
                yield f"a {name} that is no time in seconds", np.abs(batch[part]) > LATEST_S
        elif part not in PLACE and part not in table.gaps:
            yield f"no {name}", is_missing(batch[part])


def usable_rows(table: TableReader, batch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of a batch without a fault (reading for a release)."""
    good = ~np.logical_or.reduce([bad for _, bad in row_faults(table, batch)])
    return {part: rows[good] if isinstance(rows, np.ndarray) else rows.filter(good) for part, rows in batch.items()}


@dataclass
class RowFaults:
    """The faults of the rows read so far; `refuse` raises the first of them."""

    table: TableReader
    rows: int = 0
    found: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Per fault: how many rows have it, and the first of them."""
    swapped: int = 0
    """Rows that lie nowhere on earth, and would with longitude and latitude swapped."""

    def look(self, batch: Mapping[str, Any]) -> None:
        """Look at the rows of a batch."""
        for fault, bad in row_faults(self.table, batch):
            if bad.any():
                count, first = self.found.get(fault, (0, self.rows + int(np.argmax(bad))))
                self.found[fault] = (count + int(np.count_nonzero(bad)), first)
            if fault == BEYOND:
                self.swapped += int(np.count_nonzero(bad & (np.abs(batch["lat"]) > 90) & (np.abs(batch["lon"]) <= 90)))
        self.rows += len(next(iter(batch.values())))

    def refuse(self) -> None:
        """Raise the first fault, if there is one, with where it is met first."""
        for fault, (count, first) in self.found.items():
            rows = "1 row has" if count == 1 else f"{count:,} of {self.rows:,} rows have"
            turned = fault == BEYOND and self.swapped > MOST * self.rows
            advice = "lat and lon look swapped" if turned else "Remove or mend such rows"
            raise DataError(f"{self.table.path.name}: {rows} {fault}, first in {self.table.where(first)}. {advice}.")


def check_batches(
    table: TableReader,
    batches: Iterable[dict[str, Any]] | None = None,
    *,
    total: bool = False,
    what: str | None = "rows",
) -> Iterator[dict[str, Any]]:
    """Yield batches of complete rows: one that lacks a value is an error; with `total` it is left out without a word.

    Parameters
    ----------
    table
        The table.
    batches
        Its rows where they are read already.
    total
        Whether no row is an error.
    what
        What a table without rows has none of; None: it may well be empty.
    """
    faults = RowFaults(table)
    for batch in table.batches(total=total) if batches is None else batches:
        if total:
            yield usable_rows(table, batch)
            continue
        faults.look(batch)
        faults.refuse()
        yield batch
    if what is not None and not faults.rows and not total:
        raise DataError(f"{table.path.name}: has column names but no {what}.")


@dataclass
class RegionCheck:
    """How many of the places read so far lie inside a region, and how many would with lon and lat swapped."""

    path: Path
    region: Region
    rows: int = 0
    inside: int = 0
    swapped: int = 0
    low: Array = field(default_factory=lambda: np.full(2, np.inf))
    high: Array = field(default_factory=lambda: np.full(2, -np.inf))

    def look(self, lon: Array, lat: Array) -> tuple[Mask, Array, Array]:
        """Return which of some places lie inside, and all of them in metres."""
        sound = on_earth(lon, lat)
        good = (lon, lat) if sound.all() else (np.where(sound, lon, 0.0), np.where(sound, lat, 0.0))
        x_m, y_m = self.region.projection.to_m(lon=good[0], lat=good[1])
        inside = sound & self.region.contains(x_m, y_m)
        turned = np.flatnonzero(~inside & on_earth(lat, lon))
        if turned.size:
            other = self.region.projection.to_m(lon=lat[turned], lat=lon[turned])
            self.swapped += int(np.count_nonzero(self.region.contains(*other)))
        if sound.any():
            self.low = np.minimum(self.low, [lon[sound].min(), lat[sound].min()])
            self.high = np.maximum(self.high, [lon[sound].max(), lat[sound].max()])
        self.rows += lon.size
        self.inside += int(np.count_nonzero(inside))
        return inside, x_m, y_m

    def refuse_swapped(self, advice: str) -> None:
        """Refuse a file most of whose places lie inside with the columns swapped, and outside as they are."""
        outside = self.rows - self.inside
        if outside > MOST * self.rows and self.swapped > MOST * self.rows:
            raise DataError(
                f"{self.path.name}: {100 * outside / self.rows:.0f} % of points lie outside the region; "
                f"{100 * self.swapped / self.rows:.0f} % would lie inside with lat and lon swapped{advice}"
            )

    def refuse_elsewhere(self, advice: str) -> None:
        """Refuse a file of which nothing lies inside."""
        if self.inside or not self.rows:
            return
        region = self.region
        area = "polygon" if region.polygon is not None else "box"
        raise DataError(
            f"{self.path.name}: none of its {self.rows:,} points lies inside the region, a {area} in "
            f"lon {region.west:g} to {region.east:g}, lat {region.south:g} to {region.north:g}.\n"
            f"The points span lon {self.low[0]:g} to {self.high[0]:g}, "
            f"lat {self.low[1]:g} to {self.high[1]:g}. Check {advice}."
        )
