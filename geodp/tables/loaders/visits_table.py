"""Visits in a table with named columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from geodp.errors import UsageError
from geodp.tables.formats import column_names
from geodp.tables.loaders import VISITS, Dropped, Loaded, Loader
from geodp.tables.loaders.checks import Checker, box_of
from geodp.tables.loaders.text_files import require_file
from geodp.tables.reader import PLACE, field_of, open_fields
from geodp.tables.usual_columns import likely


class VisitsTable(Loader):
    """Visits with named columns: csv (also packed), Parquet, GeoPackage or GeoJSON; name columns where they differ."""

    kind: ClassVar[str] = "visits_table"
    loads: ClassVar[Literal["visits", "trajectories"]] = "visits"
    files: ClassVar[str] = "*.csv, *.csv.gz, *.parquet, *.geoparquet, *.gpkg, *.geojson"

    user_column: str = "user"
    """Column of the person."""
    venue_column: str = "venue"
    """Column of the venue's name or number."""
    lon_column: str | None = "lon"
    """Column of the longitude (degrees); null: the file holds no places, which is assumed where no column is called
    so. Points of a geographic file stand for both."""
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
        if (self.lon_column is None) != (self.lat_column is None):
            raise UsageError("visits_table: name both lon_column and lat_column, or neither")
        require_file(path)
        dropped, found = Dropped(lenient=total), column_names(path)
        parts = ("user", "venue", *PLACE, "time_s")
        unlike = [part for part in parts if likely(part, found) is None]
        optional = {"time_s"} & {*unlike} | ({*PLACE} if {*PLACE} <= {*unlike} else set())
        optional = {part for part in optional if field_of(part) not in self.model_fields_set}
        table = open_fields(path, self, parts, optional=optional, releasing=total)
        if self.category_column in found:
            table = replace(table, called={**table.called, "category": self.category_column})
        timed = table.has("time_s")
        check = Checker(
            path,
            dropped,
            names=("user", "venue"),
            key=("user", "venue", "time_s") if timed else (),  # without times one may well return
            region=box_of(self.region),
            places=table.placed,
            times=timed,
        )
        return Loaded(
            check.check_batches(table.tables(VISITS, dropped.note, zone=self.time_zone, total=total)), dropped
        )
