"""Trajectories in a csv, Parquet or GeoParquet file with named columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.tables import reader, total_rows
from geodp.tables.loaders import TRAJECTORIES, Dropped
from geodp.tables.loaders._checks import Numbering, zoned_seconds
from geodp.tables.loaders._text_files import numbers, require_file
from geodp.tables.loaders._tracks import TrackLoader
from geodp.tables.point_column import PointColumn, point_column
from geodp.tables.usual_columns import field_column

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 1 << 18
_UNORDERED = "stood after a later fix of their track: sorted by time"


class TrajectoriesTable(TrackLoader):
    """Trajectories with named columns, a row per fix: csv (also packed), Parquet or GeoParquet.

    Rows may stand in any order: all are read as numbers (32 bytes a row), sorted by person, trajectory and time, and
    then cleaned. Without a column of trajectories a person's rows are one track, cut at silences and stays.
    """

    kind: ClassVar[str] = "trajectories_table"
    files: ClassVar[str] = "*.csv, *.csv.gz, *.parquet, *.geoparquet"

    user_column: str = "user"
    """Column of the person."""
    trajectory_column: str | None = "trajectory"
    """Column of the trajectory's name or number; null: a person's rows are one track."""
    time_column: str = "time_s"
    """Column of the time: seconds, or dates with time (ISO 8601)."""
    lon_column: str = "lon"
    """Column of the longitude (degrees). A GeoParquet file may hold points instead."""
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
        found = reader.column_names(path)
        return self._told(path, found)._rows(path, found, dropped)

    def _told(self, path: Path, found: list[str]) -> TrajectoriesTable:
        """Return the loader with the columns as this file calls them."""
        fields = [name for name in type(self).model_fields if name.endswith("_column")]
        named = {name: field_column(path, self, name, found) or getattr(self, name) for name in fields}
        return self.model_copy(update=named)

    def _rows(self, path: Path, found: list[str], dropped: Dropped) -> Iterator[pa.RecordBatch]:
        points = point_column(path, found, named=(self.lon_column, self.lat_column))
        named = {"user_column": self.user_column, "time_column": self.time_column}
        if self.trajectory_column is not None:
            named["trajectory_column"] = self.trajectory_column
        if points is None:
            named |= {"lon_column": self.lon_column, "lat_column": self.lat_column}
        reader.require_columns(path, named, found)
        wanted = [*dict.fromkeys([*named.values(), *([points.name] if points else [])])]
        batches = reader.raw_batches(path, wanted, total=dropped.lenient)
        raw = (self._standard(batch, points, dropped) for batch in batches)
        return _sorted(self.checker(path, dropped, whole=True).checked(raw), dropped)

    def _standard(self, batch: Any, points: PointColumn | None, dropped: Dropped) -> pa.RecordBatch:
        import pyarrow as pa

        def plain(name: str) -> Any:
            return reader.plain(batch.column(name))

        def floats(column: Any) -> Any:
            return numbers(column) if pa.types.is_string(column.type) else column.cast(pa.float64(), safe=False)

        user = total_rows.as_words(plain(self.user_column))
        name = user if self.trajectory_column is None else total_rows.as_words(plain(self.trajectory_column))
        if points is None:
            places = {"lon": floats(plain(self.lon_column)), "lat": floats(plain(self.lat_column))}
        else:
            found = points.places(batch.column(points.name), total=dropped.lenient)
            places = {part: pa.array(values) for part, values in found.items()}
        columns = {
            "user": user,
            "trajectory": name,
            "time_s": zoned_seconds(plain(self.time_column), self.time_zone, dropped).cast(pa.float64()),
            **places,
        }
        return pa.record_batch([columns[name] for name in TRAJECTORIES], list(TRAJECTORIES))


def _sorted(batches: Iterator[pa.RecordBatch], dropped: Dropped) -> Iterator[pa.RecordBatch]:
    """Read all rows as numbers and yield them sorted by person, trajectory and time."""
    import pyarrow as pa

    users, names, parts = Numbering(), Numbering(), []
    for batch in batches:
        codes = (users.codes(batch.column(0)).astype(np.int32), names.codes(batch.column(1)).astype(np.int32))
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
