"""Published files into tables: visits and their venues, or trajectories; in bounded memory, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geodp.datasets.folder import Ending, TableFile, table_folder
from geodp.geometry import EARTH_RADIUS_M, Array
from geodp.tables.loaders import Dropped, Loader
from geodp.tables.loaders._checks import Numbering

if TYPE_CHECKING:
    import pyarrow as pa

_SAME_PLACE_M = 100.0
"""A venue that is stated farther away than this from where it was first is noted."""
_VISIT_COLUMNS = ("user", "venue", "time_s", "lon", "lat")


@dataclass(frozen=True)
class Converted:
    """What was written."""

    files: tuple[Path, ...]
    dropped: Dropped


def convert(source: Path, loader: Loader, out: Path, *, ending: Ending = "parquet", force: bool = False) -> Converted:
    """Write a folder of tables from a published file.

    Visits become `visits` (user, venue, time_s, lon, lat) and `venues` (venue, lon, lat, category), ready for `geodp
    publish visits`; trajectories become `trajectories`. `dropped.json` says what was left out.
    """
    loaded = loader.load(source)
    with table_folder(out, force=force) as folder:
        if loader.loads == "visits":
            _write_visits(loaded.batches, folder, ending, loaded.dropped)
        else:
            with TableFile(folder, "trajectories", ending) as table:
                for batch in loaded:
                    table.write(batch)
        facts = {"source": source.name, "loader": loader.model_dump(mode="json"), **asdict(loaded.dropped)}
        note = "private: computed from the data, do not publish"
        text = json.dumps({"stamp": note, **facts}, indent=2, ensure_ascii=False)
        (folder / "dropped.json").write_text(text + "\n", encoding="utf-8")
        names = sorted(path.name for path in folder.iterdir())
    return Converted(tuple(out / name for name in names), loaded.dropped)


def _write_visits(batches: Iterator[pa.RecordBatch], folder: Path, ending: Ending, dropped: Dropped) -> None:
    venues = VenueList(dropped)
    with TableFile(folder, "visits", ending) as table:
        for batch in batches:
            venues.add(batch)
            table.write(batch.select(list(_VISIT_COLUMNS)))
    if venues.placed:
        with TableFile(folder, "venues", ending) as table:
            table.write(venues.batch())


class VenueList:
    """The venues of a file of visits, each where it was stated first."""

    def __init__(self, dropped: Dropped) -> None:
        self._dropped, self._numbers = dropped, Numbering()
        self._category: list[str | None] = []
        self._first: tuple[Array, Array] = (np.empty(0), np.empty(0))

    @property
    def placed(self) -> bool:
        """Whether the visits hold places."""
        return bool(self._first[0].size) and bool(np.isfinite(self._first[0]).any())

    def add(self, batch: pa.RecordBatch) -> None:
        """Take up the venues of a batch; count rows that place a known venue elsewhere."""
        code = self._numbers.codes(batch.column("venue"))
        lon, lat = (np.asarray(batch.column(name).to_numpy(zero_copy_only=False)) for name in ("lon", "lat"))
        number, row = np.unique(code, return_index=True)
        new = row[number >= self._first[0].size]
        self._first = (np.append(self._first[0], lon[new]), np.append(self._first[1], lat[new]))
        self._category += batch.column("category").take(new).to_pylist()
        away = _apart_m(lon, lat, self._first[0][code], self._first[1][code])
        self._dropped.note("a venue more than 100 m from where it was stated first", int((away > _SAME_PLACE_M).sum()))

    def batch(self) -> pa.RecordBatch:
        """Return venue, lon, lat and, where there are any, category."""
        import pyarrow as pa

        columns: dict[str, pa.Array] = {
            "venue": pa.array(self._numbers.names, pa.string()),
            "lon": pa.array(self._first[0]),
            "lat": pa.array(self._first[1]),
        }
        if any(name is not None for name in self._category):
            columns["category"] = pa.array(self._category, pa.string())
        return pa.record_batch(list(columns.values()), list(columns))


def _apart_m(lon: Array, lat: Array, other_lon: Array, other_lat: Array) -> Array:
    east = np.radians(np.mod(lon - other_lon + 180.0, 360.0) - 180.0) * np.cos(np.radians(lat))
    return np.asarray(EARTH_RADIUS_M * np.hypot(east, np.radians(lat - other_lat)))
