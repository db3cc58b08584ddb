"""How much noise each category gets: EpicRec's noise calibration as the convex program that it is."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array

_GAP = 1e-11
_STEPS = 60


def calibrated_scales(membership: Array, epsilon: float) -> Array:
    """Return the Laplace scales z with the smallest sum for which every item is ε-private.

    min Σ z_j subject to Σ_j c_ij / z_j ≤ ε for every item i: the program (4.3)/(4.4) of EpicRec, where ε is lost in
    print ("≤ 1"); z(ε) = z(1)/ε. In w = 1/z it is min Σ 1/w_j subject to C w ≤ 1: a smooth objective over a polytope,
    solved by Newton's method with a logarithmic barrier, and then scaled so that every constraint holds in the doubles
    that are used: exact feasibility is exact privacy. A category that no item has needs no noise: its scale is 0.
    """
    used = membership.any(axis=0)
    scales = np.zeros(membership.shape[1])
    if used.any():
        rows = undominated(membership[:, used])
        scales[used] = _feasible(1.0 / _barrier(rows) / epsilon, rows, epsilon)
    return scales


def global_scales(membership: Array, epsilon: float) -> Array:
    """Return the scales of the plain Laplace mechanism: the most categories of any item, for all alike."""
    return np.full(membership.shape[1], membership.sum(axis=1).max() / epsilon)


def load(membership: Array, scales: Array) -> Array:
    """Return Σ_j c_ij / z_j: the epsilon that each item is charged."""
    inverse = np.divide(1.0, scales, out=np.zeros_like(scales), where=scales > 0)
    return np.asarray(membership @ inverse)


def undominated(membership: Array) -> Array:
    """Return the distinct rows that no other row contains: only these can bind."""
    rows = np.unique(membership, axis=0)
    order = np.argsort(-rows.sum(axis=1), kind="stable")
    kept: npt.NDArray[np.float64] = rows[order[:1]]
    for number in order[1:]:
        row = rows[number]
        if not (kept @ row >= row.sum()).any():  # 0/1 rows: a ⊆ b exactly when a·b = |a|
            kept = np.vstack([kept, row])
    return kept


def _barrier(rows: Array) -> Array:
    """Minimise Σ 1/w over C w ≤ 1, w > 0, by a barrier that is tightened until the duality gap is below 1e-11."""
    w = np.full(rows.shape[1], 0.5 / rows.sum(axis=1).max())
    weight = 1.0
    while len(rows) / weight > _GAP * np.sum(1 / w):
        weight *= 8.0
        for _ in range(_STEPS):
            slack = 1 - rows @ w
            gradient = -weight / w**2 + rows.T @ (1 / slack)
            hessian = np.diag(2 * weight / w**3) + (rows / slack[:, None] ** 2).T @ rows
            step = np.linalg.solve(hessian, -gradient)
            decrement = float(-gradient @ step)
            if decrement < 1e-9:
                break
            w = w + step * _length(rows, w, step, gradient, weight)
    return w


def _length(rows: Array, w: Array, step: Array, gradient: Array, weight: float) -> float:
    """Shorten Newton's step until it stays inside and lowers the barrier function."""

    def value(at: Array) -> float:
        slack = 1 - rows @ at
        if at.min() <= 0 or slack.min() <= 0:
            return math.inf
        return float(weight * np.sum(1 / at) - np.log(slack).sum())

    length, start, slope = 1.0, value(w), float(gradient @ step)
    while length > 1e-12 and value(w + length * step) > start + 0.1 * length * slope + 1e-12 * abs(start):
        length /= 2
    return length


def _feasible(scales: Array, rows: Array, epsilon: float) -> Array:
    """Scale up until Σ c_ij/z_j ≤ ε holds in doubles for every item."""
    scales = scales * (load(rows, scales).max() / epsilon)
    while load(rows, scales).max() > epsilon:
        scales = scales * (1 + 2.0**-52)
    return np.asarray(scales)
