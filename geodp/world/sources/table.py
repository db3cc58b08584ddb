"""Workers read from a csv or Parquet file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.world import columns_file
from geodp.world.motion import Ids, Motion
from geodp.world.population import Population
from geodp.world.positions_file import Columns, Positions, anchored_path, given_path, read_positions
from geodp.world.sources import Source


class Table(Source):
    """Workers from a csv or Parquet file: one row each, or their fixes over time.

    Required columns: lon, lat (degrees). Optional: worker (any identity) and time_s (seconds from the start
    of the run). Without a worker column every row is a worker of its own. With both, the rows of a worker
    are fixes over time: mobility `recorded` follows them, `static` and `commuter` start where the worker is
    at time 0. Workers are numbered in the order in which the file first names them; points outside the
    region are dropped, and their number is logged. How many workers the file holds is private: state
    `curator.expected_workers` in the scenario.
    """

    kind: ClassVar[str] = "table"

    path: str = ""
    """A csv (also .csv.gz) or Parquet file; a relative path starts at the file that names it."""
    lon_column: str = Field(default="lon", min_length=1)
    """Column of longitudes (degrees)."""
    lat_column: str = Field(default="lat", min_length=1)
    """Column of latitudes (degrees)."""
    worker_column: str | None = "worker"
    """Column that says which worker a row belongs to; null to take every row for a worker of its own."""
    time_column: str | None = "time_s"
    """Column of times (seconds from the start of the run); null to ignore times."""
    keep: Literal["all", "first", "last"] = "all"
    """Which rows of a worker count: all (fixes over time), or the first or last, by time or else by row."""

    def anchored(self, folder: Path) -> Self:
        """Return a copy whose path starts at the given folder."""
        return self.model_copy(update={"path": anchored_path(self.path, folder)})

    def files(self) -> list[Path]:
        """Return the data file."""
        return [Path(self.path)] if self.path else []

    def load(self, region: Region, rng: np.random.Generator) -> Population:  # noqa: ARG002 - nothing to draw
        """Return the workers of the file that lie inside the region."""
        path = given_path(self.path, self.kind)
        columns = self._columns(path)
        rows = read_positions(path, columns, region)
        if rows.worker is None:
            return Population(rows.x_m, rows.y_m)
        first = np.append(0, np.cumsum(np.bincount(rows.worker)))
        keys = (rows.worker,) if rows.time_s is None else (rows.time_s, rows.worker)
        by_worker = np.lexsort(keys)  # stable: rows that tie keep the file's order
        if self.keep == "all" and rows.time_s is not None:
            recorded = Motion(first, rows.time_s[by_worker], rows.x_m[by_worker], rows.y_m[by_worker])
            return Population(*recorded.at(0.0), recorded=recorded)
        if self.keep == "all":
            self._refuse_repeated(path, rows, first)
        chosen = by_worker[first[1:] - 1 if self.keep == "last" else first[:-1]]
        return Population(rows.x_m[chosen], rows.y_m[chosen])

    def _columns(self, path: Path) -> Columns:
        """Find the columns; the optional ones may be absent as long as they keep their default names."""
        found = columns_file.column_names(path)
        worker = None if self.worker_column == "worker" and "worker" not in found else self.worker_column
        time = None if self.time_column == "time_s" and "time_s" not in found else self.time_column
        time = None if self.worker_column is None else time  # times of nobody in particular tell nothing
        wanted = {"lon_column": self.lon_column, "lat_column": self.lat_column}
        wanted |= {} if worker is None else {"worker_column": worker}
        wanted |= {} if time is None else {"time_column": time}
        columns_file.require_columns(path, wanted, found)
        if time is not None and worker is None:
            raise DataError(
                f"{path.name}: column '{time}' gives times, but no column says whose.\n"
                "Name it in worker_column, or set time_column: null to take every row for a worker."
            )
        if worker is None and self.worker_column and (other := columns_file.other_name("worker", found)):
            logging.getLogger("geodp").warning(
                "%s: no column 'worker', so every row is taken for a worker of its own. "
                "If '%s' says whose a row is, name it in worker_column; else set worker_column: null.",
                path.name, other,
            )  # fmt: skip
        return Columns(self.lon_column, self.lat_column, worker, time)

    def _refuse_repeated(self, path: Path, rows: Positions, first: Ids) -> None:
        count = np.diff(first)
        if count.max() > 1:
            most, times = int(count.argmax()), self.time_column or "time_s"
            raise DataError(
                f"{path.name}: {rows.x_m.size:,} rows for {count.size:,} workers ({count[most]:,} for worker "
                f"{rows.names[most]}), and no column '{times}' that would make them fixes over time.\n"
                "Set keep: first or keep: last for one row per worker, name the times (seconds from the "
                "start of the run) in time_column, or set worker_column: null to take every row for a worker."
            )
