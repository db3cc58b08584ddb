"""An order of places in which neighbours follow one another: along a Hilbert curve."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array

Integers = npt.NDArray[np.int64]
_BITS = 20  # a million steps along either side of the box


def space_order(x_m: Array, y_m: Array) -> Integers:
    """Return the places in the order of a Hilbert curve over their box (Hilbert 1891); public, as the places are."""
    return np.argsort(hilbert_number(*(_steps(values) for values in (x_m, y_m))), kind="stable")


def hilbert_number(x: Integers, y: Integers) -> Integers:
    """Return how far along the curve each cell of the 2^20 × 2^20 grid lies.

    From the coarsest quarter to the finest: count the quarters before this one, then turn the quarter so that its own
    curve runs the standard way.
    """
    x, y = x.copy(), y.copy()
    along = np.zeros(x.size, dtype=np.int64)
    for bit in reversed(range(_BITS)):
        side = np.int64(1) << bit
        right, upper = (x & side) > 0, (y & side) > 0
        along += side * side * ((3 * right) ^ upper)
        mirror = right & ~upper
        x[mirror], y[mirror] = side - 1 - (x[mirror] & (side - 1)), side - 1 - (y[mirror] & (side - 1))
        turned = ~upper
        x[turned], y[turned] = y[turned], x[turned].copy()
        x &= side - 1
        y &= side - 1
    return along


def _steps(values: Array) -> Integers:
    low, high = float(values.min()), float(values.max())
    wide = max(high - low, 1e-9)
    return np.asarray(np.minimum((values - low) / wide * 2**_BITS, 2**_BITS - 1), dtype=np.int64)
