"""Noisy counts made to look like counts: none below zero, and a known sum. It biases them, so it is for showing."""

from __future__ import annotations

import numpy as np

from geodp.geometry import Array


def onto_simplex(values: Array, total: float) -> Array:
    """Return the nearest values that are not negative and add up to the total (Norm-sub).

    The truth is such a point and the set is convex, so this can only bring an estimate nearer to the truth (in squared
    error). It takes the same amount off every value that stays above zero, so single values are biased afterwards:
    small ones upwards, large ones downwards. What is planned from, or added up, stays as it was estimated.
    """
    if total <= 0:
        return np.zeros_like(values)
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, values.size + 1)
    kept = np.flatnonzero(falling > excess)[-1]
    return np.asarray(np.maximum(values - excess[kept], 0.0))
