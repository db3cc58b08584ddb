"""The public hierarchy of places: its levels from columns or from files of areas, and its sensitivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError, UsageError
from geodp.geometry import Array
from geodp.model import did_you_mean
from geodp.storage.files import is_regular
from geodp.tables.formats import read_areas
from geodp.tables.visits.histories import Integers, Names, Venues


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Nested areas, coarsest first: the unit of every venue at every level."""

    levels: tuple[str, ...]
    units: Mapping[str, Integers]
    """Per level, the number of the unit that holds each venue."""
    x_m: Array
    y_m: Array

    def sensitivity_m(self, level: str) -> float:
        """Return HS of a level, metres: the largest distance between places of two units with the same parent.

        The book says "maximal distance within this city" and draws the distance between cities; this reading fits both:
        places of one parent (streets of a city, cities of a country) are at most this far apart, so a score that
        lies in a parent changes by at most HS. The parent of the coarsest level is everything.
        """
        parent = self.parent_of(level)
        groups = np.zeros(self.x_m.size, dtype=np.int64) if parent is None else self.units[parent]
        return max(diameter_m(self.x_m[groups == unit], self.y_m[groups == unit]) for unit in np.unique(groups))

    def parent_of(self, level: str) -> str | None:
        """Return the level above (None above the coarsest)."""
        self.require(level)
        place = self.levels.index(level)
        return self.levels[place - 1] if place else None

    def require(self, level: str) -> None:
        """Refuse a level that is not there."""
        if level not in self.levels:
            known = ", ".join(self.levels) or "none"
            raise UsageError(f"no level called '{level}'.{did_you_mean(level, self.levels)} Levels: {known}.")


def hierarchy_of(venues: Venues, levels: Sequence[str] | None = None) -> Hierarchy:
    """Return the hierarchy that the named columns of the venue list state, coarsest first.

    Without names, all level columns are used, ordered by how many units they have. A unit is known by its name and
    those above it: two cities may have a Main Street.
    """
    names = list(venues.levels) if levels is None else list(levels)
    for name in names:
        if name not in venues.levels:
            raise UsageError(f"the venue list has no level '{name}'.{did_you_mean(name, venues.levels)}")
        empty = np.array([value is None or str(value) in ("", "nan") for value in venues.levels[name]])
        if empty.any():
            raise DataError(
                f"the hierarchy has gaps: {np.count_nonzero(empty):,} venues have no {name} (the first is "
                f"'{venues.name[np.argmax(empty)]}'). Give every venue one, or leave such venues out "
                "(--leave-out of geodp publish visits). Nothing was released or charged."
            )
    if levels is None:
        names.sort(key=lambda name: len(set(venues.levels[name].tolist())))
    units: dict[str, Integers] = {}
    above = np.zeros(venues.size, dtype=np.int64)
    for name in names:
        own = np.unique(venues.levels[name].astype(str), return_inverse=True)[1].reshape(-1)
        above = np.unique(above * (int(own.max()) + 1) + own, return_inverse=True)[1].reshape(-1).astype(np.int64)
        units[name] = above
    x_m, y_m = venues.places_m()
    return Hierarchy(tuple(names), units, x_m, y_m)


def units_from_areas(lon: Array, lat: Array, areas: object, name_column: str, *, gaps: bool = False) -> Names:
    """Return the name of the area that holds each place; refuse places in no area, and areas that overlap there.

    A place on the border of two areas belongs to the one that comes first.

    Parameters
    ----------
    lon, lat
        Places, degrees.
    areas
        A GeoDataFrame of polygons (a public gazetteer, from GeoJSON or GeoParquet).
    name_column
        Its column of names.
    gaps
        Return None for places in no area, or in several, instead of refusing them.
    """
    import geopandas
    import shapely

    if not isinstance(areas, geopandas.GeoDataFrame):
        raise UsageError("areas must be a GeoDataFrame of polygons")
    if name_column not in areas.columns:
        raise DataError(f"the areas have no column '{name_column}'. Found: {', '.join(map(str, areas.columns))}.")
    shapes, names = areas.to_crs("EPSG:4326").geometry.to_numpy(), areas[name_column].to_numpy(dtype=np.object_)
    points = shapely.points(lon, lat)
    place, area = shapely.STRtree(shapes).query(points, predicate="intersects")
    inside = shapely.contains_properly(shapes[area], points[place])
    doubled = _find_doubled(place[inside], names[area[inside]])
    if doubled and not gaps:
        raise DataError(
            f"{len(doubled):,} venues lie in more than one area (the first is venue {min(doubled)}): areas overlap, "
            "and a place needs one unit per level. Leave these venues out, or mend the areas. Nothing was released."
        )
    found: Names = np.full(len(points), None, dtype=np.object_)
    order = np.lexsort((-area, inside, place))  # the last one written wins: strictly inside, then the first in the file
    found[place[order]] = names[area[order]]
    found[list(doubled)] = None
    outside = np.array([name is None or str(name) in ("", "nan") for name in found])
    if outside.any() and not gaps:
        raise DataError(
            f"{np.count_nonzero(outside):,} venues lie outside every area (the first is venue {int(np.argmax(outside))}"
            "): the hierarchy has gaps. Leave these venues out, or take areas that cover them. Nothing was released."
        )
    found[outside] = None
    return found


def _find_doubled(place: Integers, name: Names) -> set[int]:
    """Return the places that lie strictly inside areas of different names."""
    seen: dict[int, str] = {}
    pairs = zip(place.tolist(), map(str, name), strict=True)
    return {number for number, unit in pairs if seen.setdefault(number, unit) != unit}


def diameter_m(x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> float:
    """Return the largest distance between two of the points: two corners of their convex hull."""
    from scipy.spatial import ConvexHull, QhullError
    from scipy.spatial.distance import pdist

    points = np.unique(np.column_stack([np.asarray(x_m), np.asarray(y_m)]), axis=0)
    if len(points) < 2:
        return 0.0
    if len(points) > 3:
        try:
            points = points[ConvexHull(points).vertices]
        except QhullError:  # all on one line: the ends are the first and last in order of x, then y
            points = points[[0, -1]]
    return float(pdist(points).max())


@dataclass(frozen=True)
class AreaFile:
    """A level of the hierarchy: a file of polygons and its column of names."""

    level: str
    path: Path
    column: str

    @classmethod
    def parse(cls, text: str) -> AreaFile:
        """Read `LEVEL=FILE:COLUMN`."""
        level, _, rest = text.partition("=")
        path, _, column = rest.rpartition(":")
        if not (level and path and column):
            raise UsageError(f"--areas {text}: write LEVEL=FILE:COLUMN, for example district=districts.geojson:name")
        return cls(level, Path(path), column)

    def units(self, lon: Array, lat: Array, *, gaps: bool) -> Names:
        """Return the area of every place; with `gaps`, None for places in no area instead of an error."""
        if not is_regular(self.path):
            raise DataError(f"{self.path}: no such file (areas of level '{self.level}')")
        frame = read_areas(self.path)
        try:
            return units_from_areas(lon, lat, frame, self.column, gaps=gaps)
        except DataError as error:
            raise DataError(f"{self.path.name} (level '{self.level}'): {error}") from None
