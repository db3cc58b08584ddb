"""Counts of a tree that add up: the least-squares fit of noisy counts, and counts that are not negative."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array


def fit_tree(parent: npt.ArrayLike, noisy: Array, variance: npt.ArrayLike) -> tuple[Array, Array]:
    """Fit noisy counts of a tree so that every node is the sum of its children: generalized least squares.

    Parameters
    ----------
    parent
        Parent of every node, -1 at the root; parents stand before their children.
    noisy
        Noisy count of every node; further axes are trees of the same shape.
    variance
        Variance of every node's noise (infinite: it was not measured).

    Returns
    -------
    tuple[NDArray[float64], NDArray[float64]]
        The fitted counts, and the variance of each.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.flows.tree import fit_tree
    >>> value, variance = fit_tree([-1, 0, 0], np.array([10.0, 4.0, 5.0]), [1.0, 1.0, 1.0])
    >>> value.round(3).tolist(), variance.round(3).tolist()
    ([9.667, 4.333, 5.333], [0.667, 0.667, 0.667])
    """
    above = np.asarray(parent, dtype=np.int64)
    own = np.broadcast_to(np.asarray(variance, dtype=np.float64), above.shape)
    levels = _find_levels(above)
    z, s = np.array(noisy, dtype=np.float64), own.copy()
    sums, spread = np.zeros_like(z), np.zeros(above.size)
    wide = (slice(None), *([None] * (z.ndim - 1)))
    inner = np.zeros(above.size, dtype=np.bool_)
    inner[above[above >= 0]] = True
    for level in reversed(levels):
        up = level[inner[level]]
        s[up] = 1 / (np.where(np.isfinite(own[up]), 1 / own[up], 0.0) + 1 / spread[up])
        weight = np.where(np.isfinite(own[up]), 1 / own[up], 0.0)
        measured = np.where(weight[wide] > 0, z[up], 0.0)
        z[up] = s[up][wide] * (measured * weight[wide] + sums[up] / spread[up][wide])
        below = level[above[level] >= 0]
        np.add.at(sums, above[below], z[below])
        np.add.at(spread, above[below], s[below])
    x, v = z.copy(), s.copy()
    for level in levels[1:]:
        of = above[level]
        share = s[level] / spread[of]
        x[level] = z[level] + share[wide] * (x[of] - sums[of])
        v[level] = s[level] + share**2 * (v[of] - spread[of])
    return x, v


def clip_tree(parent: npt.ArrayLike, fitted: Array) -> Array:
    """Return counts of a tree that are not negative: clipped, and children scaled to their parent from the top.

    Parameters
    ----------
    parent
        Parent of every node, -1 at the root; parents stand before their children.
    fitted
        Fitted counts; further axes are trees of the same shape.
    """
    above = np.asarray(parent, dtype=np.int64)
    found = np.maximum(fitted, 0.0)
    for level in _find_levels(above)[1:]:
        of = above[level]
        sums = np.zeros_like(found)
        np.add.at(sums, of, found[level])
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = np.where(sums[of] > 0, found[of] / sums[of], 0.0)
        found[level] = found[level] * factor
    return found


def _find_levels(parent: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    """Return the nodes by their distance from the root."""
    depth = np.zeros(parent.size, dtype=np.int64)
    for node, up in enumerate(parent.tolist()):
        if up >= node:
            raise ValueError("parents stand before their children")
        depth[node] = 0 if up < 0 else depth[up] + 1
    return [np.flatnonzero(depth == level) for level in range(int(depth.max()) + 1)]
