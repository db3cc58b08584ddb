"""Noisy counts per category on the phone (EpicRec): their noise, the budget they need, and histories that fit them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import with_laplace
from geodp.tables.visits.catalogue import Catalogue, Integers

Rule = Literal["relative", "prose", "literal"]
_ENOUGH = 0.05
"""The relative rule stops when an improvement is below this share of the error."""
_GAP = 1e-11
_STEPS = 60


@dataclass(frozen=True)
class EpsilonSearch:
    """How the budget is searched for; no private data are read, so it costs nothing."""

    step: float = 0.02
    """δ: budgets tried are δ, 2δ, …"""
    most: float = 1.0
    """No larger budget is chosen."""
    repeats: int = 10
    """Searches on random public histories, averaged."""


def quantify_epsilon(
    catalogue: Catalogue, noise: Noise, *, rule: Rule = "relative", search: EpsilonSearch | None = None
) -> float:
    """Return the budget above which the error falls no more by much, from public data alone (algorithm 2)."""
    search = search or EpsilonSearch()
    scales = calibrate_scales(catalogue.membership, 1.0)
    found = [_one_search(catalogue, scales, noise, rule, search) for _ in range(search.repeats)]
    return float(np.mean(found))


def error_curve(catalogue: Catalogue, scales: Array, noise: Noise, search: EpsilonSearch) -> Iterator[float]:
    """Yield err(1), err(2), … of one random public history, up to the largest budget.

    err(i) = ‖l + r‖₁/c + 1/(iδ) with the rounded history; the noise is drawn once and scaled.
    """
    chosen = noise.uniform(catalogue.items) < catalogue.typical_items / catalogue.items
    aggregates = catalogue.membership.T @ chosen
    of_one = with_laplace(np.zeros(scales.size), 1.0, noise) * scales
    for i in range(1, round(search.most / search.step) + 1):
        target = aggregates + of_one / (i * search.step)
        history = fit_history(target, catalogue, np.ones(catalogue.items), noise)
        miss = np.abs(catalogue.membership.T @ history - target)
        yield float(miss.sum() / miss.size + 1 / (i * search.step))


def _one_search(catalogue: Catalogue, scales: Array, noise: Noise, rule: Rule, search: EpsilonSearch) -> float:
    errors: list[float] = []
    for error in error_curve(catalogue, scales, noise, search):
        errors.append(error)
        if stops(errors, rule):
            return (len(errors) - 1) * search.step
    return search.most


def stops(errors: list[float], rule: Rule) -> bool:
    """Tell whether the search ends after err(1) … err(i).

    The printed rule, err(i) - err(i-1) ≥ err(i-1) - err(i-2), is true at i = 3 for every convex falling curve, so it
    always answers 2δ (at i = 2 it would need err(0)). The prose, "improvement no smaller than the one before", stops at
    the first jitter of the rounding. Ours stops when the improvement is below 5 % of the error.
    """
    if len(errors) < (2 if rule == "relative" else 3):
        return False
    change = errors[-1] - errors[-2]
    if rule == "relative":
        return -change < _ENOUGH * errors[-2]
    before = errors[-2] - errors[-3]
    return change >= before if rule == "literal" else -change >= -before


def calibrate_scales(membership: Array, epsilon: float) -> Array:
    """Return the Laplace scales z with the smallest sum for which every item is ε-private.

    min Σ z_j subject to Σ_j c_ij / z_j ≤ ε for every item i: the program (4.3)/(4.4) of EpicRec, where ε is lost in
    print ("≤ 1"); z(ε) = z(1)/ε. In w = 1/z it is min Σ 1/w_j subject to C w ≤ 1: a smooth objective over a polytope,
    solved by Newton's method with a logarithmic barrier, and then scaled so that every constraint holds in the doubles
    that are used: exact feasibility is exact privacy. A category that no item has needs no noise: its scale is 0.
    """
    used = membership.any(axis=0)
    scales = np.zeros(membership.shape[1])
    if used.any():
        rows = drop_dominated_rows(membership[:, used])
        scales[used] = _feasible(1.0 / _barrier(rows) / epsilon, rows, epsilon)
    return scales


def global_scales(membership: Array, epsilon: float) -> Array:
    """Return the scales of the plain Laplace mechanism: the most categories of any item, for all alike."""
    return np.full(membership.shape[1], membership.sum(axis=1).max() / epsilon)


def load(membership: Array, scales: Array) -> Array:
    """Return Σ_j c_ij / z_j: the epsilon that each item is charged."""
    inverse = np.divide(1.0, scales, out=np.zeros_like(scales), where=scales > 0)
    return np.asarray(membership @ inverse)


def drop_dominated_rows(membership: Array) -> Array:
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


def fit_history(target: Array, catalogue: Catalogue, allowed: Array, noise: Noise) -> Array:
    """Return 0/1 per item: the most likely history, among those whose counts are nearest to the target, rounded.

    Program (4.5) omits l, r ≥ 0 (without them l = -r gives 0 for any d); with them it is the least-squares problem
    min ‖Cᵀd - NA‖² over 0 ≤ d ≤ 1, with many solutions when there are more items than categories. Among them we take
    the most likely history under the public popularity (a linear objective, its weights the prior's log-odds), at a
    vertex: at most as many items as categories are fractional, and only those are rounded at random. Items of one
    pattern of categories are interchangeable, so the problem is solved per pattern.

    Parameters
    ----------
    target
        Noisy counts per category; NaN where a category is not fitted.
    catalogue
        Items and categories.
    allowed
        1 for items that may be told.
    noise
        Luck of the rounding: post-processing.
    """
    fitted = np.isfinite(target)
    rows, pattern = catalogue.patterns
    room = np.asarray(np.bincount(pattern, weights=allowed, minlength=len(rows)), dtype=np.float64)
    open_ = np.flatnonzero((room > 0) & rows[:, fitted].any(axis=1))
    whole = np.zeros(catalogue.items)
    if not fitted.any() or not open_.size:
        return whole
    log_odds = np.log(catalogue.prior) - np.log1p(-catalogue.prior)
    likely = np.bincount(pattern, weights=allowed * log_odds, minlength=len(rows))[open_] / room[open_]
    number = pattern_numbers(rows[open_][:, fitted].T, target[fitted], room[open_], likely)
    amounts = np.zeros(len(rows))
    amounts[open_] = _round_at_random(number, noise)
    return _most_popular(amounts, pattern, np.where(allowed > 0, catalogue.prior, -1.0))


def pattern_numbers(columns: Array, target: Array, room: Array, likely: Array) -> Array:
    """Return how many items of each pattern to tell: nearest to the target, then most likely, at a vertex."""
    from scipy.optimize import linprog

    nearest = box_least_squares(columns, target, room)
    bounds = [(0.0, float(most)) for most in room]
    vertex = linprog(-likely, A_eq=columns, b_eq=columns @ nearest, bounds=bounds)
    return np.clip(nearest if vertex.x is None else vertex.x, 0.0, room)


def box_least_squares(columns: Array, target: Array, room: Array) -> Array:
    """Return s with 0 ≤ s ≤ room nearest to the target.

    Non-negative least squares are much faster than a box: entries above their room are fixed there and the rest is
    solved again. The answer is optimal where no fixed entry wants to shrink; otherwise the general solver is asked.
    """
    from scipy.optimize import lsq_linear, nnls

    full = np.zeros(room.size, dtype=np.bool_)
    best = np.where(full, room, 0.0)
    while True:
        best[full] = room[full]
        if full.all():  # the solver has no answer for no columns: it ends the process
            break
        best[~full] = nnls(columns[:, ~full], target - columns[:, full] @ room[full])[0]
        above = best > room
        if not above.any():
            break
        full |= above
    if (columns[:, full].T @ (columns @ best - target) > 1e-9 * (1 + np.abs(target).max())).any():
        best = lsq_linear(columns, target, bounds=(0.0, room), method="bvls", tol=1e-12).x
    return np.asarray(best)


def _round_at_random(number: Array, noise: Noise) -> Array:
    """Round at random, to the whole number above with a probability equal to the fraction."""
    below = np.floor(number + 1e-9)
    return np.asarray(below + (noise.uniform(number.size) < number - below))


def _most_popular(amounts: Array, pattern: Integers, rank_by: Array) -> Array:
    """Tell the most popular items of each pattern."""
    order = np.lexsort((-rank_by, pattern))
    starts = np.searchsorted(pattern[order], np.arange(amounts.size))
    rank = np.arange(pattern.size) - starts[pattern[order]]
    reported = np.zeros(pattern.size)
    reported[order] = (rank < np.round(amounts)[pattern[order]]) & (rank_by[order] >= 0)
    return reported
