"""Trajectories into files: csv, Parquet or GeoParquet by suffix, batch by batch, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.storage.csv_cells import guarded
from geodp.storage.files import write_whole
from geodp.tables.trajectories.table import COLUMNS, Integers, Trajectories

if TYPE_CHECKING:
    import pandas as pd

DEGREE_DIGITS = 7
"""Decimals of longitudes and latitudes: about a centimetre."""
_ROWS_PER_BATCH = 1 << 18


def write_trajectories(path: Path, trajectories: Trajectories, region: Region) -> None:
    """Write trajectories as csv, Parquet or GeoParquet, by suffix: the file appears whole or not at all."""
    block = max(1, _ROWS_PER_BATCH // max(1, trajectories.points // max(1, trajectories.size)))
    blocks = range(0, trajectories.size, block)
    numbered = np.arange(trajectories.size)
    write_frames(path, (_part(trajectories, numbered[begin : begin + block], region) for begin in blocks))


def write_frames(path: Path, frames: Iterable[pd.DataFrame]) -> int:
    """Write tables of points one after the other into one file, return the number of rows; nothing half-written."""
    kinds = {".csv": _csv_writer, ".parquet": _parquet_writer, ".geoparquet": _geoparquet_writer}
    writer = kinds.get(path.suffix.lower())
    if writer is None:
        raise UsageError(f"{path}: the suffix tells the format; use one of {', '.join(kinds)}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    rows: list[int] = []
    write_whole(path, lambda partial: rows.append(writer(partial, frames)))
    return rows[0]


def _part(trajectories: Trajectories, which: Integers, region: Region) -> pd.DataFrame:
    frame = trajectories.chosen(which).frame(region)
    if trajectories.names is None:
        frame["trajectory"] += which[0] if which.size else 0
    return frame.round({"lon": DEGREE_DIGITS, "lat": DEGREE_DIGITS, "time_s": 3})


def _csv_writer(path: Path, frames: Iterable[pd.DataFrame]) -> int:
    from pyarrow import csv

    rows = 0
    options = csv.WriteOptions(include_header=False, quoting_style="needed")
    with path.open("wb") as file:
        file.write((",".join(COLUMNS) + "\n").encode())
        for frame in frames:
            csv.write_csv(guarded(_arrow(frame)), file, options)
            rows += len(frame)
    return rows


def _parquet_writer(path: Path, frames: Iterable[pd.DataFrame]) -> int:
    return _write_arrow(path, (_arrow(frame) for frame in frames), {})


def _geoparquet_writer(path: Path, frames: Iterable[pd.DataFrame]) -> int:
    """Write GeoParquet 1.1; without a `crs` it means longitude and latitude (OGC:CRS84)."""
    column = {"encoding": "WKB", "geometry_types": ["Point"]}
    facts = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
    return _write_arrow(path, (_with_geometry(_arrow(frame)) for frame in frames), {"geo": json.dumps(facts)})


def _write_arrow(path: Path, tables: Iterator[Any], facts: dict[str, str]) -> int:
    import pyarrow.parquet as pq

    rows, writer = 0, None
    try:
        for table in tables:
            whole = table.replace_schema_metadata(facts)
            writer = writer or pq.ParquetWriter(path, whole.schema, compression="zstd")
            writer.write_table(whole)
            rows += whole.num_rows
        if writer is None:
            empty = _arrow(None).replace_schema_metadata(facts)
            writer = pq.ParquetWriter(path, empty.schema, compression="zstd")
    finally:
        if writer is not None:
            writer.close()
    return rows


def _arrow(frame: pd.DataFrame | None) -> Any:
    import pyarrow as pa

    kinds = dict(zip(COLUMNS, (pa.string(), pa.string(), pa.float64(), pa.float64(), pa.float64()), strict=True))
    if frame is None:
        return pa.table({name: pa.array([], kind) for name, kind in kinds.items()})
    columns = {
        name: pa.array(frame[name].astype(str) if kind == pa.string() else frame[name], kind)
        for name, kind in kinds.items()
    }
    return pa.table(columns)


def _with_geometry(table: Any) -> Any:
    import pyarrow as pa
    import shapely

    points = shapely.points(table.column("lon").to_numpy(), table.column("lat").to_numpy())
    return table.append_column("geometry", pa.array(shapely.to_wkb(points), pa.binary()))
