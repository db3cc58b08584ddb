"""The two planar laws of noise: integrals of the planar Laplace density, and sums of its likeness on a lattice.

Integrals are to nearly full precision. Lengths are in units of 1/epsilon: the density is exp(-r)/(2π). Everything is
built from quadrant probabilities that look away from the centre. In polar coordinates they are sums of positive terms,
and they shrink at the rate of the density itself, so that differences of four of them keep their relative precision
even in far cells, where differences of distribution functions would drown in rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geodp.errors import answer_old_names
from geodp.geometry import Array

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


def sign_edges(low: Array, high: Array) -> tuple[Array, Array]:
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
    x, x_sign = sign_edges(left, right)
    y, y_sign = sign_edges(low, high)
    total: Array = np.zeros(left.shape)
    for i in range(3):
        for j in range(3):
            sign = x_sign[i] * y_sign[j]
            used = sign != 0
            total[used] += sign[used] * quadrant(x[i][used], y[j][used])
    return np.maximum(total, 0.0)


def rectangles_outer(x_low: Array, x_high: Array, y_low: Array, y_high: Array) -> Array:
    """Return P(x interval i, y interval j) for every pair (i, j); quadrants are shared between intervals."""
    x, x_sign = sign_edges(x_low, x_high)
    y, y_sign = sign_edges(y_low, y_high)
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


_SERIES_BELOW = 2.0
_TAIL = 45.0  # e^-45 is below the last bit of 1
_COARSEST = 0.02  # below it moments equal those of the planar Laplace to 1e-9 and tables would grow large


@dataclass(frozen=True)
class PlanarGeometricLaw:
    """Whole steps (i, j) with probability ∝ exp(-step·sqrt(i² + j²)); `step` is epsilon times the cell."""

    step: float

    @cached_property
    def normaliser(self) -> float:
        """Z = Σ exp(-s·|k|): by the lattice's own series for small s, term by term for large.

        Poisson summation gives Z = Σ_k 2πs/(s² + 4π²|k|²)^(3/2); expanding all terms but k = 0 in s leaves sums of
        |k|^(-2p) over the lattice, which are 4 ζ(p) β(p) with Dirichlet's β. The series converges for s < 2π.
        """
        s = self.step
        if s > _SERIES_BELOW:
            reach = np.arange(-math.ceil(_TAIL / s), math.ceil(_TAIL / s) + 1)
            return float(np.exp(-s * np.hypot(reach[:, None], reach)).sum())
        total, binomial = 2 * math.pi / s**2, 1.0
        for m in range(60):
            term = binomial * 2 * math.pi * s ** (2 * m + 1) * (2 * math.pi) ** (-3 - 2 * m) * _lattice_sum(1.5 + m)
            total += term
            if abs(term) < 1e-17 * total:
                break
            binomial *= (-1.5 - m) / (m + 1)
        return total

    @cached_property
    def variance(self) -> float:
        """Variance of i (and of j), in squared steps."""
        if self.step < _COARSEST:
            return 3 / self.step**2  # the sum is the integral up to terms of order s³ relative
        weight = self._quarter(math.ceil(_TAIL / self.step))
        reach = np.arange(len(weight), dtype=np.float64)
        return float(4 * (weight.sum(axis=1) @ reach**2))

    def probability(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Array:
        """Return the probability of each step."""
        far = np.hypot(np.asarray(i, dtype=np.float64), np.asarray(j, dtype=np.float64))
        return np.asarray(np.exp(-self.step * far) / self.normaliser)

    def characteristic(self, wx: npt.ArrayLike, wy: npt.ArrayLike) -> Array:
        """Return E cos(i·wx) cos(j·wy), elementwise."""
        x, y = np.broadcast_arrays(np.asarray(wx, dtype=np.float64), np.asarray(wy, dtype=np.float64))
        weight = self._quarter(math.ceil(_TAIL / self.step))
        reach = np.arange(len(weight))
        along = np.cos(np.multiply.outer(y.ravel(), reach)) @ weight.T
        value = np.sum(np.cos(np.multiply.outer(x.ravel(), reach)) * along, axis=1)
        return np.asarray(4 * value.reshape(x.shape))

    def rectangle(self, west: Array, south: Array, east: Array, north: Array) -> Array:
        """Return the probability of the steps between half-integer edges (infinity allowed), elementwise."""
        left, low, right, high = np.broadcast_arrays(west, south, east, north)
        single = (right - left == 1.0) & (high - low == 1.0)
        value = self.probability(np.where(single, left + 0.5, 0.0), np.where(single, low + 0.5, 0.0))
        if not single.all():
            rest = ~single
            x, x_sign = sign_edges(left[rest], right[rest])
            y, y_sign = sign_edges(low[rest], high[rest])
            tails = self._tails(max(_largest(x), _largest(y)))
            x_at, y_at = _place(x, len(tails)), _place(y, len(tails))
            pairs = [(i, j) for i in range(3) for j in range(3)]
            sums = sum(x_sign[i] * y_sign[j] * tails[x_at[i], y_at[j]] for i, j in pairs)
            value[rest] = np.maximum(sums, 0.0)
        return value

    def rectangles_outer(self, x_low: Array, x_high: Array, y_low: Array, y_high: Array) -> Array:
        """Return P(x interval i, y interval j) for every pair of intervals with half-integer ends."""
        x, x_sign = sign_edges(x_low, x_high)
        y, y_sign = sign_edges(y_low, y_high)
        tails = self._tails(max(_largest(x), _largest(y)))
        x_at, y_at = _place(x, len(tails)), _place(y, len(tails))
        rows: Array = np.asarray(sum(x_sign[i][:, None] * tails[x_at[i]] for i in range(3)))
        cells: Array = np.asarray(sum(y_sign[j] * rows[:, y_at[j]] for j in range(3)))
        return np.maximum(cells, 0.0)

    def _quarter(self, reach: int) -> Array:
        """Return probabilities for 0 ≤ i, j ≤ reach, with lines on an axis shared between the quarters."""
        line = np.arange(reach + 1, dtype=np.float64)
        weight = self.probability(line[:, None], line)
        weight[0, :] /= 2
        weight[:, 0] /= 2
        return weight

    def _tails(self, farthest: float) -> Array:
        """Return P(I > a, J > b) for a, b in 0, 0.5, 1.5, …, infinity (a half of each axis belongs to a = 0)."""
        weight = self._quarter(math.ceil(farthest + _TAIL / self.step) + 1)
        sums = np.cumsum(np.cumsum(weight[::-1, ::-1], axis=0), axis=1)[::-1, ::-1]
        return np.pad(sums, ((0, 1), (0, 1)))


def _lattice_sum(p: float) -> float:
    """Return the sum of |k|^(-2p) over the integer lattice without 0: 4 ζ(p) β(p)."""
    from scipy.special import zeta

    beta = 4.0**-p * (zeta(p, 0.25) - zeta(p, 0.75))
    return float(4 * zeta(p, 1.0) * beta)


def _largest(edges: Array) -> float:
    finite = edges[np.isfinite(edges)]
    return float(finite.max()) if finite.size else 0.0


def _place(edges: Array, size: int) -> npt.NDArray[np.int64]:
    """Return where an edge stands in 0, 0.5, 1.5, …, infinity."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(edges), size - 1, np.ceil(np.where(np.isinf(edges), 0.0, edges))).astype(np.int64)


if not TYPE_CHECKING:
    __getattr__ = answer_old_names(__name__, {"signed_edges": "sign_edges"})
