"""The planar geometric law P(i, j) ∝ exp(-s·sqrt(i² + j²)) on the integer lattice, and its sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from geodp.public._planar_integrals import signed_edges

Array = npt.NDArray[np.float64]
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

    @property
    def acceptance(self) -> float:
        """Share of proposals accepted when two discrete Laplaces of scale √2/s are proposed."""
        ratio = math.exp(-self.step / math.sqrt(2))
        return self.normaliser * ((1 - ratio) / (1 + ratio)) ** 2

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
            x, x_sign = signed_edges(left[rest], right[rest])
            y, y_sign = signed_edges(low[rest], high[rest])
            tails = self._tails(max(_largest(x), _largest(y)))
            x_at, y_at = _place(x, len(tails)), _place(y, len(tails))
            pairs = [(i, j) for i in range(3) for j in range(3)]
            sums = sum(x_sign[i] * y_sign[j] * tails[x_at[i], y_at[j]] for i, j in pairs)
            value[rest] = np.maximum(sums, 0.0)
        return value

    def rectangles_outer(self, x_low: Array, x_high: Array, y_low: Array, y_high: Array) -> Array:
        """Return P(x interval i, y interval j) for every pair of intervals with half-integer ends."""
        x, x_sign = signed_edges(x_low, x_high)
        y, y_sign = signed_edges(y_low, y_high)
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
