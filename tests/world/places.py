"""Regions and populations that the tests of the world share."""

import numpy as np
import shapely

from geodp.geometry import EARTH_RADIUS_M, Region
from geodp.world.population import Population


def box(width_m: float, height_m: float) -> Region:
    """A box on the equator, where degrees are the same both ways."""
    half_lon = float(np.degrees(width_m / EARTH_RADIUS_M)) / 2
    half_lat = float(np.degrees(height_m / EARTH_RADIUS_M)) / 2
    return Region(-half_lon, -half_lat, half_lon, half_lat)


def angle_shaped() -> Region:
    """An L of about 33 by 28 km: a region with a dent."""
    shape = shapely.Polygon([(0, 0), (0.3, 0), (0.3, 0.1), (0.1, 0.1), (0.1, 0.25), (0, 0.25)])
    return Region(0.0, 0.0, 0.3, 0.25, polygon=shape)


def uniform_population(region: Region, count: int, seed: int = 0) -> Population:
    return Population(*region.sample(count, np.random.default_rng(seed)))
