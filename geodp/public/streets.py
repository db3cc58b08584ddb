"""Public streets: lines read from a file, and the network that they make.

Crossings and bends of a file's lines are one place where their coordinates are the same to a decimetre; lines that
cross without a common place (bridges) are not joined. Streets are passable both ways, whatever a column of one-way
streets says: synthetic trips are to lie on streets, not to obey signs. Islands that cannot be reached from the largest
part are left out, and so is what lies outside the region.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.geometry import Array, Region, read_features

if TYPE_CHECKING:
    import geopandas

Integers = npt.NDArray[np.int64]
_SAME_M = 0.1
_LONGEST_M = 250.0
"""A street without a crossing is cut in pieces of about this length: trips begin and end at the ends of pieces."""
_DEFAULT_KMH = 35.0
_SPEED_COLUMNS = ("speed_kmh", "maxspeed", "speed")
_CLASS_COLUMNS = ("highway", "fclass", "MTFCC", "class")
_KMH_OF_CLASS = {
    "motorway": 100.0,
    "motorway_link": 60.0,
    "trunk": 80.0,
    "trunk_link": 50.0,
    "primary": 55.0,
    "secondary": 50.0,
    "tertiary": 45.0,
    "residential": 30.0,
    "unclassified": 35.0,
    "living_street": 15.0,
    "service": 20.0,
    "S1100": 100.0,
    "S1200": 55.0,
    "S1400": 35.0,
    "S1630": 60.0,
    "S1640": 30.0,
    "S1730": 15.0,
    "S1740": 20.0,
}
_MPS_OF_KMH = 1 / 3.6
_COARSE = 10
_LEAST_COVER = 0.05


@dataclass(frozen=True, eq=False)
class StreetNetwork:
    """Crossings and the streets between them; every crossing can be reached from every other.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.public.streets import network_of_segments
    >>> square = network_of_segments(np.array([0.0, 100, 100, 0]), np.array([0.0, 0, 100, 100]),
    ...                              np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0]))
    >>> square.size, float(square.length_m.sum())
    (4, 400.0)
    """

    x_m: Array
    """Crossings, and places at which a long street is cut (m)."""
    y_m: Array
    tail: Integers
    """Crossing at which a street begins."""
    head: Integers
    speed_mps: Array
    """Speed on a free road."""
    first: Integers
    """Offsets of the streets' corners, both ends included."""
    corner_x_m: Array
    corner_y_m: Array
    left_out_m: float = 0.0
    """Length of streets that cannot be reached from the largest part, or lie outside the region."""

    @property
    def size(self) -> int:
        """Number of crossings."""
        return int(self.x_m.size)

    @cached_property
    def reached_m(self) -> Array:
        """Length of a street up to each of its corners."""
        step = np.append(0.0, np.hypot(np.diff(self.corner_x_m), np.diff(self.corner_y_m)))
        step[self.first[:-1]] = 0.0
        total = np.cumsum(step)
        return np.asarray(total - np.repeat(total[self.first[:-1]], np.diff(self.first)))

    @property
    def length_m(self) -> Array:
        """Length of each street."""
        return self.reached_m[self.first[1:] - 1]

    @property
    def travel_s(self) -> Array:
        """Time along each street on a free road."""
        return self.length_m / self.speed_mps

    @cached_property
    def middles(self) -> tuple[Array, Array]:
        """Place halfway between the ends of each street (m)."""
        return (self.x_m[self.tail] + self.x_m[self.head]) / 2, (self.y_m[self.tail] + self.y_m[self.head]) / 2

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(np.column_stack([self.x_m, self.y_m]))

    def nearest(self, x_m: Array, y_m: Array) -> Integers:
        """Return the crossings nearest to places."""
        return np.asarray(self._tree.query(np.column_stack([x_m, y_m]))[1], dtype=np.int64)

    def graph(self, weight: Array) -> Any:
        """Return the network as a sparse matrix of weights per street, both ways."""
        from scipy.sparse import csr_array

        ends = np.concatenate([self.tail, self.head]), np.concatenate([self.head, self.tail])
        return csr_array((np.concatenate([weight, weight]), ends), shape=(self.size, self.size))

    @cached_property
    def _keys(self) -> tuple[Integers, Integers]:
        key = np.concatenate([self.tail * self.size + self.head, self.head * self.size + self.tail])
        order = np.argsort(key)
        return key[order], order

    def street_between(self, tail: Integers, head: Integers) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """Return the streets from crossings to neighbouring ones, and whether they are followed backwards."""
        keys, order = self._keys
        place = order[np.searchsorted(keys, tail * self.size + head)]
        return place % self.tail.size, place >= self.tail.size

    def segments(self) -> tuple[Array, Array, Array, Array]:
        """Return the straight pieces of all streets: x and y of one end, x and y of the other."""
        begin = np.setdiff1d(np.arange(self.corner_x_m.size), self.first[1:] - 1)
        return (
            self.corner_x_m[begin],
            self.corner_y_m[begin],
            self.corner_x_m[begin + 1],
            self.corner_y_m[begin + 1],
        )

    def away_m(self, x_m: Array, y_m: Array) -> Array:
        """Return the distance of places from the nearest street."""
        import shapely

        west, south, east, north = self.segments()
        lines = shapely.linestrings(np.stack([np.column_stack([west, south]), np.column_stack([east, north])], axis=1))
        tree = shapely.STRtree(lines)
        points = shapely.points(x_m, y_m)
        return np.asarray(shapely.distance(points, lines[tree.nearest(points)]))


def open_streets(path: Path, region: Region) -> StreetNetwork:
    """Read the streets of a region as `read_streets` does; the last ones are kept, as long as the file stays."""
    if not path.exists():
        raise DataError(f"{path}: there is no such file of streets.")
    return _streets_in_state(path, region, path.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _streets_in_state(path: Path, region: Region, changed_ns: int) -> StreetNetwork:  # noqa: ARG001 - tells states apart
    return read_streets(path, region)


def read_streets(path: Path, region: Region) -> StreetNetwork:
    """Read public lines (GeoJSON, GeoParquet, GeoPackage, shapefile) as the streets of a region.

    Speeds follow from a column `speed_kmh`, `maxspeed` or `speed` (km/h), else from the class in `highway`, `fclass`,
    `MTFCC` or `class`, else they are 35 km/h.

    Parameters
    ----------
    path
        The file.
    region
        The public region; streets outside it are left out.

    Returns
    -------
    StreetNetwork
        The largest connected part of the streets inside the region.

    Raises
    ------
    DataError
        If the file cannot be read, holds no lines, or no streets that cover the region.
    """
    if not path.exists():
        raise DataError(f"{path}: there is no such file of streets.")
    try:
        table = read_features(path, lines=True)
        table = table if table.crs is None else table.to_crs(4326)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path}: cannot be read as lines of streets ({error})") from error
    table = table[table.geometry.notna() & ~table.geometry.is_empty].explode(ignore_index=True)
    table = table[table.geom_type.isin(["LineString", "LinearRing"])]
    if not len(table):
        raise DataError(f"{path}: holds no lines. Streets are lines: GeoJSON, GeoParquet, GeoPackage or shapefile.")
    return _network_of_lines(table, region, str(path))


def _network_of_lines(table: geopandas.GeoDataFrame, region: Region, name: str) -> StreetNetwork:
    import shapely

    places, line = shapely.get_coordinates(table.geometry.to_numpy(), return_index=True)
    x_m, y_m = region.projection.to_m(lon=places[:, 0], lat=places[:, 1])
    begin = np.flatnonzero(line[1:] == line[:-1])
    inside = region.contains(x_m, y_m)
    kept = begin[inside[begin] & inside[begin + 1]]
    step = np.hypot(np.diff(x_m), np.diff(y_m))
    outside_m = float(step[begin].sum() - step[kept].sum())
    if not kept.size:
        raise DataError(f"{name}: none of its {len(table):,} lines lies in the region. Are lon and lat swapped?")
    rounded = np.round(np.column_stack([x_m, y_m]) / _SAME_M).astype(np.int64)
    _, first, number = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    number = number.ravel()
    found = network_of_segments(
        x_m[first], y_m[first], number[kept], number[kept + 1], speed_mps=_speeds(table)[line[kept]]
    )
    _require_cover(found, region, name)
    return StreetNetwork(**{**vars_of(found), "left_out_m": found.left_out_m + outside_m})


def vars_of(network: StreetNetwork) -> dict[str, Any]:
    """Return the fields of a network by name."""
    from dataclasses import fields

    return {field.name: getattr(network, field.name) for field in fields(network)}


def _speeds(table: geopandas.GeoDataFrame) -> Array:
    """Return a speed for every line (m/s), from the columns that say something about it."""
    import pandas as pd

    kmh = pd.Series(np.nan, index=table.index)
    for column in _SPEED_COLUMNS:
        if column in table.columns:
            said = pd.to_numeric(table[column], errors="coerce")
            kmh = kmh.fillna(said.where((said > 0) & (said <= 200)))
    for column in _CLASS_COLUMNS:
        if column in table.columns:
            kmh = kmh.fillna(table[column].astype(str).map(_KMH_OF_CLASS))
    return np.asarray(kmh.fillna(_DEFAULT_KMH).to_numpy(dtype=np.float64) * _MPS_OF_KMH)


def _require_cover(network: StreetNetwork, region: Region, name: str) -> None:
    """Refuse streets of which the region holds a corner only: trips elsewhere would all be moved there."""
    west, south, east, north = region.box_m
    column = np.clip((network.x_m - west) / (east - west) * _COARSE, 0, _COARSE - 1).astype(np.int64)
    row = np.clip((network.y_m - south) / (north - south) * _COARSE, 0, _COARSE - 1).astype(np.int64)
    covered = np.unique(row * _COARSE + column).size / _COARSE**2
    if covered < _LEAST_COVER:
        raise DataError(
            f"{name}: its connected streets reach {covered:.0%} of the region only. Give the streets of the whole "
            "region, or a region that they cover."
        )


def network_of_segments(
    x_m: Array, y_m: Array, tail: Integers, head: Integers, speed_mps: Array | None = None
) -> StreetNetwork:
    """Return the network of straight pieces between places: the largest connected part, with bends taken together.

    A place with two neighbours is a bend, no crossing: pieces on either side are one street, unless it grows longer
    than 250 m.

    Parameters
    ----------
    x_m, y_m
        Places (m).
    tail, head
        Places at the ends of each piece.
    speed_mps
        Speed on each piece (default 35 km/h).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    speed = np.full(tail.size, _DEFAULT_KMH * _MPS_OF_KMH) if speed_mps is None else speed_mps
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    order = np.lexsort((-speed, high, low))  # of two pieces between the same places the quicker one counts
    low, high, speed = low[order], high[order], speed[order]
    kept = (low != high) & np.append(True, (np.diff(low) != 0) | (np.diff(high) != 0))
    low, high, speed = low[kept], high[kept], speed[kept]
    length = np.hypot(x_m[low] - x_m[high], y_m[low] - y_m[high])
    graph = coo_array((np.ones(low.size), (low, high)), shape=(x_m.size, x_m.size))
    _, part = connected_components(graph, directed=False)
    largest = int(np.argmax(np.bincount(part[low], length)))
    inside = part[low] == largest
    left_out = float(length[~inside].sum())
    ways = _join_bends(low[inside], high[inside], length[inside], speed[inside])
    return _assemble(x_m, y_m, ways, left_out)


@dataclass(frozen=True, eq=False)
class _Ways:
    """Chains of places between crossings, one after the other, and how fast each is."""

    places: list[list[int]]
    speed: list[float]


def _join_bends(low: Integers, high: Integers, length: Array, speed: Array) -> _Ways:
    """Follow pieces from crossing to crossing (or until they are long) through places with two neighbours."""
    ends = np.concatenate([low, high])
    order = np.argsort(ends, kind="stable")
    other = np.concatenate([high, low])[order].tolist()
    piece = np.tile(np.arange(low.size), 2)[order].tolist()
    size = int(ends.max()) + 1
    first = np.searchsorted(ends[order], np.arange(size + 1)).tolist()
    degree = np.bincount(ends, minlength=size)
    bend = (degree == 2).tolist()
    used, long_m, mps = [False] * low.size, length.tolist(), speed.tolist()
    ways = _Ways([], [])
    # Circles without any crossing begin anywhere, after everything else.
    starts = [*np.flatnonzero((degree > 0) & (degree != 2)).tolist(), *np.flatnonzero(degree == 2).tolist()]
    for start in starts:
        for leaving in range(first[start], first[start + 1]):
            if used[piece[leaving]]:
                continue
            chain, at, by, gone_m, took_s = [start], start, leaving, 0.0, 0.0
            while True:
                number = piece[by]
                used[number] = True
                at = other[by]
                chain.append(at)
                gone_m += long_m[number]
                took_s += long_m[number] / mps[number]
                onward = [way for way in range(first[at], first[at + 1]) if not used[piece[way]]]
                if gone_m >= _LONGEST_M or not bend[at] or len(onward) != 1:
                    ways.places.append(chain)
                    ways.speed.append(gone_m / max(took_s, 1e-9))
                    chain, gone_m, took_s = [at], 0.0, 0.0
                if not bend[at] or len(onward) != 1:
                    break
                by = onward[0]
    return ways


def _assemble(x_m: Array, y_m: Array, ways: _Ways, left_out_m: float) -> StreetNetwork:
    """Return the network of ways: of those between the same two crossings the quickest counts, circles for nothing."""
    count = np.array([len(chain) for chain in ways.places])
    first = np.append(0, np.cumsum(count))
    corner = np.array([place for chain in ways.places for place in chain], dtype=np.int64)
    begin, end = corner[first[:-1]], corner[first[1:] - 1]
    step = np.append(np.hypot(np.diff(x_m[corner]), np.diff(y_m[corner])), 0.0)
    step[first[1:] - 1] = 0.0
    length, speed = np.add.reduceat(step, first[:-1]), np.array(ways.speed)
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    order = np.lexsort((length / speed, high, low))
    new = np.append(True, (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0))
    kept = np.sort(order[new & (low != high)[order]])
    nodes = np.unique(np.concatenate([begin[kept], end[kept]]))
    renumbered = np.full(x_m.size, -1)
    renumbered[nodes] = np.arange(nodes.size)
    corners = np.concatenate([corner[first[way] : first[way + 1]] for way in kept.tolist()])
    return StreetNetwork(
        x_m=x_m[nodes],
        y_m=y_m[nodes],
        tail=renumbered[begin[kept]],
        head=renumbered[end[kept]],
        speed_mps=speed[kept],
        first=np.append(0, np.cumsum(count[kept])),
        corner_x_m=x_m[corners],
        corner_y_m=y_m[corners],
        left_out_m=left_out_m + float(length.sum() - length[kept].sum()),
    )
