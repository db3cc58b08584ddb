"""Public towers of a cellular network: where their sites stand, which of them serves a phone, and their cells.

Which tower a phone is seen by is a coarse place that an operator has without asking: its site, or the cell around it,
is all that is known of where the phone is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.geometry import Array, Region

Integers = npt.NDArray[np.int64]
NO_TOWER = -1
"""Number of the tower of a phone that none serves."""
_LOSS_DB = 35.0
"""Power lost over ten times the distance, dB: a common value for towns (path-loss exponent 3.5)."""
_NEAREST_M = 10.0
"""Nobody stands nearer to an antenna."""
RIVALS = 8
"""So many towers compete for a phone at most."""


@dataclass(frozen=True, eq=False)
class Towers:
    """Towers with public sites, by number.

    Parameters
    ----------
    region
        The public area.
    names
        What each is called.
    lon, lat
        Its site, degrees.

    Raises
    ------
    DataError
        If there is none, a name is given twice, or a site has no place.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.geometry import Region
    >>> from geodp.public.towers import Towers
    >>> town = Region(10.0, 50.0, 10.08, 50.05)
    >>> towers = Towers(town, ("west", "east"), np.array([10.02, 10.06]), np.array([50.02, 50.02]))
    >>> towers.find_nearest(np.array([-2000.0, 2000.0]), np.zeros(2)).tolist()
    [0, 1]
    >>> [round(cell.area / town.area_m2, 3) for cell in towers.cells_m]
    [0.5, 0.5]
    """

    region: Region
    names: tuple[str, ...]
    lon: Array
    lat: Array

    def __post_init__(self) -> None:
        if not self.names:
            raise DataError("a network needs at least one tower.")
        if not len(self.names) == self.lon.size == self.lat.size:
            raise DataError("every tower needs a name and a site.")
        if len(set(self.names)) < len(self.names):
            twice = next(name for number, name in enumerate(self.names) if name in self.names[:number])
            raise DataError(f"tower '{twice}' is listed twice: one site each.")
        bad = ~(np.isfinite(self.lon) & np.isfinite(self.lat) & (np.abs(self.lon) <= 180) & (np.abs(self.lat) <= 90))
        if bad.any():
            raise DataError(f"tower '{self.names[int(bad.argmax())]}' has no place: lon and lat in degrees.")

    @property
    def size(self) -> int:
        """How many towers there are."""
        return len(self.names)

    @cached_property
    def sites_m(self) -> tuple[Array, Array]:
        """Where they stand, metres."""
        return self.region.projection.to_m(lon=self.lon, lat=self.lat)

    @cached_property
    def cell_of(self) -> Integers:
        """The tower whose cell each one has: itself, or the first of those at the same site."""
        places = np.column_stack([self.lon, self.lat])
        _, first, index = np.unique(places, axis=0, return_index=True, return_inverse=True)
        return np.asarray(first[index.reshape(-1)], dtype=np.int64)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import KDTree

        return KDTree(np.column_stack(self.sites_m))

    def number(self, names: Sequence[str | None]) -> Integers:
        """Return the number of the tower of each name, `NO_TOWER` where there is none.

        Parameters
        ----------
        names
            Names, as words.
        """
        import pandas as pd

        return np.asarray(pd.Index(self.names).get_indexer(pd.Index(names, dtype=object)), dtype=np.int64)

    def find_nearest(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Integers:
        """Return the tower in whose cell each place lies: the nearest one.

        Parameters
        ----------
        x_m, y_m
            Places, metres.
        """
        _, tower = self._tree.query(np.column_stack([np.ravel(x_m), np.ravel(y_m)]))
        return self.cell_of[np.asarray(tower, dtype=np.int64)]

    def find_serving(
        self, x_m: Array, y_m: Array, *, range_m: float = math.inf, shadow: Array | None = None
    ) -> Integers:
        """Return the tower that each phone hears best, `NO_TOWER` where none is within reach.

        Power falls with the distance to the power 3.5; hills, walls and load change what a phone hears of each of the
        eight nearest towers.

        Parameters
        ----------
        x_m, y_m
            Where phones are, metres.
        range_m
            How far a tower reaches.
        shadow
            What is added to the power of each tower by rank of distance, dB: a row per phone, eight numbers each. None:
            the nearest tower serves.
        """
        if shadow is None and not math.isfinite(range_m):
            return self.find_nearest(x_m, y_m)
        rivals = 1 if shadow is None else min(RIVALS, self.size)
        apart_m, tower = self._tree.query(np.column_stack([x_m, y_m]), k=range(1, rivals + 1))
        power = -_LOSS_DB * np.log10(np.maximum(apart_m, _NEAREST_M))
        power += 0.0 if shadow is None else shadow[:, :rivals]
        power[apart_m > range_m] = -math.inf
        best = np.argmax(power, axis=1)[:, None]
        served = np.take_along_axis(tower, best, axis=1)[:, 0]
        reached = np.isfinite(np.take_along_axis(power, best, axis=1)[:, 0])
        return np.where(reached, self.cell_of[served], NO_TOWER)

    @cached_property
    def cells_m(self) -> npt.NDArray[Any]:
        """Voronoi cell of each tower within the region, metres; empty for a tower at the site of an earlier one."""
        import shapely

        box = shapely.box(*self.region.box_m) if self.region.polygon is None else self.region.polygon_m
        cells = np.full(self.size, shapely.Polygon(), dtype=np.object_)
        own = np.flatnonzero(self.cell_of == np.arange(self.size))
        if own.size == 1:
            cells[own[0]] = box
            return cells
        x_m, y_m = (values[own] for values in self.sites_m)
        sites = shapely.points(x_m, y_m)
        parts = shapely.get_parts(shapely.voronoi_polygons(shapely.multipoints(sites), extend_to=box))
        site, part = shapely.STRtree(parts).query(sites, predicate="within")
        cells[own[site]] = shapely.intersection(parts[part], box)
        return cells

    @cached_property
    def cells(self) -> npt.NDArray[Any]:
        """The same cells in degrees, as zones are."""
        import shapely

        def unproject(points: Array) -> Array:
            return np.column_stack(self.region.projection.to_lonlat(x_m=points[:, 0], y_m=points[:, 1]))

        return np.asarray(shapely.transform(self.cells_m, unproject))

    def place_within(self, tower: Integers, first: Array, second: Array) -> tuple[Array, Array]:
        """Return a place in the cell of each tower, even by area: all that its phones' places are known to be.

        Parameters
        ----------
        tower
            Number of each tower.
        first, second
            Uniform numbers from 0 to 1, one of each per place.

        Returns
        -------
        tuple[NDArray[float64], NDArray[float64]]
            The places, metres.
        """
        corners, begins, ends, areas = self._triangles
        own = self.cell_of[tower]
        before = np.where(begins[own] > 0, areas[np.maximum(begins[own] - 1, 0)], 0.0)
        wanted = before + first * (areas[ends[own] - 1] - before)
        piece = np.clip(np.searchsorted(areas, wanted, side="right"), begins[own], ends[own] - 1)
        low = np.where(piece > 0, areas[np.maximum(piece - 1, 0)], 0.0)
        along = np.sqrt(np.clip((wanted - low) / np.maximum(areas[piece] - low, 1e-12), 0.0, 1.0))
        a, b, c = (corners[piece, corner] for corner in range(3))
        place = a + along[:, None] * (b - a + second[:, None] * (c - b))
        return place[:, 0], place[:, 1]

    @cached_property
    def _triangles(self) -> tuple[Array, Integers, Integers, Array]:
        """Return triangles of all cells in order, the first and last one of each cell, and their areas added up."""
        import shapely

        pieces: list[Array] = []
        begins, ends = np.zeros(self.size, dtype=np.int64), np.zeros(self.size, dtype=np.int64)
        for number, cell in enumerate(self.cells_m):
            begins[number] = len(pieces)
            found = shapely.get_parts(shapely.delaunay_triangles(cell))
            found = found[shapely.intersects(shapely.centroid(found), cell)]  # all, but where the border bends inwards
            pieces += [shapely.get_coordinates(triangle)[:3] for triangle in found]
            ends[number] = len(pieces)
        corners = np.array(pieces)
        (ax, ay), (bx, by), (cx, cy) = (corners[:, corner].T for corner in range(3))
        return corners, begins, ends, np.cumsum(np.abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay)) / 2)


def scatter_towers(region: Region, count: int, rng: np.random.Generator) -> Towers:
    """Return a network whose sites lie anywhere in the region, as if chosen blindly.

    Parameters
    ----------
    region
        The public area.
    count
        How many towers.
    rng
        The generator of public chance.
    """
    x_m, y_m = region.sample(count, rng)
    return _name_towers(region, x_m, y_m)


def lay_out_hexagons(region: Region, count: int) -> Towers:
    """Return a network of about so many towers with equal hexagonal cells, but for those that the border cuts.

    Parameters
    ----------
    region
        The public area.
    count
        How many towers, about.

    Examples
    --------
    >>> from geodp.geometry import Region
    >>> from geodp.public.towers import lay_out_hexagons
    >>> lay_out_hexagons(Region(10.0, 50.0, 10.08, 50.05), 100).size
    99
    """
    west, south, east, north = region.box_m
    apart_m = math.sqrt(2 * region.area_m2 / (math.sqrt(3) * count))
    rise_m = apart_m * math.sqrt(3) / 2
    rows = max(round((north - south) / rise_m), 1)
    columns = max(round((east - west) / apart_m), 1)
    row, column = np.divmod(np.arange(rows * columns), columns)
    x_m = west + (column + np.where(row % 2, 0.75, 0.25)) * (east - west) / columns
    y_m = south + (row + 0.5) * (north - south) / rows
    inside = region.contains(x_m, y_m)
    return _name_towers(region, x_m[inside], y_m[inside])


def _name_towers(region: Region, x_m: Array, y_m: Array) -> Towers:
    lon, lat = region.projection.to_lonlat(x_m=x_m, y_m=y_m)
    width = len(str(x_m.size))
    return Towers(region, tuple(f"tower {number + 1:0{width}d}" for number in range(x_m.size)), lon, lat)
