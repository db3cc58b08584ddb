"""Public zones that need no file: squares on a region, and the cells of towers."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from geodp.flows.zones import ZoneMap, make_zones
from geodp.geometry import Region
from geodp.public.towers import NO_TOWER, Towers

Integers = npt.NDArray[np.int64]
OF_TOWERS = "towers"
"""What stands in place of a file where the zones are the cells of towers."""
_DISTRICT = 4
"""Squares along each side of a district."""


def lay_out_zones(region: Region, cell_m: float) -> ZoneMap:
    """Return square zones on a region's box, about `cell_m` wide, in districts of four by four.

    Parameters
    ----------
    region
        The public area.
    cell_m
        Side of a zone; the box holds a whole number of them.

    Examples
    --------
    >>> from geodp.flows.zone_grids import lay_out_zones
    >>> from geodp.geometry import Region
    >>> lay_out_zones(Region(10.0, 50.0, 10.08, 50.05), 1000.0).size
    37
    """
    import shapely

    columns, rows = max(round(region.width_m / cell_m), 1), max(round(region.height_m / cell_m), 1)
    lon = np.linspace(region.west, region.east, columns + 1)
    lat = np.linspace(region.south, region.north, rows + 1)
    row, column = np.divmod(np.arange(rows * columns), columns)
    shapes = shapely.box(lon[column], lat[row], lon[column + 1], lat[row + 1])
    width = len(str(max(rows, columns)))
    names = [f"zone {r + 1:0{width}d}-{c + 1:0{width}d}" for r, c in zip(row, column, strict=True)]
    districts = [f"district {r // _DISTRICT + 1}-{c // _DISTRICT + 1}" for r, c in zip(row, column, strict=True)]
    return make_zones(names, np.asarray(shapes, dtype=np.object_), districts)


def make_tower_zones(towers: Towers) -> tuple[ZoneMap, Integers]:
    """Return the cells of towers as zones, and the zone of every tower; near towers share a district.

    Parameters
    ----------
    towers
        The network.

    Examples
    --------
    >>> from geodp.flows.zone_grids import make_tower_zones
    >>> from geodp.geometry import Region
    >>> from geodp.public.towers import lay_out_hexagons
    >>> zones, of_tower = make_tower_zones(lay_out_hexagons(Region(10.0, 50.0, 10.08, 50.05), 20))
    >>> zones.size - 1 == of_tower.size
    True
    """
    own = np.flatnonzero(towers.cell_of == np.arange(towers.size))
    west, south, east, north = towers.region.box_m
    x_m, y_m = (values[own] for values in towers.sites_m)
    side = max(round(math.sqrt(own.size) / _DISTRICT), 1)
    across, along = (
        np.clip(((values - low) / (high - low) * side).astype(np.int64), 0, side - 1)
        for values, low, high in ((x_m, west, east), (y_m, south, north))
    )
    names = [towers.names[number] for number in own]
    districts = [f"district {b + 1}-{a + 1}" for a, b in zip(across, along, strict=True)]
    zones = make_zones(names, towers.cells[own], districts, where="cells of towers")
    return zones, np.searchsorted(own, towers.cell_of)


def find_tower_zones(towers: Towers, zones: ZoneMap) -> Integers:
    """Return the zone in which the site of every tower stands.

    Parameters
    ----------
    towers, zones
        Both public.
    """
    return zones.locate(towers.lon, towers.lat)


def zones_seen(tower: Integers, of_tower: Integers) -> Integers:
    """Return the zone of each tower that serves a phone, and -1 where none does."""
    return np.where(tower == NO_TOWER, -1, of_tower[np.maximum(tower, 0)])
