"""Files of areas, lines and places as a whole, whatever their format: GeoJSON, GeoPackage, GeoParquet, GPX, others."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import DataError
from geodp.storage.gpx import WAYPOINT, is_gpx, read_gpx

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

PARQUET = (".parquet", ".pq", ".geoparquet")
_CLOSED = 0.02
"""A line whose ends lie no farther apart than this share of its length is the outline of an area."""


def read_features(path: Path, *, lines: bool = False) -> geopandas.GeoDataFrame:
    """Read a file of shapes in its own coordinates.

    A track or route of a GPX file that ends where it began is the outline of an area; with `lines` it is a line, closed
    or not.

    Raises
    ------
    DataError
        If it is no GPX although it is called so, or holds no outline.
    Exception
        Whatever geopandas raises about other formats: callers say what was wanted.
    """
    import geopandas

    if is_gpx(path):
        return _read_gpx_shapes(path, lines=lines)
    name = path.name.lower()
    if name.endswith(PARQUET):
        return geopandas.read_parquet(path)
    packed = f"/vsigzip/{path.resolve()}" if name.endswith(".gz") else path  # as GDAL wants it
    return geopandas.read_file(packed)


def read_places(path: Path) -> pd.DataFrame:
    """Read a table of places: columns `lon` and `lat` (degrees), and what else stands beside them.

    Points of a geographic file stand for both, in whatever coordinates; of a GPX file all points are places.

    Raises
    ------
    DataError
        If it cannot be read, or a shape is no point.
    """
    import pandas as pd

    name = path.name.lower()
    try:
        if is_gpx(path):
            points = [point for part in read_gpx(path) for point in part]
            return pd.DataFrame({"lon": [point.lon for point in points], "lat": [point.lat for point in points]})
        if not name.endswith((".gpkg", ".geojson", ".json", *PARQUET)):
            return pd.read_csv(path)
        table = pd.read_parquet(path) if name.endswith(PARQUET) else read_features(path)
        if name.endswith(PARQUET) and not {"lon", "lat"} <= set(table.columns) and "geometry" in table.columns:
            table = read_features(path)
        if {"lon", "lat"} <= set(table.columns) or "geometry" not in table.columns:
            return table
        shapes = table.geometry if table.crs is None else table.geometry.to_crs(4326)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path}: cannot be read as a table of places ({error})") from error
    if not (shapes.geom_type == "Point").all():
        raise DataError(f"{path}: places must be points, found {', '.join(map(str, shapes.geom_type.unique()))}")
    return pd.DataFrame(table.drop(columns=shapes.name)).assign(lon=shapes.x, lat=shapes.y)


def _read_gpx_shapes(path: Path, *, lines: bool) -> geopandas.GeoDataFrame:
    import geopandas
    import shapely

    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for points in read_gpx(path):
        for point in points:
            if point.kind != WAYPOINT and math.isfinite(point.lon) and math.isfinite(point.lat):
                found.setdefault((point.kind, point.path), []).append((point.lon, point.lat))
    kept = {key: line for key, line in found.items() if len(line) > 1 and (lines or _is_closed(line))}
    if not kept:
        wanted = (
            "track or route" if lines else "track or route that ends where it began, as the outline of an area does"
        )
        raise DataError(f"{path.name}: holds no {wanted}")
    shapes: list[Any] = [shapely.LineString(line) if lines else shapely.Polygon(line) for line in kept.values()]
    names = [f"{kind} {number}" for kind, number in kept]
    return geopandas.GeoDataFrame({"name": names}, geometry=shapes, crs="EPSG:4326")


def _is_closed(line: list[tuple[float, float]]) -> bool:
    """Tell whether a line ends about where it began, by its length."""
    shrink = math.cos(math.radians(line[0][1]))

    def measure(a: tuple[float, float], b: tuple[float, float]) -> float:
        return math.hypot((a[0] - b[0]) * shrink, a[1] - b[1])

    length = sum(map(measure, line, line[1:]))
    return len(line) > 3 and length > 0 and measure(line[0], line[-1]) <= _CLOSED * length
