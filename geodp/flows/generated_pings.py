"""Made-up pings: people with a home and a workplace, whose phones are seen now and then; and a grid of zones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodp.geometry import Array, Region

FIRST_DAY_S = 1_709_524_800
"""Monday, 4 March 2024, 4:00 UTC."""
_AT_ONCE = 1_000_000
_DISTRICT = 4


@dataclass(frozen=True)
class PingSizes:
    """How much is made up.

    Parameters
    ----------
    people, pings, days
        How many; days begin on Monday, 4 March 2024.
    zones
        Zones along each side of the region.
    """

    people: int = 1000
    pings: int = 100_000
    days: int = 7
    zones: int = 8


def generate_pings(sizes: PingSizes, region: Region, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Make up pings in batches: user, time_s, lon, lat, in no order.

    Parameters
    ----------
    sizes
        How many.
    region
        Where.
    rng
        The generator, which decides all.
    """
    home, work = (_draw_places(sizes.people, region, rng, spread) for spread in (0.25, 0.12))
    nights = (sizes.people, sizes.days)
    weekend = np.arange(sizes.days) % 7 >= 5
    works = rng.random(nights) < np.where(weekend, 0.2, 0.8)
    leaves, returns = (rng.normal(hour, 1, nights) * 3600 for hour in (8, 17))
    out = rng.random(nights) < 0.5
    back = returns + 1800 + rng.exponential(5400, nights)
    third = _draw_places(sizes.people * sizes.days, region, rng, 0.2).reshape(2, *nights)
    for begin in range(0, sizes.pings, _AT_ONCE):
        many = min(_AT_ONCE, sizes.pings - begin)
        person, day = rng.integers(sizes.people, size=many), rng.integers(sizes.days, size=many)
        second = rng.integers(0, 86_400, many)
        clock = second + 4 * 3600
        cell = (person, day)
        at_work = works[cell] & (clock > leaves[cell]) & (clock < returns[cell])
        is_out = out[cell] & (clock > returns[cell] + 1800) & (clock < back[cell])
        x = np.where(at_work, work[0][person], np.where(is_out, third[0][cell], home[0][person]))
        y = np.where(at_work, work[1][person], np.where(is_out, third[1][cell], home[1][person]))
        lon, lat = region.projection.to_lonlat(x_m=x + rng.normal(0, 20, many), y_m=y + rng.normal(0, 20, many))
        yield {
            "user": person,
            "time_s": FIRST_DAY_S + day * 86_400 + second,
            "lon": np.round(lon, 6),
            "lat": np.round(lat, 6),
        }


def _draw_places(many: int, region: Region, rng: np.random.Generator, spread: float) -> Array:
    """Draw places around a few centres, within the region."""
    west, south, east, north = region.box_m
    centres = rng.uniform(0.2, 0.8, (6, 2))
    of = centres[rng.choice(6, many, p=np.arange(6, 0, -1) / 21)]
    share = np.clip(of + rng.normal(0, spread / 2, (many, 2)), 0.002, 0.998)
    return np.array([west + share[:, 0] * (east - west), south + share[:, 1] * (north - south)])


def make_grid_zones(side: int, region: Region) -> Any:
    """Return a GeoDataFrame of square zones: zone, district, geometry.

    Parameters
    ----------
    side
        Zones along each side.
    region
        The box they fill.
    """
    import geopandas
    import shapely

    lon, lat = np.linspace(region.west, region.east, side + 1), np.linspace(region.south, region.north, side + 1)
    cells = [(row, column) for row in range(side) for column in range(side)]
    names = [f"zone {row + 1}-{column + 1}" for row, column in cells]
    parts = [f"district {row // _DISTRICT + 1}-{column // _DISTRICT + 1}" for row, column in cells]
    shapes = [shapely.box(lon[column], lat[row], lon[column + 1], lat[row + 1]) for row, column in cells]
    return geopandas.GeoDataFrame({"zone": names, "district": parts}, geometry=shapes, crs="EPSG:4326")
