"""What a series of releases tells about where someone was at one of them, to those who know how people move.

A release that hides one position at ε hides it by itself. Who knows the chances with which people go from place to
place reads where she was at t also off the releases before and after. Nothing here is charged: it is a measurement, for
one model of movement.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array

_ROUNDING = 1e-9
_TERMS_AT_ONCE = 1 << 21


class LeakageStep:
    """By how much what earlier releases told grows less or more certain over one step of a chain.

    L(α) is the largest of ln[(1 + (e^α - 1)·q(S)) / (1 + (e^α - 1)·d(S))] over pairs of rows q, d of the chain and sets
    S of places; of these the sets of the largest q_i/d_i are enough. For any α the best is a corner of the upper hull
    of all points (d(S), q(S)), so the hull is worked out once, and a step costs a look at its corners.

    Parameters
    ----------
    chain
        Chances to go from one place (row) to another: rows add up to 1.

    Raises
    ------
    UsageError
        If it is no such table.

    Examples
    --------
    >>> from geodp.metrics.temporal_leakage import LeakageStep
    >>> round(LeakageStep([[0.9, 0.1], [0.1, 0.9]]).after(0.1), 6)
    0.079976
    """

    def __init__(self, chain: npt.ArrayLike) -> None:
        rows = np.asarray(chain, dtype=np.float64)
        if rows.ndim != 2 or not rows.size:
            raise UsageError("a chain is a table with a row per place, and has one place at least")
        if not np.isfinite(rows).all() or (rows < 0).any() or (np.abs(rows.sum(axis=1) - 1) > _ROUNDING).any():
            raise UsageError("the rows of a chain are chances: none is negative, and each row adds up to 1")
        self.chain = rows

    @cached_property
    def corners(self) -> tuple[Array, Array]:
        """The corners of the hull: d(S) ascending, and q(S)."""
        rows = self.chain
        hull = np.array([[0.0, 0.0], [1.0, 1.0]])
        for first in range(len(rows) - 1):  # a pair and its mirror image have the same order, backwards
            step = max(1, _TERMS_AT_ONCE // rows.shape[1])
            for begin in range(first + 1, len(rows), step):
                hull = _raise_hull(hull, _trade_offs(rows[first], rows[begin : begin + step]))
        hull = _raise_hull(hull, 1 - hull[:, ::-1])  # the complements of all sets, with the rows exchanged
        return hull[:, 0], hull[:, 1]

    def after(self, leakage: float) -> float:
        """Return L(α): how much of what was told about the place before the step is told about the one after."""
        below, above = self.corners
        grown = np.expm1(leakage)
        return float(np.max(np.log1p(grown * above) - np.log1p(grown * below)))


def _trade_offs(row: Array, others: Array) -> Array:
    """Return d(S) and q(S) for the sets of the largest ratios of a row to each of some others."""
    both = row + others
    with np.errstate(invalid="ignore", divide="ignore"):
        order = np.argsort(np.where(both > 0, others / both, 0.0), axis=1)  # where d is small beside q first
    q = np.cumsum(row[order], axis=1)
    d = np.cumsum(np.take_along_axis(others, order, axis=1), axis=1)
    return np.stack([d.ravel(), q.ravel()], axis=-1)


def _raise_hull(hull: Array, points: Array) -> Array:
    """Return the upper hull of a hull and points."""
    higher = points[:, 1] > np.interp(points[:, 0], hull[:, 0], hull[:, 1]) + 1e-15
    if not higher.any():
        return hull
    found = np.concatenate([hull, points[higher]])
    found = found[np.lexsort((-found[:, 1], found[:, 0]))]
    found = found[np.concatenate([[True], np.diff(found[:, 0]) > 0])]  # of equal d the highest
    kept: list[list[float]] = []
    for x, y in found.tolist():
        while len(kept) > 1 and _turns_left(kept[-2], kept[-1], (x, y)):
            kept.pop()
        kept.append([x, y])
    return np.array(kept)


def _turns_left(one: Sequence[float], two: Sequence[float], three: Sequence[float]) -> bool:
    return (two[0] - one[0]) * (three[1] - one[1]) >= (two[1] - one[1]) * (three[0] - one[0])


def reverse_chain(chain: npt.ArrayLike, law: npt.ArrayLike | None = None) -> Array:
    """Return the chances of where someone came from, given where she is.

    Parameters
    ----------
    chain
        Chances to go from one place (row) to another.
    law
        Chances to be at each place; default: those that the chain keeps as they are.

    Examples
    --------
    >>> from geodp.metrics.temporal_leakage import reverse_chain
    >>> reverse_chain([[0.5, 0.5], [1.0, 0.0]]).round(6).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    rows = np.asarray(chain, dtype=np.float64)
    here = find_stationary(rows) if law is None else np.asarray(law, dtype=np.float64)
    joint = rows.T * here
    total = joint.sum(axis=1, keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1.0), np.eye(len(rows)))


def find_stationary(chain: Array) -> Array:
    """Return a law that the chain keeps as it is."""
    places = len(chain)
    lines = np.vstack([chain.T - np.eye(places), np.ones((1, places))])
    found = np.linalg.lstsq(lines, np.append(np.zeros(places), 1.0), rcond=None)[0]
    found = np.maximum(found, 0.0)
    return np.asarray(found / found.sum())


def trace_leakage(step: LeakageStep, epsilons: Sequence[float]) -> Array:
    """Return α of every release in order: ε of its own, and what is left of that of the one before.

    Examples
    --------
    >>> from geodp.metrics.temporal_leakage import LeakageStep, trace_leakage
    >>> trace_leakage(LeakageStep([[0.9, 0.1], [0.1, 0.9]]), [0.1] * 5).round(6).tolist()
    [0.1, 0.179976, 0.243841, 0.294725, 0.335166]
    """
    found: list[float] = []
    for epsilon in epsilons:
        found.append(epsilon + (step.after(found[-1]) if found else 0.0))
    return np.array(found)


def measure_leakage(
    forward: npt.ArrayLike, epsilons: Sequence[float], *, backward: npt.ArrayLike | None = None
) -> Array:
    """Return what all releases together tell about where someone was at each of them.

    Parameters
    ----------
    forward
        Chances to go from one place (row) to another between two releases.
    epsilons
        ε of every release, in order (0: it looked at nobody).
    backward
        Chances of where she came from; default: those of the chain that has gone on for ever.

    Returns
    -------
    numpy.ndarray
        B_t + F_t - ε_t for every release t.

    Examples
    --------
    >>> from geodp.metrics.temporal_leakage import measure_leakage
    >>> measure_leakage([[0.9, 0.1], [0.1, 0.9]], [0.1] * 10)[4].round(6).item()
    0.602395
    """
    chain = np.asarray(forward, dtype=np.float64)
    before = trace_leakage(LeakageStep(reverse_chain(chain) if backward is None else backward), epsilons)
    after = trace_leakage(LeakageStep(chain), list(epsilons)[::-1])[::-1]
    return np.asarray(before + after - np.asarray(epsilons), dtype=np.float64)
