"""How far released counts of venues are from the truth: numbers for the holder of the truth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SANITY = 0.001
"""Relative errors divide by at least so large a share of the users (0.1 %)."""
TOP = 50


Numbers = npt.NDArray[np.float64]


def absolute_errors(released: npt.ArrayLike, true: npt.ArrayLike) -> Numbers:
    """Return |released - true| of every venue; their mean is the MAE."""
    return np.abs(np.asarray(released, dtype=np.float64) - np.asarray(true, dtype=np.float64))


def relative_errors(released: npt.ArrayLike, true: npt.ArrayLike, users: int) -> Numbers:
    """Return |released - true| / max(true, 0.1 % of users) of every venue; their mean is the MRE with sanity bound."""
    least = SANITY * max(users, 1)
    return np.asarray(absolute_errors(released, true) / np.maximum(np.asarray(true, dtype=np.float64), least))


def top_venues(true: npt.ArrayLike, top: int = TOP) -> npt.NDArray[np.int64]:
    """Return the venues with the largest true counts (the first ones among equals)."""
    return np.argsort(-np.asarray(true, dtype=np.float64), kind="stable")[:top]


def top_accuracy(released: npt.ArrayLike, true: npt.ArrayLike, top: int = TOP) -> float:
    """Return the share of the true top venues that are among the released top.

    Venues of one group share a released number; among equals at the border any is as likely as another.
    """
    told = np.asarray(released, dtype=np.float64)
    top = min(top, told.size)
    border = np.partition(told, told.size - top)[told.size - top]
    above, equal = told > border, told == border
    wanted = np.zeros(told.size, dtype=np.bool_)
    wanted[top_venues(true, top)] = True
    lucky = (top - np.count_nonzero(above)) * np.count_nonzero(equal & wanted) / np.count_nonzero(equal)
    return float((np.count_nonzero(above & wanted) + lucky) / top)
