"""Regions, the local projection and regular grids: the only file that knows what a CRS is.

Inside geodp a place is `x_m, y_m`: metres east and north of the centre of the region's bounding box, in an
equirectangular projection about that centre (equirectangular). At the edges it is `lon, lat`, by keyword.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.storage.features import read_features as read_features  # noqa: PLC0414 - public files, for every room
from geodp.storage.features import read_places as read_places  # noqa: PLC0414
from geodp.storage.files import is_regular

if TYPE_CHECKING:
    from pathlib import Path

Array = npt.NDArray[np.float64]
EARTH_RADIUS_M = 6_371_008.8  # mean radius (IUGG)
EQUATOR_RADIUS_M = 6_378_137.0  # of the ellipsoid (WGS 84)
FLATTENING = 1 / 298.257223563
MAX_STRETCH = 1.05  # beyond this a local projection misstates distances, hence privacy
MAX_POLYGON_BYTES = 32 << 20
MIN_SIDE_M = 1.0  # degrees have no more digits to tell places apart in much less
MAX_WIDTH_DEGREES = 60.0  # beyond this the shortest way between two places leaves the region far behind


@dataclass(frozen=True)
class Projection:
    """Equirectangular projection about one point: exact north-south, and east-west at that latitude."""

    lon: float
    lat: float

    def to_m(self, *, lon: npt.ArrayLike, lat: npt.ArrayLike) -> tuple[Array, Array]:
        """Project degrees to metres; longitudes are taken the short way round the 180th meridian."""
        east = np.mod(np.asarray(lon, dtype=np.float64) - self.lon + 180.0, 360.0) - 180.0
        north = np.asarray(lat, dtype=np.float64) - self.lat
        return np.radians(east) * (EARTH_RADIUS_M * self._shrink), np.radians(north) * EARTH_RADIUS_M

    def to_lonlat(self, *, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> tuple[Array, Array]:
        """Project metres back to degrees, longitudes in [-180, 180)."""
        east = np.degrees(np.asarray(x_m, dtype=np.float64) / (EARTH_RADIUS_M * self._shrink))
        north = np.degrees(np.asarray(y_m, dtype=np.float64) / EARTH_RADIUS_M)
        return np.mod(self.lon + east + 180.0, 360.0) - 180.0, self.lat + north

    @property
    def _shrink(self) -> float:
        return math.cos(math.radians(self.lat))


@dataclass(frozen=True)
class Region:
    """A public area: a box in degrees, or the polygon inside that box.

    Parameters
    ----------
    west, south, east, north
        Edges of the box, degrees.

    Examples
    --------
    >>> from geodp.geometry import Region
    >>> town = Region(10.0, 50.0, 10.08, 50.05)
    >>> round(town.width_m), round(town.height_m)
    (5715, 5560)
    >>> bool(town.contains(0.0, 0.0))
    True
    """

    west: float
    south: float
    east: float
    north: float
    polygon: Any = None
    """Shapely polygon in degrees, or None for the whole box."""

    @cached_property
    def projection(self) -> Projection:
        """The local projection about the centre of the box."""
        return Projection((self.west + self.east) / 2, (self.south + self.north) / 2)

    @cached_property
    def box_m(self) -> tuple[float, float, float, float]:
        """West, south, east and north edge in metres."""
        x_m, y_m = self.projection.to_m(lon=[self.west, self.east], lat=[self.south, self.north])
        return float(x_m[0]), float(y_m[0]), float(x_m[1]), float(y_m[1])

    @property
    def width_m(self) -> float:
        """East-west side of the box."""
        return self.box_m[2] - self.box_m[0]

    @property
    def height_m(self) -> float:
        """North-south side of the box."""
        return self.box_m[3] - self.box_m[1]

    @cached_property
    def polygon_m(self) -> Any:
        """The polygon in metres (None for a box)."""
        if self.polygon is None:
            return None
        import shapely

        def project(points: Array) -> Array:
            return np.column_stack(self.projection.to_m(lon=points[:, 0], lat=points[:, 1]))

        return shapely.transform(self.polygon, project)

    @cached_property
    def area_m2(self) -> float:
        """Area of the polygon, or of the box."""
        return self.width_m * self.height_m if self.polygon is None else float(self.polygon_m.area)

    @cached_property
    def stretch(self) -> float:
        """The most by which the projection shows any two places of the box further apart than they are (at least 1).

        True distances are geodesics of the ellipsoid. Along one, the plane's metric exceeds the true one by at most
        R·cos φ₀ / (N(φ)·cos φ) east-west, which grows towards the poles, and by R / M(φ) north-south, which grows
        towards the equator. A geodesic between places of latitude at most φ that lie Δλ apart goes no nearer to the
        pole than tan φ' = tan φ / cos(Δλ / 2(1 - f)): on the auxiliary sphere it is a great circle in reduced latitude,
        whose longitude exceeds the true one by at most the factor 1/(1 - f).
        """
        half_turn = math.radians(self.east - self.west) / 2 / (1 - FLATTENING)
        farthest = math.radians(max(abs(self.south), abs(self.north)))
        if half_turn >= math.pi / 2 or farthest >= math.pi / 2:
            return math.inf
        poleward = math.atan(math.tan(farthest) / math.cos(half_turn))
        nearest = 0.0 if self.south <= 0 <= self.north else min(abs(self.south), abs(self.north))
        middle = math.cos(math.radians((self.south + self.north) / 2))
        east_west = EARTH_RADIUS_M * middle / _parallel_radius_m(poleward)
        north_south = EARTH_RADIUS_M / _meridian_radius_m(math.radians(nearest))
        return max(east_west, north_south, 1.0)

    def contains(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Tell which points lie in the region, edges included."""
        x, y = np.asarray(x_m, dtype=np.float64), np.asarray(y_m, dtype=np.float64)
        west, south, east, north = self.box_m
        inside = (x >= west) & (x <= east) & (y >= south) & (y <= north)
        if self.polygon is not None:
            import shapely

            inside &= shapely.intersects_xy(self.polygon_m, x, y)
        return np.asarray(inside, dtype=np.bool_)

    def clamp(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> tuple[Array, Array]:
        """Move points outside the box to its nearest point."""
        west, south, east, north = self.box_m
        x, y = np.asarray(x_m, dtype=np.float64), np.asarray(y_m, dtype=np.float64)
        return np.clip(x, west, east), np.clip(y, south, north)

    def sample(self, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw points uniformly in the region."""
        west, south, east, north = self.box_m
        if self.polygon is None:
            return rng.uniform(west, east, count), rng.uniform(south, north, count)
        x, y = np.empty(0), np.empty(0)
        while x.size < count:  # rejection from the box; the share inside is the polygon's share of it
            share = max(self.area_m2 / (self.width_m * self.height_m), 1e-3)
            tries = int((count - x.size) / share * 1.1) + 16
            new_x, new_y = rng.uniform(west, east, tries), rng.uniform(south, north, tries)
            keep = self.contains(new_x, new_y)
            x, y = np.concatenate([x, new_x[keep]]), np.concatenate([y, new_y[keep]])
        return x[:count], y[:count]


def _parallel_radius_m(latitude: float) -> float:
    """Return the radius of a circle of latitude on the ellipsoid, N(φ)·cos φ."""
    eccentricity2 = FLATTENING * (2 - FLATTENING)
    return EQUATOR_RADIUS_M * math.cos(latitude) / math.sqrt(1 - eccentricity2 * math.sin(latitude) ** 2)


def _meridian_radius_m(latitude: float) -> float:
    """Return the radius of curvature of a meridian of the ellipsoid, M(φ)."""
    eccentricity2 = FLATTENING * (2 - FLATTENING)
    return float(EQUATOR_RADIUS_M * (1 - eccentricity2) / (1 - eccentricity2 * math.sin(latitude) ** 2) ** 1.5)


def region_from_file(path: Path) -> Region:
    """Read a region from a file of polygons (GeoJSON, GeoPackage, GeoParquet, GPX, …): the union of its areas."""
    if not is_regular(path):
        raise DataError(f"{str(path)[:250]}: no such file")
    state = path.stat()
    if state.st_size > MAX_POLYGON_BYTES:
        raise DataError(
            f"{path}: has {state.st_size >> 20:,} MB; a file of polygons has at most {MAX_POLYGON_BYTES >> 20}: "
            "simplify the outlines"
        )
    return _region_in_state(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=8)  # a scenario asks for its region many times
def _region_in_state(path: Path, size: int, changed_ns: int) -> Region:  # noqa: ARG001 - they tell its states apart

    try:
        frame = read_features(path)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path}: cannot be read as polygons ({error})") from error
    try:
        shape = frame.to_crs(4326).union_all() if frame.crs is not None else frame.union_all()
    except Exception as error:
        raise DataError(f"{path}: its areas cannot be put together ({error})") from error
    if shape.is_empty or shape.geom_type not in {"Polygon", "MultiPolygon"}:
        raise DataError(f"{path}: holds no polygon (found {shape.geom_type})")
    west, south, east, north = shape.bounds
    return Region(west, south, east, north, polygon=shape)


def region_problems(west: float, south: float, east: float, north: float) -> list[str]:
    """Say everything that is wrong with a box in degrees."""
    problems = []
    if max(abs(south), abs(north)) > 90 and max(abs(west), abs(east)) <= 90:
        problems.append(
            f"latitudes must lie between -90 and 90, got south {south:g}, north {north:g}; "
            "lat and lon look swapped: west and east are longitudes, south and north latitudes"
        )
    elif max(abs(south), abs(north)) >= 90:
        problems.append(
            f"latitudes must lie between -90 and 90, the poles left out, got south {south:g}, north {north:g}"
        )
    if max(abs(west), abs(east)) > 180:
        problems.append(
            f"longitudes must lie between -180 and 180, got west {west:g}, east {east:g}; "
            "a region across the 180th meridian is not supported: use the part on one side"
        )
    if south >= north:
        problems.append(f"the region is empty: south ({south:g}) must be less than north ({north:g})")
    if west == east:
        problems.append(f"the region is empty: west ({west:g}) must be less than east ({east:g})")
    elif west > east:
        problems.append(
            f"west ({west:g}) must be less than east ({east:g}); if the region lies across the 180th "
            "meridian (the date line), that is not supported: use the part on one side"
        )
    if not problems:
        box = Region(west, south, east, north)
        stretch = box.stretch
        if east - west > MAX_WIDTH_DEGREES:
            problems.append(
                f"the region is {east - west:g} degrees wide, and a local projection holds at most "
                f"{MAX_WIDTH_DEGREES:g}: choose a smaller box; of places on both sides of the 180th meridian, one side"
            )
        elif stretch > MAX_STRETCH:
            problems.append(
                f"the region is too large for a local projection (distances would be off by "
                f"{stretch - 1:.0%}; at most {MAX_STRETCH - 1:.0%}): choose a smaller box"
            )
        elif min(box.width_m, box.height_m) < MIN_SIDE_M:
            problems.append(
                f"the region is {box.width_m:.3g} m wide and {box.height_m:.3g} m high; at least {MIN_SIDE_M:g} m each "
                "way are needed to have places in it: choose a larger box (edges are in degrees)"
            )
    return problems


@dataclass(frozen=True)
class Grid:
    """Equal rectangular cells that tile a box; row 0 is the southern row, index = row * columns + column.

    Parameters
    ----------
    west_m, south_m
        South-western corner, metres.
    cell_x_m, cell_y_m
        Sides of a cell, metres.
    columns, rows
        Number of cells each way.

    Examples
    --------
    >>> from geodp.geometry import Grid
    >>> grid = Grid(0.0, 0.0, 100.0, 100.0, columns=3, rows=2)
    >>> grid.locate([50.0, 250.0, 999.0], [50.0, 150.0, 0.0]).tolist()
    [0, 5, -1]
    """

    west_m: float
    south_m: float
    cell_x_m: float
    cell_y_m: float
    columns: int
    rows: int

    @classmethod
    def fit(cls, region: Region, cell_m: float) -> Grid:
        """Tile the region's box with cells as near to squares of side `cell_m` as whole numbers allow.

        Fitting instead of overhanging keeps edge cells as large as the others, so their density is unbiased.
        """
        columns = max(1, round(region.width_m / cell_m))
        rows = max(1, round(region.height_m / cell_m))
        return cls.divide(region, columns, rows)

    @classmethod
    def divide(cls, region: Region, columns: int, rows: int) -> Grid:
        """Tile the region's box with so many cells across and along."""
        west, south, _, _ = region.box_m
        return cls(
            west_m=west,
            south_m=south,
            cell_x_m=region.width_m / columns,
            cell_y_m=region.height_m / rows,
            columns=columns,
            rows=rows,
        )

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.columns * self.rows

    @property
    def cell_area_m2(self) -> float:
        """Area of one cell."""
        return self.cell_x_m * self.cell_y_m

    def locate(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return each point's cell index; points on the outer edge belong to the edge cell, others get -1."""
        x = np.asarray((np.asarray(x_m, dtype=np.float64) - self.west_m) / self.cell_x_m)
        y = np.asarray((np.asarray(y_m, dtype=np.float64) - self.south_m) / self.cell_y_m)
        edge = 1e-9  # the far edge may lie a rounding error beyond columns * cell
        inside = (x >= -edge) & (x <= self.columns + edge) & (y >= -edge) & (y <= self.rows + edge)
        column = np.clip(np.floor(x, out=x), 0, self.columns - 1, out=x)  # in place: there may be many millions
        row = np.clip(np.floor(y, out=y), 0, self.rows - 1, out=y)
        row *= self.columns
        row += column
        row[~inside] = -1
        return row.astype(np.int64)

    def count(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Count points per cell; points outside are not counted."""
        cell = self.locate(x_m, y_m)
        return np.bincount(cell[cell >= 0], minlength=self.size)

    def edges(self) -> tuple[Array, Array, Array, Array]:
        """Return west, south, east and north edge of every cell, in index order."""
        column = np.tile(np.arange(self.columns, dtype=np.float64), self.rows)
        row = np.repeat(np.arange(self.rows, dtype=np.float64), self.columns)
        west, south = self.west_m + column * self.cell_x_m, self.south_m + row * self.cell_y_m
        return west, south, west + self.cell_x_m, south + self.cell_y_m

    def centres(self) -> tuple[Array, Array]:
        """Return the x of every column's centre and the y of every row's centre."""
        x = self.west_m + (np.arange(self.columns, dtype=np.float64) + 0.5) * self.cell_x_m
        y = self.south_m + (np.arange(self.rows, dtype=np.float64) + 0.5) * self.cell_y_m
        return x, y

    def all_centres(self) -> tuple[Array, Array]:
        """Return x and y of the centre of every cell."""
        x, y = self.centres()
        return np.tile(x, self.rows), np.repeat(y, self.columns)
