"""Folders of tables that appear whole or not at all: visits and trips, made up or read from published files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from geodp.errors import OutputError, UsageError
from geodp.flows.generated_pings import PingSizes, generate_pings, make_grid_zones
from geodp.geometry import EARTH_RADIUS_M, Array, Region
from geodp.storage.csv_cells import guard_table
from geodp.storage.folders import whole_folder
from geodp.tables.loaders import Dropped, Loader
from geodp.tables.reader import Numbering
from geodp.tables.trajectories.generated_trips import TripSizes
from geodp.tables.visits.generated_visits import Sizes, generate_histories

if TYPE_CHECKING:
    import pyarrow as pa

Ending = Literal["parquet", "csv"]
ENDINGS = ("parquet", "csv")


def require_ending(ending: str) -> Ending:
    """Refuse any other kind of file."""
    if ending not in ENDINGS:
        raise UsageError(f"--as {ending}: use one of {', '.join(ENDINGS)}")
    return "csv" if ending == "csv" else "parquet"


def table_folder(out: Path, *, force: bool) -> AbstractContextManager[Path]:
    """Give a folder to write tables into; it becomes `out` when everything went well, and is gone otherwise."""
    return whole_folder(out, force=force, check_replaceable=_require_ours)


def _require_ours(out: Path) -> None:
    """Refuse to delete a folder that holds anything but tables."""
    if not out.is_dir():
        raise OutputError(f"{out} is a file: it is not replaced. Name another --out.")
    others = [
        path.name for path in out.iterdir() if path.suffix not in (".parquet", ".csv", ".json", ".md", ".geoparquet")
    ]
    if others:
        raise OutputError(f"{out} holds more than tables ('{others[0]}'): it is not replaced. Name another --out.")


class TableFile:
    """One table of a folder, written batch by batch."""

    def __init__(self, folder: Path, name: str, ending: Ending) -> None:
        self.path = folder / f"{name}.{ending}"
        self._writer: Any = None

    def __enter__(self) -> TableFile:
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        import pyarrow.parquet as pq
        from pyarrow import csv

        if self.path.suffix == ".csv":
            batch = guard_table(batch)
        if self._writer is None:
            if self.path.suffix == ".csv":
                self._writer = csv.CSVWriter(
                    self.path, batch.schema, write_options=csv.WriteOptions(quoting_style="needed")
                )
            else:
                self._writer = pq.ParquetWriter(self.path, batch.schema, compression="zstd")
        self._writer.write(batch)


_TRIPS_AT_ONCE = 10_000


def make_visits(
    out: Path, sizes: Sizes, *, seed: int = 0, ending: Ending = "parquet", force: bool = False
) -> list[Path]:
    """Write `visits` (user, venue, time_s) and `venues` (venue, lon, lat, levels, category); the seed decides all."""
    import pyarrow as pa

    histories, venues = generate_histories(sizes, np.random.default_rng(seed))
    visits = {
        "user": histories.people[histories.person],
        "venue": venues.name[histories.venue],
        "time_s": histories.time_s,
    }
    listed = {
        "venue": venues.name,
        "lon": np.round(venues.lon, 7),
        "lat": np.round(venues.lat, 7),
        **venues.levels,
        "category": venues.category,
    }
    with table_folder(out, force=force) as folder:
        for name, columns in (("visits", visits), ("venues", listed)):
            with TableFile(folder, name, ending) as table:
                table.write(pa.record_batch([pa.array(values) for values in columns.values()], list(columns)))
    return [out / f"{name}.{ending}" for name in ("visits", "venues")]


def make_trips(
    out: Path, sizes: TripSizes, region: Region, *, seed: int = 0, ending: Ending = "parquet", force: bool = False
) -> list[Path]:
    """Write `trajectories` (user, trajectory, time_s, lon, lat) of made-up trips; the seed decides all."""
    import pyarrow as pa

    from geodp.tables.trajectories.generated_trips import generate_trips

    trips = generate_trips(sizes, region, np.random.default_rng(seed))
    with table_folder(out, force=force) as folder, TableFile(folder, "trajectories", ending) as table:
        for begin in range(0, trips.size, _TRIPS_AT_ONCE):
            part = trips.select(np.arange(begin, min(begin + _TRIPS_AT_ONCE, trips.size)))
            frame = part.frame(region).round({"lon": 7, "lat": 7, "time_s": 1})
            frame["trajectory"] = (frame["trajectory"] + begin).astype(str)
            table.write(pa.RecordBatch.from_pandas(frame, preserve_index=False))
    return [out / f"trajectories.{ending}"]


def make_pings(
    out: Path, sizes: PingSizes, region: Region, *, seed: int = 0, ending: Ending = "parquet", force: bool = False
) -> list[Path]:
    """Write `pings` (user, time_s, lon, lat) and `zones.geoparquet` (zone, district); the seed decides all."""
    import pyarrow as pa

    with table_folder(out, force=force) as folder:
        with TableFile(folder, "pings", ending) as table:
            for batch in generate_pings(sizes, region, np.random.default_rng(seed)):
                table.write(pa.record_batch([pa.array(values) for values in batch.values()], list(batch)))
        make_grid_zones(sizes.zones, region).to_parquet(folder / "zones.geoparquet")
    return [out / f"pings.{ending}", out / "zones.geoparquet"]


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
    venues = VisitedVenues(dropped)
    with TableFile(folder, "visits", ending) as table:
        for batch in batches:
            venues.add(batch)
            table.write(batch.select(list(_VISIT_COLUMNS)))
    if venues.placed:
        with TableFile(folder, "venues", ending) as table:
            table.write(venues.batch())


class VisitedVenues:
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
        code = self._numbers.number(batch.column("venue"))
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
