"""The mean error of published counts, from what was paid for alone: noisy numbers, never the true counts.

Error means everywhere: the mean over all venues of |published count - number of users who were there|, against all
visits, those that a cap leaves out included. A small part of ε pays for two questions: how many users have 1, 2, 3-4,
5-8, … venues (one user is one answer), and how far the published counts are from the counts of users at no more than
M venues (one user changes the sum by M at most). The first says which M is worth its noise and what lies beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from geodp.curator.publications._row_sizes import RowSizes, size_histogram
from geodp.curator.synthesis.noisy_histograms import fit_total
from geodp.geometry import Array
from geodp.privacy.keyed_choice import draw_key
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import laplace_counts
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.visit_sets import VisitSets, VisitTable

_MODEL_OFF = 0.07
"""By so large a share the error that follows from noise of a known scale is usually off."""
_UNSEEN_OFF = 0.3
"""What lies beyond M is thought to be spread as what lies below; by so large a share of it that is usually off."""
_LAPLACE_SURE, _UNSEEN_SURE = 2.3, 0.6
"""90 % of Laplace noise lies within 2.3 of its scale; of a bias about 0.6 arrives in the mean error."""
_NORMAL_SURE = 1.64
"""90 % of a sum of much noise lies within so many standard deviations."""
KNOWN_WITHIN = 0.25
"""An error counts as known when it is almost surely no further off than this share of it."""
_ALMOST_SURELY = 1.3
"""A Laplace interval this much wider holds 95 % instead of 90 %; a normal one 97 %."""


@dataclass(frozen=True, eq=False)
class OwnNoise:
    """Laplace noise on every venue by itself."""

    noisy: Array
    """Counts before they were raised to 0 and scaled."""
    scale: float
    raised: bool
    """Whether counts below 0 were raised to 0."""
    factor: float = 1.0
    """By what they were multiplied."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts as they are published, and what was paid for on the way."""

    count: Array
    bound: int
    """Nobody counts for more than this in all (the cap, or a threshold that was paid for)."""
    total: float
    """Noisy number of the visits that were counted."""
    total_spread: float
    """Standard deviation of its noise."""
    facts: dict[str, float] = field(default_factory=dict)
    own_noise: OwnNoise | None = None


@dataclass(frozen=True)
class MeanError:
    """Mean over the venues of |published - true count|, with an interval."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether it is known well enough to be stated as one number."""
        return _ALMOST_SURELY * (self.high - self.value) <= KNOWN_WITHIN * self.value


@dataclass(frozen=True, eq=False)
class PaidAccuracy:
    """What the accuracy's part of ε bought."""

    error: MeanError
    sizes: RowSizes
    like: Array
    """Estimated true counts, the largest first: the released ones, made to add up to all visits."""
    total: float
    """Estimated number of all visits, on which every other method's error depends."""
    total_off: float
    """How far off that may be."""


def pay_for_accuracy(counted: Counted, visits: VisitTable, noise: Noise, epsilon: float) -> PaidAccuracy:
    """Ask the two questions at ε/2 each, and tell the mean error."""
    half = epsilon / 2
    asked = laplace_counts(visits.summed(size_histogram), epsilon=half, sensitivity=1, noise=noise)
    sizes = RowSizes(
        asked,
        epsilon=half,
        venues=visits.venues,
        bound=counted.bound,
        kept=counted.total,
        kept_spread=counted.total_spread,
    )
    missing = sizes.beyond(counted.bound)
    everything = sizes.visits(counted.bound) + missing.value
    unsorted = counted.count if counted.own_noise is None else counted.own_noise.noisy
    like = np.sort(fit_total(unsorted, everything))[::-1]
    error = _measured(counted, visits, sizes, noise, half)
    if counted.own_noise is not None:
        kept = everything - missing.value
        models = []
        for left_out in (missing.value, missing.low, missing.high):
            true = fit_total(unsorted, kept + left_out)  # more visits left out are more visits in all, too
            models.append(own_noise_error(counted.own_noise, true, left_out / (kept + left_out)))
        error = _with_model(error, *models)
    total_off = (missing.high - missing.low) / 2 + _NORMAL_SURE * counted.total_spread
    return PaidAccuracy(error, sizes, like, everything, total_off)


def _measured(counted: Counted, visits: VisitTable, sizes: RowSizes, noise: Noise, epsilon: float) -> MeanError:
    """Measure the error against users at no more than M venues, scaled to all visits: one user changes it by ρ·M.

    The sum is rounded to a whole number, which lies on every lattice of noise; that may add one, and the rounding
    errors of the sum, far smaller, another where they tip it over.
    """
    venues = visits.venues
    limits = np.unique(np.append(np.rint(sizes.sizes[sizes.sizes > counted.bound]), counted.bound))
    unseen = sizes.visits() - sizes.visits_up_to(limits)
    limit = int(limits[np.argmin(_UNSEEN_OFF * unseen + limits / epsilon)])
    beyond = sizes.beyond(limit)
    ratio = 1 + beyond.value / sizes.visits(limit)
    reference = visits.summed(partial(_counts_up_to, limit=limit, key=draw_key(noise)))
    off = np.rint(np.abs(counted.count - ratio * reference).sum())
    most = ratio * limit + 2
    told = max(float(laplace_counts(np.array([off]), epsilon=epsilon, sensitivity=most, noise=noise)[0]), 0.0)
    spread = _LAPLACE_SURE * most / epsilon + _UNSEEN_SURE * (beyond.high - beyond.low) / 2
    return MeanError(told / venues, max(told - spread, 0.0) / venues, (told + spread) / venues)


def _with_model(measured: MeanError, model: float, low: float, high: float) -> MeanError:
    """Weigh the measured error and the one that follows from the known noise by how far off each may be.

    `low` and `high` are what would follow if fewer or more visits were left out.
    """
    spread = measured.high - measured.value
    off = _LAPLACE_SURE * _MODEL_OFF * model + abs(high - low) / 2
    share = off**2 / (off**2 + spread**2)
    value, both = share * measured.value + (1 - share) * model, share * spread + (1 - share) * off
    return MeanError(value, max(value - both, 0.0), value + both)


def own_noise_error(noise: OwnNoise, like: Array, left_out: float) -> float:
    """Return the mean of E|published - true| over venues with true counts `like`, of which a share was left out.

    E|Lap(b) - B| = |B| + b·exp(-|B|/b); raising what lies below 0 saves b/2·exp(-c/b) where c was counted.
    """
    scale, counted = noise.factor * noise.scale, noise.factor * (1 - left_out) * like
    bias = np.abs(like - counted)
    errors = bias + scale * np.exp(-bias / scale)
    if noise.raised:
        errors = errors - scale / 2 * np.exp(-counted / scale)
    return float(errors.mean())


def _counts_up_to(piece: VisitSets, *, limit: int, key: bytes) -> Integers:
    return piece.capped(limit, key).counts()
