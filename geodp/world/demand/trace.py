"""Tasks read from a table."""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.storage.published_file import require_as_published
from geodp.tables.formats import row_count
from geodp.tables.notices import notice
from geodp.tables.positions import FirstRows, look_at_positions, read_fixes, read_times, require_path
from geodp.tables.reader import PLACE, TableReader, open_fields
from geodp.tables.time_columns import DAY_S, counts_from_1970, day_of, midnight_of
from geodp.world.bounds import MOST_TASKS
from geodp.world.demand import Arrivals, Demand
from geodp.world.population import Population


class Trace(Demand):
    """Tasks from a table (csv, Parquet, GeoPackage, GeoJSON) with their place and time.

    Required columns: lon, lat (degrees), time_s (seconds from the start of the run, or dates). Tasks outside the run's
    time or outside the region are dropped, and their number is said. The task list is the server's own
    data, so the number of tasks in the run's time is public.
    """

    kind: ClassVar[str] = "trace"
    file_fields: ClassVar[tuple[str, ...]] = ("path",)

    path: str = ""
    """A csv (also .csv.gz), Parquet, GeoPackage or GeoJSON file; a relative path starts at the file that names it."""
    lon_column: str = Field(default="lon", min_length=1)
    """Column of longitudes (degrees)."""
    lat_column: str = Field(default="lat", min_length=1)
    """Column of latitudes (degrees)."""
    time_column: str = Field(default="time_s", min_length=1)
    """Column of arrival times: seconds from the start of the run, or dates (also seconds since 1970)."""
    first_day: date | None = None
    """Day on which the run begins, where times are dates; null: the first day of the file."""

    def look(self, region: Region) -> FirstRows:
        """Look at the columns and the first rows."""
        return look_at_positions(self._table(), region)

    def arrivals(
        self,
        population: Population,  # noqa: ARG002 - a trace follows nobody
        region: Region,
        *,
        start_s: float,
        duration_s: float,
        rng: np.random.Generator,  # noqa: ARG002 - nothing to draw
    ) -> Arrivals:
        """Return the file's tasks that fall in the run's time and region, in order of time."""
        table = self._table()
        path, rows = table.path, read_fixes(table, region)
        time_s = self._from_start(path, np.empty(0) if rows.time_s is None else rows.time_s, start_s)
        order = np.argsort(time_s, kind="stable")
        order = order[slice(*np.searchsorted(time_s[order], [0.0, duration_s]))]
        if order.size == 0:
            raise DataError(_explain_empty(path, duration_s, float(time_s.min()), float(time_s.max())))
        if order.size < time_s.size:
            outside = time_s.size - order.size
            notice(f"{path.name}: {outside:,} of {time_s.size:,} tasks lie outside the run's time and are dropped.")
        return Arrivals(time_s[order], rows.x_m[order], rows.y_m[order])

    def expected_tasks(self, *, start_s: float, duration_s: float) -> float:
        """Return the number of the file's tasks in the run's time (those outside the region included)."""
        table = self._table()
        path = table.path
        if (rows := row_count(path)) > MOST_TASKS:
            raise DataError(
                f"{path.name}: has about {rows:,.0f} tasks; at most {MOST_TASKS:,} are simulated, one by one: cut the "
                "file to the time and the place of the run"
            )
        state = path.stat()
        times = _times_in_state(path, table.called["time_s"], state.st_size, state.st_mtime_ns)
        time_s = self._from_start(path, times, start_s)
        count = int(np.count_nonzero((time_s >= 0) & (time_s < duration_s)))
        if count == 0 and time_s.size:
            raise DataError(_explain_empty(path, duration_s, float(time_s.min()), float(time_s.max())))
        return float(count)

    def _from_start(self, path: Path, time_s: Array, start_s: float) -> Array:
        """Return times from the start of the run; where they are dates, it begins on one of their days."""
        if not counts_from_1970(time_s):
            return time_s
        first = np.floor(time_s.min() / DAY_S) * DAY_S if self.first_day is None else midnight_of(self.first_day)
        if self.first_day is None:
            notice(f"{path.name}: times are dates: the run begins on {day_of(first)}, the first of them (first_day).")
        return np.asarray(time_s - (first + start_s))

    def _table(self) -> TableReader:
        path = require_path(self.path, self.kind)
        require_as_published(path)
        return open_fields(path, self, (*PLACE, "time_s"))


@lru_cache(maxsize=2)  # a scenario asks several times
def _times_in_state(path: Path, column: str, size: int, changed_ns: int) -> Array:  # noqa: ARG001 - they tell states apart
    """Return all times of a file."""
    times = read_times(TableReader(path, [column], {"time_s": column}))
    times.flags.writeable = False
    return times


def _explain_empty(path: Path, duration_s: float, low_s: float, high_s: float) -> str:
    return (
        f"{path.name}: no task arrives in the run's 0 to {duration_s:g} s; its times run from {low_s:g} to "
        f"{high_s:g}.\nTimes count in seconds from the start of the run: subtract the start, or name another "
        "column in time_column."
    )
