"""How many venues users have, told by a noisy histogram: what a cap leaves out, with how sure that is.

A noisy number of users per power of two is not enough where few users have many venues: 30 users too many at 1,000
venues are 30,000 visits that nobody made. Numbers of venues per person are near a lognormal law wherever people were
counted, so such laws are weighed by how well they explain the noisy numbers (and the noisy total of the visits that
were counted), and where a noisy number is sharp it corrects the law. All of it is post-processing of what was paid for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from geodp.geometry import Array
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.visit_sets import VisitSets

_PER_OCTAVE = 8
_LOG_MEDIANS = np.linspace(-2.0, 7.0, 37)
_SPREADS = np.geomspace(0.3, 1.8, 9)
_NUMBERS = 60
_USUAL_LOG_MEDIAN, _ABOUT = 2.3, 1.3
"""Before anything is known: half of all people have ten venues or more, give or take a factor of four."""
_USUAL_SPREAD, _ABOUT_SPREAD = 1.0, 0.35
_MISFIT = 0.03
"""People follow no law exactly: so large a share of them may be elsewhere."""
_TRUST = 0.3
"""A noisy number is taken for itself where its noise is well below this share of it."""
SURE = 0.9
"""Intervals hold the truth with this probability if the law fits."""


@dataclass(frozen=True)
class Told:
    """An estimate and the interval in which the truth probably lies."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class _Laws:
    """Lognormal laws of the number of venues per user, for a public number of venues."""

    size: Array
    """Numbers of venues: the middles of narrow cells."""
    bin: Integers
    """The bin of the histogram in which each cell lies."""
    share: Array
    """Share of the users in each cell: one row per law."""
    binned: Array
    log_prior: Array


def bin_edges(venues: int) -> Integers:
    """Return the largest size of each bin: 1, 2, 4, 8, … and the number of venues (public)."""
    edges = 2 ** np.arange(max(int(venues - 1).bit_length(), 0) + 1, dtype=np.int64)
    return np.unique(np.minimum(edges, max(venues, 1)))


def size_histogram(piece: VisitSets) -> Integers:
    """Count the users in each bin of numbers of venues (nobody without a visit): everyone is in one bin at most."""
    edges = bin_edges(piece.venues)
    return np.bincount(np.searchsorted(edges, piece.size[piece.size > 0]), minlength=edges.size)


class RowSizes:
    """What is known about the numbers of venues of all users from a noisy histogram.

    Parameters
    ----------
    noisy
        Users per bin, with Laplace noise of scale 1/ε.
    epsilon
        That ε.
    venues
        Public number of venues.
    bound, kept, kept_spread
        The noisy number of visits that were counted with everyone at no more than `bound` venues, and the standard
        deviation of its noise.
    """

    def __init__(
        self, noisy: Array, *, epsilon: float, venues: int, bound: float, kept: float, kept_spread: float
    ) -> None:
        laws = _laws(venues)
        scale = 1 / epsilon
        number = np.geomspace(1.0, 1.5 * max(float(np.abs(noisy).sum()), 10 * scale), _NUMBERS)
        wide = scale + _MISFIT * number
        off = np.abs(noisy - laws.binned[:, None, :] * number[:, None]).sum(axis=-1)
        counted = (laws.share @ np.minimum(laws.size, bound))[:, None] * number
        log_weight = laws.log_prior[:, None] - off / wide - noisy.size * np.log(wide)
        log_weight -= 0.5 * ((counted - kept) / np.hypot(kept_spread, _MISFIT * counted)) ** 2
        weight = np.exp(log_weight - log_weight.max())
        self._weight, self._number, self._laws = weight / weight.sum(), number, laws
        mean = (self._weight @ number) @ laws.share
        binned = np.bincount(laws.bin, weights=mean, minlength=noisy.size)
        trusted = (_TRUST * binned) ** 2 / ((_TRUST * binned) ** 2 + 2 * scale**2)
        correction = trusted * (noisy - binned) / np.maximum(binned, 1e-12)
        self._extra = mean * correction[laws.bin]
        self._mean = mean + self._extra

    @property
    def sizes(self) -> Array:
        """Sizes at which users are thought to be."""
        return self._laws.size

    def visits(self, most: float = np.inf) -> float:
        """Return the number of visits when everyone counts at no more than `most` venues."""
        return max(float(self._mean @ np.minimum(self._laws.size, most)), 1.0)

    def visits_up_to(self, most: Array) -> Array:
        """Return `visits` for many limits."""
        return np.asarray(np.maximum(np.minimum.outer(most, self._laws.size) @ self._mean, 1.0))

    def beyond(self, bound: float) -> Told:
        """Return the visits that are left out when everyone counts at no more than `bound` venues."""
        excess = np.maximum(self._laws.size - bound, 0.0)
        values = ((self._laws.share @ excess)[:, None] * self._number).reshape(-1)
        order = np.argsort(values)
        level = np.cumsum(self._weight.reshape(-1)[order])
        at = np.searchsorted(level, [0.5, (1 - SURE) / 2, (1 + SURE) / 2])
        middle, low, high = values[order][np.minimum(at, values.size - 1)] + float(self._extra @ excess)
        return Told(max(middle, 0.0), max(low, 0.0), max(high, 0.0))


@lru_cache(maxsize=8)
def _laws(venues: int) -> _Laws:
    from scipy.special import ndtr

    edges = bin_edges(venues)
    narrow = np.rint(np.geomspace(1, max(venues, 1), max(int(_PER_OCTAVE * np.log2(max(venues, 2))), 2)))
    high = np.union1d(narrow.astype(np.int64), edges)
    low = np.concatenate([[0], high[:-1]])
    border = np.append(np.log(high[:-1] + 0.5), np.inf)  # who would have more than all venues has all
    below = ndtr((border - _LOG_MEDIANS[:, None, None]) / _SPREADS[:, None])
    share = np.diff(below, axis=-1, prepend=0.0).reshape(-1, high.size)
    own = np.searchsorted(edges, high)
    binned = np.add.reduceat(share, np.flatnonzero(np.diff(own, prepend=-1)), axis=1)
    prior = (
        -0.5 * ((_LOG_MEDIANS - _USUAL_LOG_MEDIAN) / _ABOUT)[:, None] ** 2
        - 0.5 * (np.log(_SPREADS / _USUAL_SPREAD) / _ABOUT_SPREAD) ** 2
    )
    return _Laws((low + 1 + high) / 2, own, share, binned, prior.reshape(-1))
