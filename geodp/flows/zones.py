"""Public zones: read from a file, and found for millions of places by a raster with an exact test at borders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError, UsageError
from geodp.geometry import Array, Projection, Region
from geodp.model import did_you_mean
from geodp.storage.files import is_regular
from geodp.tables.formats import read_areas

Integers = npt.NDArray[np.int64]
OUTSIDE = "outside"
"""What lies beyond all zones is one zone more, the last."""
RASTER = 1024
"""Cells across: 1,024² of them make 6 % of places need the exact test with 1,000 zones."""
_BORDER = -1
_NUDGE = 1e-7  # of a cell: where an edge meets a corner, the cells around it are all border
_SLIVER = 1e-8  # of the region: outlines drawn by hand miss each other a little
_OVERLAP = 1e-6  # of the smaller zone: outlines drawn by hand share a little


@dataclass(frozen=True, eq=False)
class ZoneMap:
    """Public zones by number; the number after the last stands for everything outside.

    Parameters
    ----------
    names
        Name of each zone.
    shapes
        Its polygon, degrees.
    district
        Number of its district.
    districts
        Names of the districts (one called `city` where none are given).
    """

    names: tuple[str, ...]
    shapes: npt.NDArray[Any]
    district: Integers
    districts: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many zones there are, `outside` among them."""
        return len(self.names) + 1

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names by number, `outside` last."""
        return (*self.names, OUTSIDE)

    @property
    def all_districts(self) -> tuple[str, ...]:
        """Names of districts by number, `outside` last."""
        return (*self.districts, OUTSIDE)

    @property
    def district_of(self) -> Integers:
        """The district of every zone; what is outside is a district of its own."""
        return np.append(self.district, len(self.districts))

    @cached_property
    def region(self) -> Region:
        """The box around all zones."""
        import shapely

        return Region(*(float(edge) for edge in shapely.total_bounds(self.shapes)))

    @cached_property
    def centres_m(self) -> tuple[Array, Array]:
        """Centres of the zones in metres; that of `outside` is not known (NaN)."""
        import shapely

        points = shapely.centroid(self.shapes)
        x_m, y_m = self.region.projection.to_m(lon=shapely.get_x(points), lat=shapely.get_y(points))
        return np.append(x_m, np.nan), np.append(y_m, np.nan)

    @property
    def projection(self) -> Projection:
        """The plane in which distances are measured."""
        return self.region.projection

    @cached_property
    def gaps(self) -> tuple[int, float]:
        """How many gaps the zones leave between them, and their area together, km²: who is there is outside."""
        import shapely

        whole = shapely.union_all(self.shapes)
        parts = shapely.get_parts(whole)
        holes = [ring for part in parts for ring in shapely.get_rings(part)[1:]]
        if not holes:
            return 0, 0.0
        shapes = shapely.transform(
            shapely.polygons(holes), lambda at: np.column_stack(self.projection.to_m(lon=at[:, 0], lat=at[:, 1]))
        )
        areas = shapely.area(shapes) / 1e6
        large = areas > _SLIVER * float(self.region.width_m * self.region.height_m) / 1e6
        return int(large.sum()), float(areas[large].sum())

    def locate(self, lon: Array, lat: Array) -> Integers:
        """Return the zone of each place: on a border the first of those that meet there, beyond all the last number.

        Parameters
        ----------
        lon, lat
            Places, degrees; what is not finite lies outside.
        """
        west, south, width, height, raster = self._raster
        with np.errstate(invalid="ignore"):
            column, row = np.floor((lon - west) / width), np.floor((lat - south) / height)
            inside = (column >= 0) & (column < RASTER) & (row >= 0) & (row < RASTER)
        cell = np.where(inside, row * RASTER + column, 0).astype(np.int32)
        zone = raster[cell]
        zone[~inside] = len(self.names)
        border = np.flatnonzero(zone == _BORDER)
        zone[border] = self._test(lon[border], lat[border])
        return zone.astype(np.int64)

    def _test(self, lon: Array, lat: Array) -> npt.NDArray[np.int32]:
        """Find zones exactly."""
        import shapely

        found = np.full(lon.size, len(self.names), dtype=np.int32)
        place, zone = self._tree.query(shapely.points(lon, lat), predicate="intersects")
        np.minimum.at(found, place, zone.astype(np.int32))
        return found

    @cached_property
    def _tree(self) -> Any:
        import shapely

        shapely.prepare(self.shapes)
        return shapely.STRtree(self.shapes)

    @cached_property
    def _raster(self) -> tuple[float, float, float, float, npt.NDArray[np.int32]]:
        """Return origin and sides of the cells, and the zone of each: the border's is found place by place."""
        region = self.region
        margin_x, margin_y = ((high - low) / RASTER for low, high in
                              ((region.west, region.east), (region.south, region.north)))  # fmt: skip
        west, south = region.west - margin_x, region.south - margin_y
        width = (region.east + margin_x - west) / RASTER
        height = (region.north + margin_y - south) / RASTER
        border = mark_border(self.shapes, (west, south, width, height))
        raster = np.full(RASTER * RASTER, _BORDER, dtype=np.int32)
        # Along a row, cells between two of the border lie in one zone: one place tells it for all of them.
        free = ~border.reshape(RASTER, RASTER)
        begins = free & ~np.pad(free, ((0, 0), (1, 0)))[:, :-1]
        first = np.flatnonzero(begins.ravel())
        stretch = np.cumsum(begins.ravel()) - 1
        row, column = np.divmod(first, RASTER)
        zone = self._test(west + (column + 0.5) * width, south + (row + 0.5) * height)
        raster[~border] = zone[stretch[~border]]
        return west, south, width, height, raster


def mark_border(shapes: npt.NDArray[Any], frame: tuple[float, float, float, float]) -> npt.NDArray[np.bool_]:
    """Tell which cells of the raster an outline runs through: no other cell lies in more than one zone."""
    import shapely

    west, south, width, height = frame
    rings = shapely.get_rings(shapes)
    points, ring = shapely.get_coordinates(rings, return_index=True)
    x, y = (points[:, 0] - west) / width, (points[:, 1] - south) / height
    edge = np.flatnonzero(ring[1:] == ring[:-1])
    x0, y0, x1, y1 = x[edge], y[edge], x[edge + 1], y[edge + 1]
    edges, shares = [np.arange(edge.size)] * 2, [np.zeros(edge.size), np.ones(edge.size)]
    for begin, end in ((x0, x1), (y0, y1)):  # where it crosses the lines between cells
        low, high = np.ceil(np.minimum(begin, end)), np.floor(np.maximum(begin, end))
        many = np.maximum(high - low + 1, 0).astype(np.int64)
        which = np.repeat(np.arange(edge.size), many)
        line = np.repeat(low, many) + np.arange(which.size) - np.repeat(np.cumsum(many) - many, many)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (line - begin[which]) / (end[which] - begin[which])
        edges.append(which)
        shares.append(np.clip(np.nan_to_num(share), 0.0, 1.0))
    which, share = np.concatenate(edges), np.concatenate(shares)
    order = np.lexsort((share, which))
    which, share = which[order], share[order]
    same = which[1:] == which[:-1]
    middle, of = ((share[1:] + share[:-1]) / 2)[same], which[1:][same]
    border = np.zeros(RASTER * RASTER, dtype=np.bool_)
    for numbers, at, nudges in ((of, middle, (0.0,)), (which, share, (-_NUDGE, _NUDGE))):
        px, py = x0[numbers] + at * (x1 - x0)[numbers], y0[numbers] + at * (y1 - y0)[numbers]
        for dx in nudges:
            for dy in nudges:
                column = np.clip(np.floor(px + dx), 0, RASTER - 1).astype(np.int64)
                row = np.clip(np.floor(py + dy), 0, RASTER - 1).astype(np.int64)
                border[row * RASTER + column] = True
    return border


def read_zones(path: Path, column: str, districts: str | None = None) -> ZoneMap:
    """Read a public file of zones, in any format that holds polygons.

    Parameters
    ----------
    path, column
        The file, and its column of names; polygons of one name are one zone.
    districts
        Column of the district of each zone (None: all are of one district, `city`).

    Raises
    ------
    DataError
        If it cannot be read, lacks a column or a name, or zones overlap.
    """
    if not is_regular(path):
        raise DataError(f"{path}: no such file (zones).")
    frame = read_areas(path).to_crs("EPSG:4326")
    for name in filter(None, (column, districts)):
        if name not in frame.columns:
            raise DataError(
                f"{path.name}: the zones have no column '{name}'.{did_you_mean(name, list(map(str, frame.columns)))} "
                f"Found: {', '.join(map(str, frame.columns))}."
            )
        if frame[name].isna().any() or (frame[name].astype(str) == "").any():
            raise DataError(f"{path.name}: row {int(frame[name].isna().argmax()) + 1} has no {name}.")
    above = None if districts is None else frame[districts].astype(str).tolist()
    return make_zones(frame[column].astype(str).tolist(), frame.geometry.to_numpy(), above, where=path.name)


def make_zones(
    names: list[str], shapes: npt.NDArray[Any], districts: list[str] | None = None, *, where: str = "zones"
) -> ZoneMap:
    """Make zones of polygons in degrees.

    Parameters
    ----------
    names, shapes
        Name and polygon of each; polygons of one name are one zone.
    districts
        The district of each (None: one for all).
    where
        What messages call the file.
    """
    import shapely

    if OUTSIDE in names:
        raise DataError(f"{where}: a zone is called '{OUTSIDE}', which is what lies beyond all zones. Rename it.")
    kept = list(dict.fromkeys(names))
    above = dict(zip(names, districts or ["city"] * len(names), strict=True))
    for name, district in zip(names, districts or ["city"] * len(names), strict=True):
        if above[name] != district:
            raise DataError(f"{where}: zone '{name}' lies in two districts, '{district}' and '{above[name]}'.")
    merged = np.array(shapes, dtype=np.object_)
    if len(kept) < len(names):
        by_name: dict[str, list[Any]] = {name: [] for name in kept}
        for name, shape in zip(names, shapes, strict=True):
            by_name[name].append(shape)
        merged = np.array([shapely.union_all(parts) for parts in by_name.values()], dtype=np.object_)
    if (bad := ~shapely.is_valid(merged)).any():
        raise DataError(f"{where}: the outline of zone '{kept[int(bad.argmax())]}' crosses itself. Mend the file.")
    _require_apart(kept, merged, where)
    levels = sorted(set(above.values()))
    if OUTSIDE in levels:
        raise DataError(f"{where}: a district is called '{OUTSIDE}', which is what lies beyond all. Rename it.")
    number = np.array([levels.index(above[name]) for name in kept], dtype=np.int64)
    return ZoneMap(tuple(kept), merged, number, tuple(levels))


def _require_apart(names: list[str], shapes: npt.NDArray[Any], where: str) -> None:
    import shapely

    first, second = shapely.STRtree(shapes).query(shapes, predicate="intersects")
    first, second = first[first < second], second[first < second]
    shared = shapely.area(shapely.intersection(shapes[first], shapes[second]))
    least = np.minimum(shapely.area(shapes[first]), shapely.area(shapes[second]))
    if (over := shared > _OVERLAP * least).any():
        a, b = names[first[over][0]], names[second[over][0]]
        raise DataError(f"{where}: zones '{a}' and '{b}' overlap: a place needs one zone. Mend the file.")


def parse_zones(text: str) -> tuple[Path, str]:
    """Read `FILE:COLUMN`."""
    path, _, column = text.rpartition(":")
    if not (path and column):
        raise UsageError(f"--zones {text}: write FILE:COLUMN, for example zones.geojson:name")
    return Path(path), column
