"""What lies beneath: nothing, generated streets, the user's own file, or online tiles; and names of places."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.errors import DataError, UsageError
from geodp.geometry import read_features

if TYPE_CHECKING:
    import geopandas

    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder

TILES_HOST = "https://tile.openstreetmap.org"
TILES = {
    "title": "OpenStreetMap (asks the network)",
    "url": f"{TILES_HOST}/{{z}}/{{x}}/{{y}}.png",
    "attribution": '© <a href="https://www.openstreetmap.org/copyright">OpenStreetMap</a> contributors',
}
_MAX_VERTICES = 60_000
_MAX_NAMES = 500
_FINEST_M = 2.0  # simplification starts at what one cannot see at street level


def draw_ground(
    run: RunFolder, page: Page, *, basemap: str | Path | None = None, places: str | Path | None = None
) -> str:
    """Draw streets or a file beneath and names of places on top, as given or else as the scenario's `map` has it.

    Returns which basemap it is; tiles are added by the page.
    """
    chosen = str(basemap) if basemap is not None else run.scenario.map.basemap
    if chosen == "streets":
        _draw_streets(run, page)
    elif chosen not in ("none", "osm"):
        draw_backdrop(_require_file(basemap, "--basemap", "none, streets, osm or") or run.basemap_file, page)
    gazetteer = _require_file(places, "--places", "") or run.places_file
    if gazetteer is not None:
        draw_names(gazetteer, page)
    return chosen


def _require_file(name: str | Path | None, option: str, others: str) -> Path | None:
    """Return the file that was given (None: none was), or say that there is none of that name."""
    if name is not None and not Path(name).is_file():
        raise UsageError(f"{option}: there is no file {name}. Give {others} the path of a file.".replace("  ", " "))
    return None if name is None else Path(name)


def _draw_streets(run: RunFolder, page: Page) -> None:
    """Draw generated streets: they show sizes and ways, not a place that exists."""
    import shapely

    streets = run.streets
    ends = np.stack([streets.tail, streets.head], axis=1)
    sides = np.stack([streets.x_m[ends], streets.y_m[ends]], axis=2)
    ways = [_join(shapely.linestrings(sides[kind])) for kind in (~streets.arterial, streets.arterial)]
    page.backdrop("Streets (generated)", lines=ways[0], main=ways[1])
    page.note("streets are generated: they are those of no real place")


def _join(sides: Any) -> Any:
    """Return streets that go on as one line each: a page holds every corner once."""
    import shapely

    return shapely.get_parts(shapely.line_merge(shapely.multilinestrings(sides))) if len(sides) else sides


def draw_backdrop(path: Path | None, page: Page) -> None:
    """Draw the areas and lines of a file of geographic features, cut to the region and its surroundings."""
    import shapely

    if path is None:
        return

    shapes = _read_features(path, "map.basemap").geometry
    west, south, east, north = page.region.box_m
    margin_m = 0.5 * max(east - west, north - south)
    box = shapely.box(west - margin_m, south - margin_m, east + margin_m, north + margin_m)

    def in_metres(points: Any) -> Any:
        return np.column_stack(page.region.projection.to_m(lon=points[:, 0], lat=points[:, 1]))

    cut = shapely.intersection(shapely.transform(shapely.force_2d(shapes.dropna().to_numpy()), in_metres), box)
    parts = shapely.get_parts(shapely.get_parts(cut))  # twice: collections of multi-parts
    size = shapely.get_dimensions(parts)
    areas, lines = _simple_enough(parts[size == 2], parts[size == 1])
    if not (len(areas) or len(lines)):
        page.note(f"basemap: no area or line of {path.name} lies near the region")
    page.backdrop("Basemap", areas=areas, lines=lines)


def draw_names(path: Path, page: Page) -> None:
    """Write the names of a gazetteer's places inside the region, those with the most people first."""
    frame = _read_gazetteer(path)
    x_m, y_m = page.region.projection.to_m(lon=frame["lon"].to_numpy(), lat=frame["lat"].to_numpy())
    inside = page.region.contains(x_m, y_m)
    if not inside.any():
        page.note(f"names of places: none of {path.name} lies in the region")
        return
    order = np.argsort(-frame["population"].to_numpy()[inside], kind="stable")
    if order.size > _MAX_NAMES:
        page.note(f"{_MAX_NAMES:,} of {order.size:,} names of places")
    chosen = np.flatnonzero(inside)[order[:_MAX_NAMES]]
    names = frame["name"].astype(str).to_numpy()[chosen].tolist()
    page.labels("Names of places", x_m[chosen], y_m[chosen], names)


def _read_features(path: Path, key: str) -> geopandas.GeoDataFrame:
    """Return the features of a file in degrees."""
    try:
        frame = read_features(path, lines=True)
    except Exception as error:
        raise DataError(f"{key}: {path} cannot be read as lines and areas ({error})") from error
    return frame if frame.crs is None else frame.to_crs(4326)


def _read_gazetteer(path: Path) -> Any:
    """Return places with `lon`, `lat`, `name` and `population` (0 where nobody says)."""
    import pandas as pd

    if path.suffix.lower() == ".csv":
        try:
            frame = pd.read_csv(path)
        except Exception as error:
            raise DataError(f"map.places: {path} cannot be read as csv ({error})") from error
    else:
        features = _read_features(path, "map.places")
        features = features[features.geometry.notna() & ~features.geometry.is_empty]
        middle = features.geometry.representative_point()
        frame = pd.DataFrame(features.drop(columns=features.geometry.name)).assign(lon=middle.x, lat=middle.y)
    missing = [name for name in ("lon", "lat", "name") if name not in frame]
    if missing:
        raise DataError(
            f"map.places: {path} has no column {', '.join(missing)}. A gazetteer has points with a name, or the "
            "columns lon, lat, name (and population, where the larger places should come first)."
        )
    for column in ("lon", "lat"):
        frame[column] = pd.to_numeric(frame[column], errors="coerce")
    people = frame["population"] if "population" in frame else pd.Series(0.0, index=frame.index)
    frame["population"] = pd.to_numeric(people, errors="coerce").fillna(0.0)
    return frame.dropna(subset=["lon", "lat", "name"])


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
