"""Events of the score: the one the mechanism names, and thresholds chosen on one half and certified on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.audit.certify import certified_epsilon

Array = npt.NDArray[np.float64]
Hits = npt.NDArray[np.int64]
_TAIL = np.geomspace(1e-4, 5e-3, 12)
_SHARES = np.unique(np.concatenate([_TAIL, np.linspace(0, 1, 201), 1 - _TAIL]))
"""Quantiles tried as thresholds: all over, and denser in the tails, where composed mechanisms give themselves away."""


@dataclass(frozen=True)
class Finding:
    """What one test certified about one pair."""

    test: str
    favours: str
    """The input the event speaks for: `with` or `without`."""
    certified: float


def stated_event(with_: Array, without: Array, threshold: float, *, alpha: float, delta: float) -> Finding:
    """Certify the event {score >= threshold} that the mechanism itself names; no sample is used to choose it."""
    hits, other = (np.count_nonzero(scores >= threshold) for scores in (with_, without))
    certified = certified_epsilon(hits, with_.size, other, without.size, alpha=alpha, delta=delta)
    return Finding("likelihood-ratio event", "with", float(certified))


def scanned_events(with_: Array, without: Array, *, alpha: float, delta: float) -> list[Finding]:
    """Choose the best upper and the best lower threshold on the first half, certify both on the second (alpha each)."""
    (train_with, test_with), (train_without, test_without) = halves(with_), halves(without)
    pooled = np.concatenate([train_with, train_without])
    pooled = pooled[np.isfinite(pooled)]
    if pooled.size == 0:
        return []
    thresholds = np.unique(np.quantile(pooled, _SHARES, method="nearest"))

    above = [_at_least(scores, thresholds) for scores in (train_with, train_without)]
    best = chosen(above[0], train_with.size, above[1], train_without.size, alpha=alpha, delta=delta)
    hits = [_at_least(scores, thresholds[best : best + 1]) for scores in (test_with, test_without)]
    high = certified_epsilon(hits[0], test_with.size, hits[1], test_without.size, alpha=alpha, delta=delta)

    below = [_at_least(-scores, -thresholds) for scores in (train_without, train_with)]
    best = chosen(below[0], train_without.size, below[1], train_with.size, alpha=alpha, delta=delta)
    hits = [_at_least(-scores, -thresholds[best : best + 1]) for scores in (test_without, test_with)]
    low = certified_epsilon(hits[0], test_without.size, hits[1], test_with.size, alpha=alpha, delta=delta)
    return [
        Finding("scanned threshold", "with", float(high[0])),
        Finding("scanned threshold", "without", float(low[0])),
    ]


def halves(values: Array) -> tuple[Array, Array]:
    """Split samples into the half that chooses an event and the half that certifies it."""
    middle = len(values) // 2
    return values[:middle], values[middle:]


def chosen(hits: Hits, trials: int, other_hits: Hits, other_trials: int, *, alpha: float, delta: float) -> int:
    """Return the event whose bound would be best if these were the counts that certify."""
    promise = certified_epsilon(hits, trials, other_hits, other_trials, alpha=alpha, delta=delta)
    return int(np.argmax(promise))


def _at_least(scores: Array, thresholds: Array) -> Hits:
    """Count the scores at or above each threshold; NaN is above nothing."""
    known = np.sort(scores[~np.isnan(scores)])
    return np.asarray(known.size - np.searchsorted(known, thresholds, side="left"), dtype=np.int64)
