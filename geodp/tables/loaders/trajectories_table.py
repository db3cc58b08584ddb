"""Trajectories in a table with named columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.tables.loaders import TRAJECTORIES, Dropped
from geodp.tables.loaders.text_files import require_file
from geodp.tables.loaders.tracks import TrackLoader
from geodp.tables.reader import Numbering, open_fields

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 1 << 18
_UNORDERED = "stood after a later fix of their track: sorted by time"


class TrajectoriesTable(TrackLoader):
    """Trajectories with named columns, a row per fix: csv (also packed), Parquet, GeoPackage or GeoJSON.

    Rows may stand in any order: all are read as numbers (32 bytes a row), sorted by person, trajectory and time, and
    then cleaned. Without a column of trajectories a person's rows are one track, cut at silences and stays.
    """

    kind: ClassVar[str] = "trajectories_table"
    files: ClassVar[str] = "*.csv, *.csv.gz, *.parquet, *.geoparquet, *.gpkg, *.geojson"

    user_column: str = "user"
    """Column of the person."""
    trajectory_column: str | None = "trajectory"
    """Column of the trajectory's name or number; null: a person's rows are one track."""
    time_column: str = "time_s"
    """Column of the time: seconds, or dates with time (ISO 8601)."""
    lon_column: str = "lon"
    """Column of the longitude (degrees). Points of a geographic file stand for both."""
    lat_column: str = "lat"
    """Column of the latitude (degrees)."""
    time_zone: str = "UTC"
    """Zone of dates that state none, e.g. Asia/Shanghai."""
    gap_s: float | None = Field(default=None, gt=0)
    """A new trip begins after a silence longer than this (s); null never cuts."""
    stay_s: float | None = Field(default=None, gt=0)
    """Who stays this long (s) within `stay_m` has ended a trip; null never cuts."""

    def rows(self, path: Path, dropped: Dropped) -> Iterator[pa.RecordBatch]:
        """Yield the fixes sorted by person, trajectory and time."""
        require_file(path)
        table = open_fields(path, self, TRAJECTORIES, releasing=dropped.lenient)
        if self.trajectory_column is None:
            table = replace(table, called={**table.called, "trajectory": table.called["user"]})
        raw = table.tables(TRAJECTORIES, dropped.note, zone=self.time_zone, total=dropped.lenient)
        return _sort_batches(self.checker(path, dropped, whole=True).check_batches(raw), dropped)


def _sort_batches(batches: Iterator[pa.RecordBatch], dropped: Dropped) -> Iterator[pa.RecordBatch]:
    """Read all rows as numbers and yield them sorted by person, trajectory and time."""
    import pyarrow as pa

    users, names, parts = Numbering(), Numbering(), []
    for batch in batches:
        codes = (users.number(batch.column(0)).astype(np.int32), names.number(batch.column(1)).astype(np.int32))
        parts.append((*codes, *(np.asarray(batch.column(number).to_numpy()) for number in (2, 3, 4))))
    if not parts:
        return
    user, name, time_s, lon, lat = (np.concatenate(column) for column in zip(*parts, strict=True))
    parts.clear()
    key = user.astype(np.int64) * max(len(names.names), 1) + name
    dropped.note(_UNORDERED, int(np.count_nonzero((np.diff(key) == 0) & (np.diff(time_s) < 0))))
    order = np.lexsort((time_s, key))
    people, labels = pa.array(users.names, pa.string()), pa.array(names.names, pa.string())
    for begin in range(0, order.size, _ROWS_AT_ONCE):
        rows = order[begin : begin + _ROWS_AT_ONCE]
        yield pa.record_batch(
            [
                people.take(pa.array(user[rows])),
                labels.take(pa.array(name[rows])),
                pa.array(time_s[rows]),
                pa.array(lon[rows]),
                pa.array(lat[rows]),
            ],
            list(TRAJECTORIES),
        )
