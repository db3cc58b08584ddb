"""The public region of a call, however it is stated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.tables.regions import parse_region, require_inhabited, require_sound

RegionLike = Any
"""`(west, south, east, north)` in degrees, a shapely (multi)polygon in degrees, a GeoDataFrame or GeoSeries of
polygons, the name of a file of polygons, text `W,S,E,N`, or a `Region`."""
_STATED = "state it as (west, south, east, north) in degrees, a polygon, a GeoDataFrame of polygons, or a file of them"


def as_region(stated: RegionLike) -> Region:
    """Return the region that was stated, after checking it.

    Parameters
    ----------
    stated
        A box, a polygon in degrees, a frame of polygons (any CRS), a file, or a `Region`.

    Returns
    -------
    Region
        The region.

    Raises
    ------
    UsageError
        If it is no region, or one that no local projection holds.
    """
    region = _read_region(stated)
    require_sound(region)
    require_inhabited(region)
    return region


def _read_region(stated: RegionLike) -> Region:
    if isinstance(stated, Region):
        return stated
    if isinstance(stated, str | os.PathLike):
        return parse_region(str(stated))
    if hasattr(stated, "geom_type") and hasattr(stated, "bounds") and isinstance(stated.geom_type, str):
        return _of_polygon(stated)
    if hasattr(stated, "union_all"):
        return _of_frame(stated)
    try:
        west, south, east, north = (float(edge) for edge in stated)
    except (TypeError, ValueError):
        raise UsageError(f"region {_shorten(stated)}: {_STATED}.") from None
    if not np.isfinite([west, south, east, north]).all():
        raise UsageError(f"region {_shorten(stated)}: its edges must be finite numbers; {_STATED}.")
    return Region(west, south, east, north)


def _of_frame(frame: Any) -> Region:
    if frame.crs is None:
        raise UsageError("region: the frame states no CRS. Say which one it is in: frame.set_crs(4326).")
    return _of_polygon(frame.to_crs(4326).union_all())


def _of_polygon(shape: Any) -> Region:
    if shape.is_empty or shape.geom_type not in {"Polygon", "MultiPolygon"}:
        raise UsageError(f"region: must be a polygon that is not empty, got {shape.geom_type}.")
    west, south, east, north = shape.bounds
    import shapely

    plain = None if shape.equals(shapely.box(west, south, east, north)) else shape
    return Region(west, south, east, north, polygon=plain)


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def describe_region(stated: RegionLike, folder: Path) -> str | None:
    """Return a region as a command is told of it: `W,S,E,N`, or a file of polygons, which is written into a folder."""
    if stated is None or isinstance(stated, str | os.PathLike):
        return None if stated is None else str(stated)
    region = as_region(stated)
    if region.polygon is None:
        return ",".join(repr(float(edge)) for edge in (region.west, region.south, region.east, region.north))
    import geopandas

    path = folder / "region.parquet"
    geopandas.GeoSeries([region.polygon], crs=4326).to_frame("geometry").to_parquet(path)
    return str(path)
