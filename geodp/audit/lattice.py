"""Raw bits: floating-point noise can tell two inputs apart by the last bits of one output, whatever its scale.

Two things are looked for, each chosen on one half of the outputs and certified on the other. *Granularity*: the weight
of the lowest set bit of each double (1 + noise cannot reach the fine values near 0 that 0 + noise reaches; Mironov
2012). *Lattice*: values, such as distances from the true place, that are all multiples of one step because an
intermediate result was rounded. Noise in release mode has one public lattice for all inputs and passes; simulated noise
is not meant to, so there these tests are reported and do not refute.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.audit.certify import certify_epsilon
from geodp.audit.events import Finding, Labels, halves, union_events
from geodp.geometry import Array

TESTS = 4
"""Number of findings of `raw_bit_events`, for splitting alpha."""
_ZERO = 2100  # beyond any exponent of a double
_PHASE_BITS = 40
_SMALLEST_GAPS = 400


def raw_bit_events(with_: Array, without: Array, *, alpha: float, delta: float) -> list[Finding]:
    """Certify what the bits of the given doubles (one row per output) give away, alpha for each of `TESTS`."""
    parts = [part for rows in (with_, without) for part in halves(rows.reshape(len(rows), -1))]
    train_with, test_with, train_without, test_without = parts
    order = (train_with, train_without, test_with, test_without)
    codes = [_granularity_code(rows) for rows in order]
    known = np.unique(np.concatenate(codes[:2]))
    labels = [_label_known(code, known) for code in codes]
    findings = union_events("granularity", *labels, alpha=alpha, delta=delta)
    return findings + _lattice_events(order, alpha=alpha, delta=delta)


def lowest_bit(values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the exponent of the lowest set bit of each double: x is a whole multiple of 2^k and of no larger power."""
    x = np.asarray(values, dtype=np.float64)
    mantissa, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    low = np.log2(np.maximum(whole & -whole, 1).astype(np.float64)).astype(np.int64)
    return np.where(whole == 0, _ZERO, exponent - 53 + low)


def lattice_step(values: Array) -> float | None:
    """Return the step of which all differences are multiples, or None when there is no such step to be seen.

    Among many points of a lattice some are neighbours, so the smallest gaps are small multiples of the step; it is then
    sharpened over ever longer distances, until it fits the whole range.
    """
    points = np.unique(values[np.isfinite(values)])
    if points.size < 50:
        return None
    rounding = 64 * np.finfo(np.float64).eps * float(np.max(np.abs(points)))
    gaps = np.diff(points)
    gaps = np.sort(gaps[gaps > rounding])[:_SMALLEST_GAPS]
    if gaps.size < 50 or gaps[0] < 16 * rounding:
        return None  # finer than the doubles can show
    step = float(gaps[0])
    near = gaps[gaps < 40 * step]
    multiple = np.round(near / step)
    if near.size < 20 or np.mean(np.abs(near / step - multiple) < 0.02) < 0.99:
        return None
    step = float(near.sum() / multiple.sum())
    middle = points[points.size // 2]
    reach = 32.0
    while reach * step < 4 * (points[-1] - points[0]):
        far = points[np.abs(points - middle) <= reach * step] - middle
        steps = np.round(far / step)
        if steps.any():
            step = float(steps @ far / (steps @ steps))
        reach *= 4
    off = np.abs(points - middle) / step
    return step if np.mean(np.abs(off - np.round(off)) < 0.05) > 0.99 else None


def _lattice_events(order: tuple[Array, Array, Array, Array], *, alpha: float, delta: float) -> list[Finding]:
    """Look for a lattice in every column of either input's training half; certify the one that promises most."""
    best: tuple[float, list[Labels]] | None = None
    for column in range(order[0].shape[1]):
        columns = [rows[:, column] for rows in order]
        for trained in columns[:2]:
            step = lattice_step(trained)
            if step is None:
                continue
            origin = float(np.median(trained[np.isfinite(trained)]))
            origin = float(trained[np.nanargmin(np.abs(trained - origin))])
            labels = [_phase_label(values, origin, step) for values in columns]
            promise = max(_promise(labels[0], labels[1], alpha, delta), _promise(labels[1], labels[0], alpha, delta))
            if best is None or promise > best[0]:
                best = promise, labels
    if best is None:
        return [Finding("lattice", "with", 0.0), Finding("lattice", "without", 0.0)]
    return union_events("lattice", *best[1], alpha=alpha, delta=delta)


def _promise(labels: Labels, other: Labels, alpha: float, delta: float) -> float:
    size = _PHASE_BITS + 2
    hits, rest = (np.cumsum(np.bincount(part, minlength=size)[::-1]) for part in (labels, other))
    return float(np.max(certify_epsilon(hits, labels.size, rest, other.size, alpha=alpha, delta=delta)))


def _phase_label(values: Array, origin: float, step: float) -> Labels:
    """Return how close each value lies to the lattice, on a logarithmic scale: k for a distance of about step/2^k."""
    with np.errstate(invalid="ignore"):
        off = (values - origin) / step
        off = np.abs(off - np.round(off))
    close = np.floor(-np.log2(np.maximum(np.where(np.isfinite(off), off, 1.0), 2.0**-_PHASE_BITS)))
    return np.asarray(np.clip(close, 0, _PHASE_BITS), dtype=np.int64)


def _granularity_code(rows: Array) -> npt.NDArray[np.int64]:
    """Return one number per row for the lowest bits of its columns (the first four: more would only thin the bins)."""
    code = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T[:4]:
        code = code * 4096 + (lowest_bit(column) + 1100)
    return code


def _label_known(code: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Labels:
    place = np.minimum(np.searchsorted(known, code), known.size - 1)
    return np.asarray(np.where(known[place] == code, place, known.size), dtype=np.int64)
