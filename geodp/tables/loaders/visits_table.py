"""Visits in a csv, Parquet or GeoParquet file with named columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

from geodp.errors import UsageError
from geodp.tables import reader, total_rows
from geodp.tables.loaders import Dropped, Loaded, Loader
from geodp.tables.loaders._checks import Checker, box_of, zoned_seconds
from geodp.tables.loaders._text_files import as_visits, numbers, require_file
from geodp.tables.point_column import PointColumn, point_column
from geodp.tables.usual_columns import field_column, likely


class VisitsTable(Loader):
    """Visits with named columns: csv (also packed), Parquet or GeoParquet; name the columns where they differ."""

    kind: ClassVar[str] = "visits_table"
    loads: ClassVar[Literal["visits", "trajectories"]] = "visits"
    files: ClassVar[str] = "*.csv, *.csv.gz, *.parquet, *.geoparquet"

    user_column: str = "user"
    """Column of the person."""
    venue_column: str = "venue"
    """Column of the venue's name or number."""
    lon_column: str | None = "lon"
    """Column of the longitude (degrees); null: the file holds no places, which is assumed where no column is called
    so. A GeoParquet file may hold points instead."""
    lat_column: str | None = "lat"
    """Column of the latitude (degrees)."""
    time_column: str | None = "time_s"
    """Column of the time: seconds, or dates with time (ISO 8601); null: the file holds no times, which is assumed where
    no column is called so."""
    category_column: str = "category"
    """Column of the venue's category, used where there is one."""
    time_zone: str = "UTC"
    """Zone of dates that state none, e.g. America/New_York."""
    region: str | None = None
    """Keep only rows in `W,S,E,N` (degrees); null keeps all."""

    def idle_fields(self) -> dict[str, str]:
        """Return the zone where no times are read."""
        return {} if self.time_column is not None else {"time_zone": "without times"}

    def load(self, path: Path, *, total: bool = False) -> Loaded:
        """Open a file of visits."""
        require_file(path)
        found = reader.column_names(path)
        return self._told(path, found)._opened(path, found, Dropped(lenient=total))

    def _told(self, path: Path, found: list[str]) -> VisitsTable:
        """Return the loader with the columns as this file calls them, without those that nobody named and it lacks."""
        fields = [name for name in type(self).model_fields if name.endswith("_column") and name != "category_column"]
        named = {name: field_column(path, self, name, found) for name in fields}
        optional = {"lon_column", "lat_column", "time_column"} - self.model_fields_set
        absent = {name for name in optional if likely(type(self).model_fields[name].default, found) is None}
        if point_column(path, found) is not None or not {"lon_column", "lat_column"} <= absent:
            absent -= {"lon_column", "lat_column"}
        called = {name: column or getattr(self, name) for name, column in named.items()}
        return self.model_copy(update=called | dict.fromkeys(absent))

    def _opened(self, path: Path, found: list[str], dropped: Dropped) -> Loaded:
        if (self.lon_column is None) != (self.lat_column is None):
            raise UsageError("visits_table: name both lon_column and lat_column, or neither")
        stated = [name for name in (self.lon_column, self.lat_column) if name]
        points = point_column(path, found, named=stated) if stated else None
        named = {"user_column": self.user_column, "venue_column": self.venue_column}
        if self.time_column is not None:
            named["time_column"] = self.time_column
        if self.lon_column is not None and self.lat_column is not None and points is None:
            named |= {"lon_column": self.lon_column, "lat_column": self.lat_column}
        reader.require_columns(path, named, found)
        more = [self.category_column] if self.category_column in found else []
        wanted = [*dict.fromkeys([*named.values(), *more, *([points.name] if points else [])])]
        check = Checker(
            path,
            dropped,
            names=("user", "venue"),
            key=() if self.time_column is None else ("user", "venue", "time_s"),  # without times one may well return
            region=box_of(self.region),
            places=self.lon_column is not None,
            times=self.time_column is not None,
        )
        return Loaded(check.checked(self._rows(path, wanted, points, dropped)), dropped)

    def _rows(self, path: Path, wanted: list[str], points: PointColumn | None, dropped: Dropped) -> Iterator[Any]:
        for batch in reader.raw_batches(path, wanted, total=dropped.lenient):
            yield as_visits(batch, lambda part: self._visits(part, points, dropped))

    def _visits(self, batch: Any, points: PointColumn | None, dropped: Dropped) -> dict[str, Any]:
        import pyarrow as pa

        def plain(name: str) -> Any:
            return reader.plain(batch.column(name))

        columns = {name: total_rows.as_words(plain(column)) for name, column in self._words(batch).items()}
        if points is not None:
            places = points.places(batch.column(points.name), total=dropped.lenient)
            columns |= {name: pa.array(values) for name, values in places.items()}
        elif self.lon_column is not None and self.lat_column is not None:
            columns |= {"lon": _floats(plain(self.lon_column)), "lat": _floats(plain(self.lat_column))}
        if self.time_column is not None:
            columns["time_s"] = zoned_seconds(plain(self.time_column), self.time_zone, dropped)
        return columns

    def _words(self, batch: Any) -> dict[str, str]:
        named = {"user": self.user_column, "venue": self.venue_column}
        return named | ({"category": self.category_column} if self.category_column in batch.schema.names else {})


def _floats(column: Any) -> Any:
    import pyarrow as pa

    return numbers(column) if pa.types.is_string(column.type) else column.cast(pa.float64(), safe=False)
