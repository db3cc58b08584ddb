"""Shared by the generated movements: workers in blocks, and places in single precision.

A block keeps the temporary arrays in the processor's cache and the peak of memory near the result's size.
Single precision keeps 4 mm at 50 km and halves the memory of a place; lengths, and from them times, are
computed after rounding, so a leg has exactly the speed that was drawn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Region

WORKERS_PER_BLOCK = 1 << 16
Places = npt.NDArray[np.float32]


def blocks(workers: int) -> Iterator[slice]:
    """Yield the workers in blocks."""
    for begin in range(0, workers, WORKERS_PER_BLOCK):
        yield slice(begin, min(begin + WORKERS_PER_BLOCK, workers))


def rounded(region: Region, x_m: Array, y_m: Array) -> tuple[Places, Places]:
    """Round places to single precision without leaving the region's box."""
    west, south, east, north = region.box_m
    return _rounded_between(x_m, west, east), _rounded_between(y_m, south, north)


def distance_m(x_m: Places, y_m: Places, to_x_m: Places, to_y_m: Places) -> Array:
    """Return distances between rounded places in double precision."""
    return np.hypot(to_x_m.astype(np.float64) - x_m, to_y_m.astype(np.float64) - y_m)


def _rounded_between(values: Array, low: float, high: float) -> Places:
    lowest, highest = np.float32(low), np.float32(high)
    if lowest < low:
        lowest = np.nextafter(lowest, np.float32(np.inf))
    if highest > high:
        highest = np.nextafter(highest, np.float32(-np.inf))
    places: Places = np.clip(values.astype(np.float32), lowest, highest)
    return places
