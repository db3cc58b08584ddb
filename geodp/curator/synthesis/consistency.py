"""Noisy counts made to fit together: nothing below zero, children that add up to their parents. All free of charge."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array

Mask = npt.NDArray[np.bool_]


def fitted_children(children: Array, parent: Array, possible: Mask) -> Array:
    """Return rows of children that are not negative and add up to their parents.

    What is missing is spread evenly first (the least-squares fit), then what is negative is set to 0 and the row is
    scaled. A row without any mass is spread evenly over what is possible.
    """
    room = np.maximum(possible.sum(axis=1), 1)
    short = (parent - np.where(possible, children, 0.0).sum(axis=1)) / room
    raised = np.where(possible, np.maximum(children + short[:, None], 0.0), 0.0)
    total = raised.sum(axis=1)
    even = possible / room[:, None]
    share = np.where(total[:, None] > 0, raised / np.where(total > 0, total, 1.0)[:, None], even)
    return np.asarray(share * np.maximum(parent, 0.0)[:, None])


def fitted_total(counts: Array, total: float) -> Array:
    """Return the counts nearest to noisy ones that are not negative and add up to `total` (a projection).

    Subtracting one constant and cutting at 0 is the least-squares answer; unlike cutting alone it does not turn the
    noise of many empty cells into mass.
    """
    if total <= 0 or not counts.size:
        return np.zeros_like(counts)
    falling = np.sort(counts[np.isfinite(counts)])[::-1]  # what is ruled out is -inf
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    last = int(np.flatnonzero(falling > excess)[-1]) if (falling > excess).any() else 0
    return np.asarray(np.maximum(counts - excess[last], 0.0))


def whole_counts(expected: Array, total: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return whole numbers near the expected ones that add up to `total`: one uniform start, then equal steps.

    Systematic sampling: every number is one of the two whole numbers around its expectation.
    """
    mass = float(expected.sum())
    if total <= 0 or mass <= 0:
        return np.zeros(expected.size, dtype=np.int64)
    reached = np.floor(np.append(0.0, np.cumsum(expected)) * (total / mass) + rng.random()).astype(np.int64)
    reached[-1] = total + reached[0]
    return np.diff(reached)


def fitted_rows(rows: Array, totals: Array) -> Array:
    """Return, for every row, the counts nearest to it that are not negative and add up to its total."""
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - totals[:, None]) / np.arange(1, rows.shape[1] + 1)
    last = np.maximum((falling > excess).sum(axis=1) - 1, 0)
    fitted = np.maximum(rows - excess[np.arange(len(rows)), last][:, None], 0.0)
    return np.asarray(np.where(totals[:, None] > 0, fitted, 0.0))
