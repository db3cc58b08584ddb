"""What lies beneath: nothing, the user's own GeoJSON, or online tiles that wait to be chosen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.errors import DataError

if TYPE_CHECKING:
    from geodp.display.page import Page

TILES_HOST = "https://tile.openstreetmap.org"
TILES = {
    "title": "OpenStreetMap (asks the network)",
    "url": f"{TILES_HOST}/{{z}}/{{x}}/{{y}}.png",
    "attribution": '© <a href="https://www.openstreetmap.org/copyright">OpenStreetMap</a> contributors',
}
_MAX_VERTICES = 60_000
_FINEST_M = 2.0  # simplification starts at what one cannot see at street level


def draw_backdrop(path: Path, page: Page) -> None:
    """Draw the areas and lines of a file of geographic features, cut to the region and its surroundings."""
    import geopandas
    import shapely

    try:
        frame = geopandas.read_file(path)
    except Exception as error:
        raise DataError(f"map.basemap: {path} cannot be read as GeoJSON ({error})") from error
    shapes = frame.to_crs(4326).geometry if frame.crs is not None else frame.geometry
    west, south, east, north = page.region.box_m
    margin_m = 0.5 * max(east - west, north - south)
    box = shapely.box(west - margin_m, south - margin_m, east + margin_m, north + margin_m)

    def in_metres(points: Any) -> Any:
        return np.column_stack(page.region.projection.to_m(lon=points[:, 0], lat=points[:, 1]))

    cut = shapely.intersection(shapely.transform(shapely.force_2d(shapes.dropna().to_numpy()), in_metres), box)
    parts = shapely.get_parts(shapely.get_parts(cut))  # twice: collections of multi-parts
    size = shapely.get_dimensions(parts)
    polygons, lines = _simple_enough(parts[size == 2], parts[size == 1])
    if not (len(polygons) or len(lines)):
        page.note(f"basemap: no area or line of {path.name} lies near the region")
        return
    page.backdrop(polygons, lines)


def _simple_enough(polygons: Any, lines: Any) -> tuple[Any, Any]:
    """Simplify until a web page can carry it."""
    import shapely

    tolerance_m = _FINEST_M
    while True:
        areas = shapely.get_parts(shapely.simplify(polygons, tolerance_m))
        ways = shapely.simplify(lines, tolerance_m)
        areas = areas[shapely.area(areas) > tolerance_m**2]
        ways = ways[shapely.length(ways) > tolerance_m]
        if shapely.get_num_coordinates(areas).sum() + shapely.get_num_coordinates(ways).sum() <= _MAX_VERTICES:
            return areas, ways
        tolerance_m *= 2
