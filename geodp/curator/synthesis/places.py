"""From cells to places: walks become smooth paths inside the region."""

from __future__ import annotations

import numpy as np

from geodp.curator.synthesis.reference_systems import ReferenceSystems
from geodp.curator.synthesis.walks import Walks
from geodp.geometry import Array, Region


def placed(walks: Walks, systems: ReferenceSystems, rng: np.random.Generator) -> tuple[Array, Array]:
    """Give every point a place in its cell.

    Whoever stays in a cell for several points crosses it in a straight line: one random place per visit to a cell,
    and one for the end of each walk, joined evenly.
    """
    begins = np.append(True, np.diff(walks.cell) != 0)
    begins[walks.first[:-1]] = True
    begins[walks.first[1:] - 1] = True
    at = np.flatnonzero(begins)
    west, south, wide, high = systems.box(walks.cell[at])
    point = np.arange(walks.cell.size)
    x_m = np.interp(point, at, west + rng.random(at.size) * wide)
    y_m = np.interp(point, at, south + rng.random(at.size) * high)
    return x_m, y_m


def kept_inside(
    region: Region, first: np.ndarray, x_m: Array, y_m: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Move points outside a polygon to the last point inside before them; a path that never is inside, at random."""
    inside = region.contains(x_m, y_m)
    if inside.all():
        return x_m, y_m
    x_m, y_m = region.clamp(x_m, y_m)
    inside = region.contains(x_m, y_m)
    owner = np.repeat(np.arange(first.size - 1), np.diff(first))
    last = np.maximum.accumulate(np.where(inside, np.arange(x_m.size), -1))
    usable = (last >= 0) & (owner[np.maximum(last, 0)] == owner)
    x_m, y_m = np.where(usable, x_m[last], np.nan), np.where(usable, y_m[last], np.nan)
    missing = np.flatnonzero(~usable)
    x_m[missing], y_m[missing] = region.sample(missing.size, rng)
    return x_m, y_m
