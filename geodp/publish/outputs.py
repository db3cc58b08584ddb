"""Published tables as files, by suffix: csv, Parquet, GeoParquet or GeoJSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.storage.csv_cells import guard_table
from geodp.storage.geoparquet import GEOMETRY, PlaceColumn, describe_shapes
from geodp.storage.stamp import COLUMN

DEGREE_DIGITS = 7
"""Decimals of longitudes and latitudes: about a centimetre."""
_CSV_ROWS = 1 << 20  # written at once, for they become Python objects
_FORMATS = {".csv": "csv", ".parquet": "parquet", ".geoparquet": "geoparquet", ".geojson": "geojson"}


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """What is published: columns of equal length (numpy or pyarrow arrays), and how to see them as places.

    `points` have columns lon, lat; `boxes` have west, south, east, north; all in degrees.
    """

    columns: dict[str, Any]
    shape: Literal["points", "boxes", "none"] = "none"

    @property
    def edges(self) -> tuple[str, ...]:
        """The columns that make up the geometry."""
        return {"points": ("lon", "lat"), "boxes": ("west", "south", "east", "north"), "none": ()}[self.shape]


def degree_columns(lon: Array, lat: Array) -> dict[str, Array]:
    """Return the columns of places."""
    return {"lon": np.round(lon, DEGREE_DIGITS), "lat": np.round(lat, DEGREE_DIGITS)}


def require_suffix(path: Path) -> str:
    """Return the format that a file's suffix names, or refuse it."""
    kind = _FORMATS.get(path.suffix.lower())
    if kind is None:
        raise UsageError(f"{path}: the suffix tells the format; use one of {', '.join(_FORMATS)}.")
    return kind


def write_table(path: Path, table: PublishedTable, *, suffix_of: Path, stamp: dict[str, Any]) -> None:
    """Write a table in the format that the suffix of `suffix_of` names.

    The stamp (mode, whether it is releasable, the guarantee) goes into the file. Parquet has metadata, GeoJSON a
    member; csv has no place beside its cells. A line of comment, first or last, is a wrong header or a wrong row to
    most readers, so a csv that may not leave the house has one more column, `releasable`, which says so in every row;
    a release has the columns of the publication and no other.
    """
    writers = {"csv": _write_csv, "parquet": _write_parquet, "geoparquet": _write_geoparquet, "geojson": _write_geojson}
    kind = require_places(suffix_of, table.shape)
    writers[kind](path, table, stamp)


def require_places(path: Path, shape: str) -> str:
    """Return the format that a suffix names, or refuse one that needs places where there are none."""
    kind = require_suffix(path)
    if kind.startswith("geo") and shape == "none":
        raise UsageError(f"{path}: what is published has no places, so it cannot be written as {kind}")
    return kind


def _write_csv(path: Path, table: PublishedTable, stamp: dict[str, Any]) -> None:
    arrow = guard_table(_arrow(table))
    if not stamp["releasable"]:
        arrow = arrow.append_column(COLUMN, [np.zeros(arrow.num_rows, dtype=np.bool_)])
    with path.open("w", encoding="utf-8", newline="") as file:
        for begin in range(0, max(arrow.num_rows, 1), _CSV_ROWS):
            arrow.slice(begin, _CSV_ROWS).to_pandas().to_csv(file, index=False, header=begin == 0, lineterminator="\n")


def _write_parquet(path: Path, table: PublishedTable, stamp: dict[str, Any]) -> None:
    _write_arrow(path, _arrow(table), stamp, {})


def _write_geoparquet(path: Path, table: PublishedTable, stamp: dict[str, Any]) -> None:
    """Write GeoParquet 1.1 in EPSG:4326."""
    places = [table.columns[name] for name in table.edges]
    shapes = PlaceColumn.from_points(*places) if table.shape == "points" else PlaceColumn.from_boxes(*places)
    placed = _arrow(table).append_column(GEOMETRY, shapes.wkb)
    _write_arrow(path, placed, stamp, {"geo": describe_shapes([shapes.kind])})


def _write_arrow(path: Path, table: Any, stamp: dict[str, Any], facts: dict[str, Any]) -> None:
    import pyarrow.parquet as pq

    metadata = {key: json.dumps(value, ensure_ascii=False) for key, value in {**facts, "geodp": stamp}.items()}
    pq.write_table(table.replace_schema_metadata(metadata), path, compression="zstd")


def _write_geojson(path: Path, table: PublishedTable, stamp: dict[str, Any]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write('{"type":"FeatureCollection",\n')
        file.write(f'"geodp":{json.dumps(stamp, ensure_ascii=False, allow_nan=False)},\n"features":[\n')
        for number, feature in enumerate(_features(table)):
            file.write(",\n" if number else "")
            file.write(json.dumps(feature, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
        file.write("\n]}\n")


def _features(table: PublishedTable) -> Iterator[dict[str, Any]]:
    arrow = _arrow(table)
    columns = {name: arrow.column(name).to_pylist() for name in arrow.column_names}
    places = zip(*(columns.pop(name) for name in table.edges), strict=True)
    for row, place in enumerate(places):
        properties = {name: values[row] for name, values in columns.items()}
        yield {"type": "Feature", "properties": properties, "geometry": _geometry(*place)}


def _geometry(*place: float) -> dict[str, Any]:
    if len(place) == 2:
        return {"type": "Point", "coordinates": list(place)}
    west, south, east, north = place
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]  # counter-clockwise (RFC 7946)
    return {"type": "Polygon", "coordinates": [ring]}


def _arrow(table: PublishedTable) -> Any:
    import pyarrow as pa

    ready = (pa.Array, pa.ChunkedArray)  # these would be copied value by value
    return pa.table(
        {name: values if isinstance(values, ready) else pa.array(values) for name, values in table.columns.items()}
    )
