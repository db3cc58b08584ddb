"""Integrals of the planar Laplace density over quadrants, rectangles and half lines, to nearly full precision.

Lengths are in units of 1/epsilon: the density is exp(-r)/(2π). Everything is built from quadrant probabilities that
look away from the centre. In polar coordinates they are sums of positive terms, and they shrink at the rate of the
density itself, so that differences of four of them keep their relative precision even in far cells, where
differences of distribution functions would drown in rounding.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_CHUNK = 20_000


@cache
def _quadrature(size: int) -> tuple[Array, Array]:
    """Return nodes and weights of Gauss-Legendre quadrature on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(size)
    return (nodes + 1) / 2, weights / 2


def radial_tail(radius: npt.ArrayLike) -> Array:
    """Return P(R > r) = (1 + r) e^-r, the tail of Gamma(2)."""
    r = np.asarray(radius, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(r), 0.0, (1 + r) * np.exp(-r))


def quadrant(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Return P(X > a, Y > b) for a, b ≥ 0 (infinity allowed), elementwise.

    Along a ray at angle φ the quadrant begins at r = b/sin φ below its corner's angle and at r = a/cos φ above it.
    """
    left, low = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
    shape, left, low = left.shape, left.ravel(), low.ravel()
    found = np.zeros(left.size)
    finite = np.flatnonzero(np.isfinite(left) & np.isfinite(low))
    for start in range(0, finite.size, _CHUNK):
        part = finite[start : start + _CHUNK]
        found[part] = _below(left[part], low[part]) + _below(low[part], left[part])
    return (found / (2 * np.pi)).reshape(shape)


def _below(a: Array, b: Array) -> Array:
    """Integrate the tail from the line y = b over angles 0..atan2(b, a)."""
    corner = np.arctan2(b, a)[:, None]  # 0 when b = 0: an empty range of angles
    # Near the centre the tail rises from 0 to 1 at angles of about b, far out all of it lies at the corner's angle.
    crowding = np.where(np.hypot(a, b) < 10, 4.0, 1.0)[:, None]
    nodes, weights = _quadrature(96)
    share = nodes**crowding
    with np.errstate(divide="ignore", invalid="ignore"):
        begins = np.where(b[:, None] > 0, b[:, None] / np.sin(corner * share), 0.0)
    slope = crowding * share / nodes
    value: Array = ((radial_tail(begins) * slope) @ weights) * corner[:, 0]
    at_origin = (a == 0) & (b == 0)
    value[at_origin] = np.pi / 4  # each half of the full quadrant
    return value


def signed_edges(low: Array, high: Array) -> tuple[Array, Array]:
    """Return (|edge|, sign) of the tails whose sum is the probability of an interval, stacked on the first axis.

    P(low < X < high) is tail(low) - tail(high) right of 0, the mirror image left of it, and
    2 tail(0) - tail(|low|) - tail(|high|) across it.
    """
    across = (low < 0) & (high > 0)
    edges = np.stack([np.zeros_like(low), np.abs(low), np.abs(high)])
    signs = np.stack([np.where(across, 2.0, 0.0), np.where(low >= 0, 1.0, -1.0), np.where(high > 0, -1.0, 1.0)])
    return edges, signs


def rectangle(west: npt.ArrayLike, south: npt.ArrayLike, east: npt.ArrayLike, north: npt.ArrayLike) -> Array:
    """Return the probability of rectangles (edges relative to the centre, infinity allowed), elementwise."""
    edges = [np.asarray(edge, dtype=np.float64) for edge in (west, south, east, north)]
    left, low, right, high = np.broadcast_arrays(*edges)
    x, x_sign = signed_edges(left, right)
    y, y_sign = signed_edges(low, high)
    total: Array = np.zeros(left.shape)
    for i in range(3):
        for j in range(3):
            sign = x_sign[i] * y_sign[j]
            used = sign != 0
            total[used] += sign[used] * quadrant(x[i][used], y[j][used])
    return np.maximum(total, 0.0)


def rectangles_outer(x_low: Array, x_high: Array, y_low: Array, y_high: Array) -> Array:
    """Return P(x interval i, y interval j) for every pair (i, j); quadrants are shared between intervals."""
    x, x_sign = signed_edges(x_low, x_high)
    y, y_sign = signed_edges(y_low, y_high)
    x_edge, x_at = _distinct(x)
    y_edge, y_at = _distinct(y)
    table = quadrant(x_edge[:, None], y_edge[None, :])
    rows: Array = np.asarray(sum(x_sign[i][:, None] * table[x_at[i]] for i in range(3)))
    cells: Array = np.asarray(sum(y_sign[j][None, :] * rows[:, y_at[j]] for j in range(3)))
    return np.maximum(cells, 0.0)


def half_line(start: npt.ArrayLike, beside: npt.ArrayLike) -> Array:
    """Return the integral of the density over {(t, beside): t > start}, elementwise; start of either sign."""
    a, b = np.broadcast_arrays(np.asarray(start, dtype=np.float64), np.abs(np.asarray(beside, dtype=np.float64)))
    shape, a, b = a.shape, a.ravel(), b.ravel()
    ahead = _ray(np.abs(a), b)
    whole = 2 * _ray(np.zeros_like(b), b)
    return np.where(a >= 0, ahead, whole - ahead).reshape(shape)


def _ray(a: Array, b: Array) -> Array:
    """Integrate from a ≥ 0 on; with t = a + s² the nodes gather where the density is."""
    reach = np.sqrt(45.0 + np.sqrt(90.0 * np.hypot(a, b)))[:, None]
    nodes, weights = _quadrature(96)
    s = reach * nodes
    density = np.exp(-np.hypot(a[:, None] + s**2, b[:, None])) / (2 * np.pi)
    value: Array = (density * 2 * s) @ weights * reach[:, 0]
    return value


def _distinct(edges: Array) -> tuple[Array, npt.NDArray[np.intp]]:
    """Return the distinct edges and where each one is; equal up to rounding counts as equal."""
    values, at = np.unique(np.round(edges, 12), return_inverse=True)
    return values, at.reshape(edges.shape)


def far_rectangle(west: Array, south: Array, east: Array, north: Array) -> Array:
    """Return the probability of finite rectangles away from the centre, where the density is smooth: 4 × 4 nodes."""
    wide, high = east - west, north - south
    total = np.zeros(west.shape)
    for across, weight in zip(*_quadrature(4), strict=True):
        for along, other in zip(*_quadrature(4), strict=True):
            total += weight * other * np.exp(-np.hypot(west + across * wide, south + along * high))
    return np.asarray(total * wide * high / (2 * np.pi))
