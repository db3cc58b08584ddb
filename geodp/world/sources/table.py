"""Workers read from a table."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.storage.published_file import require_as_published
from geodp.tables.formats import column_names
from geodp.tables.notices import notice
from geodp.tables.positions import FirstRows, Fixes, look_at_positions, read_fixes, require_path
from geodp.tables.reader import MOST_LOOKED_AT, PLACE, TableReader, open_fields
from geodp.tables.time_columns import counts_from_1970, day_of, midnight_of, usual_midnight, wall_clock
from geodp.tables.usual_columns import candidates
from geodp.world.motion import Ids, Motion
from geodp.world.population import Population
from geodp.world.sources import Source


class Table(Source):
    """Workers from a table (csv, Parquet, GeoPackage, GeoJSON): one row each, or their fixes over time.

    Required columns: lon, lat (degrees) and worker (any identity), or `one_row_per_person`. Optional: time_s (seconds
    from the start of the run). With times the rows of a worker are fixes over time: mobility `recorded` follows them,
    `static` and `commuter` start where the worker is at time 0. Columns that go by another usual name (user, uid, imei,
    longitude, …) are taken and said. Workers are numbered in the order in which the file first names them; points
    outside the region are dropped, and their number is said. How many workers the file holds is private: state
    `curator.expected_workers` in the scenario.
    """

    kind: ClassVar[str] = "table"
    file_fields: ClassVar[tuple[str, ...]] = ("path",)

    path: str = ""
    """A csv (also .csv.gz), Parquet, GeoPackage or GeoJSON file; a relative path starts at the file that names it."""
    lon_column: str = Field(default="lon", min_length=1)
    """Column of longitudes (degrees)."""
    lat_column: str = Field(default="lat", min_length=1)
    """Column of latitudes (degrees)."""
    worker_column: str | None = "worker"
    """Column that says which worker a row belongs to; null means the same as `one_row_per_person: true`."""
    one_row_per_person: bool = False
    """Every row is a worker of its own; without it a file must say whose its rows are."""
    time_column: str | None = "time_s"
    """Column of times: seconds from the start of the run, or dates (also seconds since 1970); null to ignore times."""
    first_day: date | None = None
    """Day on which the run begins, where times are dates; null: the day by which half of the workers have begun."""
    time_zone: str = "UTC"
    """Zone of the run's clock, where dates state theirs, e.g. Europe/Vienna; dates without one are taken as they
    stand."""
    keep: Literal["all", "first", "last"] = "all"
    """Which rows of a worker count: all (fixes over time), or the first or last, by time or else by row."""

    def idle_fields(self) -> dict[str, str]:
        """Return what only fixes of workers over time need."""
        if self.one_row_per_person or self.worker_column is None:
            alone = ["time_column", "keep", "first_day", "time_zone"]
            alone += ["worker_column"] if self.worker_column is not None else []  # null says the same
            return dict.fromkeys(alone, "where every row is a worker of its own")
        if self.time_column is None:
            return dict.fromkeys(("first_day", "time_zone"), "without times")
        return {} if self.keep == "all" else dict.fromkeys(("first_day", "time_zone"), f"with keep: {self.keep}")

    def has_times(self) -> bool:
        """Tell whether rows are fixes over time."""
        return self.keep == "all" and self._table().has("time_s")

    def has_trips(self) -> bool:
        """Tell that fixes are not cut into trips."""
        return False

    def look(self, region: Region) -> FirstRows:
        """Look at the columns and the first rows."""
        table = self._table()
        first = look_at_positions(table, region)
        if self.keep == "all" and table.has("worker") and not table.has("time_s"):
            self._refuse_repeated(table.path, read_fixes(table, region, most=MOST_LOOKED_AT))
        return first

    def load(self, region: Region, rng: np.random.Generator) -> Population:  # noqa: ARG002 - nothing to draw
        """Return the workers of the file that lie inside the region."""
        table = self._table()
        rows = read_fixes(table, region)
        if rows.worker is None:
            return Population(rows.x_m, rows.y_m)
        first = np.append(0, np.cumsum(np.bincount(rows.worker)))
        keys = (rows.worker,) if rows.time_s is None else (rows.time_s, rows.worker)
        by_worker = np.lexsort(keys)  # stable: rows that tie keep the file's order
        if self.keep == "all" and rows.time_s is not None:
            time_s, from_midnight = self._on_the_clock(table.path, rows.time_s[by_worker], first)
            recorded = Motion(first, time_s, rows.x_m[by_worker], rows.y_m[by_worker])
            return Population(*recorded.at(0.0), recorded=recorded, from_midnight=from_midnight)
        if self.keep == "all":
            self._refuse_repeated(table.path, rows)
        chosen = by_worker[first[1:] - 1 if self.keep == "last" else first[:-1]]
        return Population(rows.x_m[chosen], rows.y_m[chosen])

    def _on_the_clock(self, path: Path, time_s: Array, first: Ids) -> tuple[Array, bool]:
        """Return times of fixes after the midnight of the run's day where they are dates, as they are otherwise."""
        if not counts_from_1970(time_s):
            if self.first_day is not None:
                raise DataError(f"{path.name}: first_day is for dates, and the times count from the start of the run.")
            return time_s, False
        clock_s = wall_clock(time_s, self.time_zone)
        if self.first_day is not None:
            return clock_s - midnight_of(self.first_day), True
        midnight_s = usual_midnight(clock_s[first[:-1]])
        notice(
            f"{path.name}: times are dates: the run begins on {day_of(midnight_s)}, by which half of the workers have "
            "begun (first_day states another)."
        )
        return clock_s - midnight_s, True

    def _table(self) -> TableReader:
        """Find the columns: those that were named must be there, others may go by another usual name."""
        path = require_path(self.path, self.kind)
        require_as_published(path)
        if self.one_row_per_person or self.worker_column is None:
            if like := candidates("worker", column_names(path)):
                notice(f"{path.name}: every row is taken for a worker of its own, and '{like[0]}' is not read.")
            return open_fields(path, self, PLACE)  # nobody's times tell nothing
        table = open_fields(path, self, (*PLACE, "worker", "time_s"), optional=("worker", "time_s"))
        if not table.has("worker"):
            raise DataError(
                f"{path.name}: no column says whose a row is. Found: {', '.join(table.found)}.\n"
                "Name it in worker_column, or set one_row_per_person: true if every row is another person."
            )
        return table

    def _refuse_repeated(self, path: Path, rows: Fixes) -> None:
        """Refuse several rows of one worker that nothing orders."""
        count = np.bincount([] if rows.worker is None else rows.worker)
        if count.size and count.max() > 1:
            most, times = int(count.argmax()), self.time_column or "time_s"
            raise DataError(
                f"{path.name}: there are several rows of a worker ({count[most]:,} of worker {rows.names[most]}), and "
                f"no column '{times}' that would make them fixes over time.\n"
                "Set keep: first or keep: last for one row per worker, name the times (dates, or seconds from the "
                "start of the run) in time_column, or set one_row_per_person: true to take every row for a worker."
            )
