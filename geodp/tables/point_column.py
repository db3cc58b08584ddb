"""A column of points (GeoParquet, GeoPackage, GeoJSON), read as longitudes and latitudes whatever its coordinates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.geometry import Array
from geodp.tables.formats import stated_crs
from geodp.tables.notices import notice
from geodp.tables.usual_columns import candidates

_DEGREES = "OGC:CRS84"


@dataclass(frozen=True)
class PointColumn:
    """Where a file holds its points, and in which coordinates."""

    path: Path
    name: str
    crs: Any = None
    """Coordinates as the file states them (None: degrees)."""

    def places(self, column: Any, *, total: bool = False) -> dict[str, Array]:
        """Return longitudes and latitudes (degrees); with `total` NaN where there is no point, otherwise an error."""
        import pyarrow as pa
        import shapely

        where = f"{self.path.name}: column '{self.name}'"
        if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
            raise DataError(f"{where} holds {column.type}, no points in well-known binary")
        try:
            points = shapely.from_wkb(column.to_numpy(zero_copy_only=False), on_invalid="ignore" if total else "raise")
        except (shapely.errors.ShapelyError, TypeError) as error:
            raise DataError(f"{where} holds no points in well-known binary ({error})") from error
        kinds = shapely.get_type_id(points)
        if not total and not np.isin(kinds, (-1, 0)).all():
            raise DataError(f"{where} must hold points, one per row")
        points = np.where((kinds == 0) & ~shapely.is_empty(points), points, None)  # an empty point lies nowhere
        return self._degrees(shapely.get_x(points), shapely.get_y(points))

    def _degrees(self, x: Array, y: Array) -> dict[str, Array]:
        if self.crs is None:
            return {"lon": x, "lat": y}
        lon, lat = _transformer(self.path, json.dumps(self.crs)).transform(x, y)
        far = ~(np.isfinite(lon) & np.isfinite(lat))  # the transformation says inf where it cannot
        return {"lon": np.where(far, np.nan, lon), "lat": np.where(far, np.nan, lat)}


def point_column(path: Path, found: Sequence[str], *, named: Sequence[str] = ()) -> PointColumn | None:
    """Return the column of points of a file that has no columns of longitude and latitude (None: it has them).

    `named` are names that were stated for longitude or latitude: those who name them want them.
    """
    if any(name in found for name in named) or any(candidates(part, found) for part in ("lon", "lat")):
        return None
    stated = stated_crs(path)
    if stated is None or stated[0] not in found:
        return None
    name, crs = stated
    if crs is None or _is_degrees(crs):
        return PointColumn(path, name)
    _transformer(path, json.dumps(crs))  # coordinates that nobody knows are refused before a row is read
    called = crs.get("name", "other coordinates") if isinstance(crs, dict) else str(crs)
    notice(f"{path.name}: points in {called} are converted to degrees.")
    return PointColumn(path, name, crs)


def _is_degrees(crs: Any) -> bool:
    if isinstance(crs, str):
        return crs in (_DEGREES, "EPSG:4326")
    code = crs.get("id", {}) if isinstance(crs, dict) else {}
    return (code.get("authority"), str(code.get("code"))) in (("OGC", "CRS84"), ("EPSG", "4326"))


def _transformer(path: Path, crs: str) -> Any:
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError

    try:
        return Transformer.from_crs(CRS.from_user_input(json.loads(crs)), _DEGREES, always_xy=True)
    except CRSError as error:
        raise DataError(f"{path.name}: states coordinates that nobody knows ({error})") from error
