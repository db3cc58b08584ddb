"""GeoParquet: places as a column of well-known binary in EPSG:4326, which GIS programs and geopandas open as it is.

Shapes are written by arithmetic on arrays: a million reports take as long as their coordinates take to be copied.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

GEOMETRY = "geometry"
"""The column of shapes."""
EPSG_4326: dict[str, Any] = {
    "$schema": "https://proj.org/schemas/v0.7/projjson.schema.json",
    "type": "GeographicCRS",
    "name": "WGS 84",
    "datum": {
        "type": "GeodeticReferenceFrame",
        "name": "World Geodetic System 1984",
        "ellipsoid": {"name": "WGS 84", "semi_major_axis": 6378137, "inverse_flattening": 298.257223563},
    },
    "coordinate_system": {
        "subtype": "ellipsoidal",
        "axis": [
            {"name": "Geodetic latitude", "abbreviation": "Lat", "direction": "north", "unit": "degree"},
            {"name": "Geodetic longitude", "abbreviation": "Lon", "direction": "east", "unit": "degree"},
        ],
    },
    "id": {"authority": "EPSG", "code": 4326},
}
"""Longitude and latitude as PROJJSON. Written out, because asking PROJ for it takes longer than a small run."""
_HEAD = np.dtype([("order", "u1"), ("kind", "<u4")])
_POINT = np.dtype([*_HEAD.descr, ("place", "<f8", (2,))])
_BOX = np.dtype([*_HEAD.descr, ("rings", "<u4"), ("corners", "<u4"), ("ring", "<f8", (5, 2))])


@dataclass(frozen=True, eq=False)
class PlaceColumn:
    """A column of shapes in degrees, ready to be written.

    Parameters
    ----------
    wkb
        The shapes in well-known binary (a pyarrow array; null where a row has no place).
    kind
        What they are: `Point` or `Polygon`.
    """

    wkb: Any
    kind: str

    @classmethod
    def from_points(cls, lon: npt.ArrayLike, lat: npt.ArrayLike) -> PlaceColumn:
        """Return a point per row; a row without coordinates has none."""
        x, y = np.asarray(lon, dtype=np.float64), np.asarray(lat, dtype=np.float64)
        rows = np.zeros(x.size, dtype=_POINT)
        rows["order"], rows["kind"] = 1, 1  # little-endian; point
        rows["place"][:, 0], rows["place"][:, 1] = x, y
        return cls(_pack(rows, np.isfinite(x) & np.isfinite(y)), "Point")

    @classmethod
    def from_boxes(
        cls, west: npt.ArrayLike, south: npt.ArrayLike, east: npt.ArrayLike, north: npt.ArrayLike
    ) -> PlaceColumn:
        """Return a rectangle per row, its ring counter-clockwise from the south-west."""
        w, s, e, n = (np.asarray(edge, dtype=np.float64) for edge in (west, south, east, north))
        rows = np.zeros(w.size, dtype=_BOX)
        rows["order"], rows["kind"], rows["rings"], rows["corners"] = 1, 3, 1, 5  # little-endian; polygon
        rows["ring"][..., 0] = np.stack([w, e, e, w, w], axis=1)
        rows["ring"][..., 1] = np.stack([s, s, n, n, s], axis=1)
        return cls(_pack(rows, np.isfinite(w + s + e + n)), "Polygon")

    @classmethod
    def of_table(cls, frame: pd.DataFrame) -> PlaceColumn | None:
        """Return the shapes that a table's columns state: lon and lat, or west, south, east, north (None: neither)."""
        for names, make in (("lon lat", cls.from_points), ("west south east north", cls.from_boxes)):
            if set(names.split()) <= set(frame.columns) and GEOMETRY not in frame:
                return make(*(frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in names.split()))
        return None


def _pack(rows: npt.NDArray[Any], known: npt.NDArray[np.bool_]) -> Any:
    """Return fixed-width records as a pyarrow array of bytes, without a Python object per row."""
    import pyarrow as pa

    offsets = np.arange(rows.size + 1, dtype=np.int64) * rows.itemsize
    valid = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little").tobytes())
    parts = [valid, pa.py_buffer(offsets.tobytes()), pa.py_buffer(rows.tobytes())]
    packed = pa.Array.from_buffers(pa.large_binary(), rows.size, parts)
    return packed if offsets[-1] > np.iinfo(np.int32).max else packed.cast(pa.binary())


def describe_shapes(kinds: Sequence[str]) -> dict[str, Any]:
    """Return what a GeoParquet 1.1 file says about its shapes, under the key `geo` of its metadata."""
    column = {"encoding": "WKB", "geometry_types": sorted(kinds), "crs": EPSG_4326}
    return {"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}}


def add_shapes(table: Any, shapes: PlaceColumn) -> Any:
    """Return a pyarrow table with the shapes as its last column, and what its metadata must say about them."""
    facts = {b"geo": json.dumps(describe_shapes([shapes.kind])).encode()}
    placed = table.append_column(GEOMETRY, shapes.wkb)
    return placed.replace_schema_metadata({**(table.schema.metadata or {}), **facts})


def read_without_shapes(path: Path) -> pd.DataFrame:
    """Read a Parquet file as a plain table: where it is GeoParquet, without the shapes that its other columns state."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        placed = b"geo" in (schema.metadata or {}) and GEOMETRY in schema.names
        columns = [name for name in schema.names if name != GEOMETRY] if placed else None
        frame: pd.DataFrame = file.read(columns=columns).to_pandas()
        return frame
