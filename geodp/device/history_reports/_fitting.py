"""A history whose category counts come close to the noisy ones: EpicRec's data sanitisation."""

from __future__ import annotations

import numpy as np

from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.tables.visits.catalogue import Catalogue, Integers


def fitted_history(target: Array, catalogue: Catalogue, allowed: Array, noise: Noise) -> Array:
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
    amounts[open_] = _rounded(number, noise)
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


def _rounded(number: Array, noise: Noise) -> Array:
    """Round at random, to the whole number above with a probability equal to the fraction."""
    below = np.floor(number + 1e-9)
    return np.asarray(below + (noise.uniform(number.size) < number - below))


def _most_popular(amounts: Array, pattern: Integers, rank_by: Array) -> Array:
    """Tell the most popular items of each pattern."""
    order = np.lexsort((-rank_by, pattern))
    starts = np.searchsorted(pattern[order], np.arange(amounts.size))
    rank = np.arange(pattern.size) - starts[pattern[order]]
    told = np.zeros(pattern.size)
    told[order] = (rank < np.round(amounts)[pattern[order]]) & (rank_by[order] >= 0)
    return told
