"""The mean error of published counts, from what was paid for alone: noisy numbers, never the true counts.

Error means everywhere: the mean over all venues of |published count - number of users who were there|, against all
visits, those that a cap leaves out included. A small part of ε pays for two questions: how many users have 1, 2, 3-4,
5-8, … venues (one user is one answer), and how far the published counts are from the counts of users at no more than
M venues (one user changes the sum by M at most). The first says which M is worth its noise and what lies beyond it.

A noisy number of users per power of two is not enough where few users have many venues: 30 users too many at 1,000
venues are 30,000 visits that nobody made. Numbers of venues per person are near a lognormal law wherever people were
counted, so such laws are weighed by how well they explain the noisy numbers (and the noisy total of the visits that
were counted), and where a noisy number is sharp it corrects the law. All of it is post-processing of what was paid for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np

from geodp.curator.grouping import thresholds
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
ACCURACY_SHARE = 0.1
"""Of ε, what the methods as they come spend on knowing their accuracy; the rest is for the counts."""
USUAL_CAP = 20
NEAREST = "grouping_smoothing"
_DPSENSE_CHOICE, _DPSENSE_CANDIDATES = 0.1, 10_000
_MANY = 2000
_CLEARLY = 0.9
"""Another method is named when its error is below this share of one's own."""
ERROR_OF = "mean_error_of_"
"""Facts about other methods begin with this."""


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
class PaidCounts:
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
class NoisyEstimate:
    """A number that noisy answers tell, such as the mean error over the venues, with an interval."""

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

    error: NoisyEstimate
    sizes: RowSizes
    like: Array
    """Estimated true counts, the largest first: the released ones, made to add up to all visits."""
    total: float
    """Estimated number of all visits, on which every other method's error depends."""
    total_off: float
    """How far off that may be."""


def pay_for_accuracy(counted: PaidCounts, visits: VisitTable, noise: Noise, epsilon: float) -> PaidAccuracy:
    """Ask the two questions at ε/2 each, and tell the mean error."""
    half = epsilon / 2
    asked = laplace_counts(visits.sum_pieces(size_histogram), epsilon=half, sensitivity=1, noise=noise)
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
    error = _measure_error(counted, visits, sizes, noise, half)
    if counted.own_noise is not None:
        kept = everything - missing.value
        models = []
        for left_out in (missing.value, missing.low, missing.high):
            true = fit_total(unsorted, kept + left_out)  # more visits left out are more visits in all, too
            models.append(own_noise_error(counted.own_noise, true, left_out / (kept + left_out)))
        error = _with_model(error, *models)
    total_off = (missing.high - missing.low) / 2 + _NORMAL_SURE * counted.total_spread
    return PaidAccuracy(error, sizes, like, everything, total_off)


def _measure_error(
    counted: PaidCounts, visits: VisitTable, sizes: RowSizes, noise: Noise, epsilon: float
) -> NoisyEstimate:
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
    reference = visits.sum_pieces(partial(_counts_up_to, limit=limit, key=draw_key(noise)))
    off = np.rint(np.abs(counted.count - ratio * reference).sum())
    most = ratio * limit + 2
    noisy = max(float(laplace_counts(np.array([off]), epsilon=epsilon, sensitivity=most, noise=noise)[0]), 0.0)
    spread = _LAPLACE_SURE * most / epsilon + _UNSEEN_SURE * (beyond.high - beyond.low) / 2
    return NoisyEstimate(noisy / venues, max(noisy - spread, 0.0) / venues, (noisy + spread) / venues)


def _with_model(measured: NoisyEstimate, model: float, low: float, high: float) -> NoisyEstimate:
    """Weigh the measured error and the one that follows from the known noise by how far off each may be.

    `low` and `high` are what would follow if fewer or more visits were left out.
    """
    spread = measured.high - measured.value
    off = _LAPLACE_SURE * _MODEL_OFF * model + abs(high - low) / 2
    share = off**2 / (off**2 + spread**2)
    value, both = share * measured.value + (1 - share) * model, share * spread + (1 - share) * off
    return NoisyEstimate(value, max(value - both, 0.0), value + both)


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
    return piece.keep_at_most(limit, key).counts()


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

    def beyond(self, bound: float) -> NoisyEstimate:
        """Return the visits that are left out when everyone counts at no more than `bound` venues."""
        excess = np.maximum(self._laws.size - bound, 0.0)
        values = ((self._laws.share @ excess)[:, None] * self._number).reshape(-1)
        order = np.argsort(values)
        level = np.cumsum(self._weight.reshape(-1)[order])
        at = np.searchsorted(level, [0.5, (1 - SURE) / 2, (1 + SURE) / 2])
        middle, low, high = values[order][np.minimum(at, values.size - 1)] + float(self._extra @ excess)
        return NoisyEstimate(max(middle, 0.0), max(low, 0.0), max(high, 0.0))


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


def accuracy_facts(error: NoisyEstimate, *, always: bool) -> dict[str, float]:
    """Return the numbers that go with published counts; what is not known is not among them.

    `mean_error` is the mean over all venues of |published count - number of users who were there|, all visits taken;
    the interval holds it in nine of ten releases.
    """
    interval = {"mean_error_low": error.low, "mean_error_high": error.high}
    return {"mean_error": error.value, **interval} if error.known or always else interval


def other_errors(paid: PaidAccuracy, venues: int, epsilon: float, cap: int | None) -> dict[str, float]:
    """Return the mean errors that other methods would have at the same ε (and cap), as far as what was paid for tells.

    What grouping, smoothing and Fourier's coefficients would do depends on which venues are alike: that is not noisy.
    Where the number of all visits is drowned in noise, so is what other methods would do: then only zeros are noisy of,
    by the most that their error may be, and only where even that is clearly less than the own one.
    """
    if paid.total_off > KNOWN_WITHIN * paid.total:
        most = (paid.total + paid.total_off) / venues
        return {ERROR_OF + "zeros": most} if most < _CLEARLY * paid.error.low else {}
    counting = (1 - ACCURACY_SHARE) * epsilon
    like = _fewer(paid.like)
    bound = min(USUAL_CAP if cap is None else cap, venues)
    found = {
        "laplace_counts": _noisy_error(bound, counting, like, paid, raised=False),
        "dpsense": _dpsense_error(counting, like, paid, venues),
        "zeros": float(paid.like.sum()) / venues,
    }
    return {ERROR_OF + name: value for name, value in found.items()}


def state_accuracy(kind: str, how: str, facts: Mapping[str, float]) -> str:
    """Say how far the counts are off from the true numbers of users, or that it is not known."""
    if "mean_error_low" not in facts:
        missing = "what anyone has beyond the cap is missing" if "cap" in facts else "which makes counts too low"
        return f"{how}; {missing}. How far the counts are off in all is not known: nothing was paid for it."
    between = f"{facts['mean_error_low']:.3g} to {facts['mean_error_high']:.3g}"
    if "mean_error" not in facts:
        off = "How far the counts are off from the true numbers of users is not known"
        whole = f": at this ε the data are too few to measure it (probably {between})"
    else:
        within = KNOWN_WITHIN * facts["mean_error"]
        sharp = (
            max(facts["mean_error"] - facts["mean_error_low"], facts["mean_error_high"] - facts["mean_error"]) <= within
        )
        unsure = "" if sharp else "; at this ε the data are too few to say it more sharply"
        off = f"Counts are off by {facts['mean_error']:.3g} on average over the venues (probably {between}{unsure})"
        whole = " from the true numbers of users: noise, smoothing and visits that are left out together"
    return f"{off}{whole}. {how}. {_nearer(kind, facts)}".rstrip()


def _nearer(kind: str, facts: Mapping[str, float]) -> str:
    """Name the methods that would be clearly nearer; where the own error is not known, what they would have."""
    limit = _CLEARLY * facts["mean_error"] if "mean_error" in facts else math.inf
    others = {name.removeprefix(ERROR_OF): value for name, value in facts.items() if name.startswith(ERROR_OF)}
    best = sorted((value, name) for name, value in others.items() if value < limit)
    if not best:
        return ""
    listed = ", ".join(f"{name} by about {value:.3g}" for value, name in best)
    text = f"At the same ε other methods would be {'off' if limit == math.inf else 'nearer'}: {listed}."
    usual = f"What {NEAREST}, most often the nearest, would do here cannot be told from what was paid for."
    return text if kind == NEAREST else f"{text} {usual}"


def _noisy_error(bound: float, epsilon: float, like: Array, paid: PaidAccuracy, *, raised: bool) -> float:
    """Return the error of Laplace noise for `bound` venues per user."""
    left_out = 1 - paid.sizes.visits(bound) / paid.sizes.visits()
    return own_noise_error(OwnNoise(like, bound / epsilon, raised), like, left_out)


def _dpsense_error(epsilon: float, like: Array, paid: PaidAccuracy, venues: int) -> float:
    """Return the error of DPSense over its choice of θ: P(θ) ∝ exp(ε_c·q), q = kept(θ)/d - θ/ε_p, Δq = 1."""
    choice, counting = _DPSENSE_CHOICE * epsilon, (1 - _DPSENSE_CHOICE) * epsilon
    theta = thresholds(venues, _DPSENSE_CANDIDATES)
    tried = thresholds(venues, 60)
    kept = np.interp(theta, tried, paid.sizes.visits_up_to(tried.astype(np.float64)))
    logits = choice * (kept / venues - theta / counting)
    chance = np.exp(logits - logits.max())
    errors = [_noisy_error(float(each), counting, like, paid, raised=True) for each in tried]
    return float(np.interp(theta, tried, errors) @ chance / chance.sum())


def _fewer(ordered: Array) -> Array:
    """Return means of neighbours in a long list: sums over it stay the same."""
    if ordered.size <= _MANY:
        return ordered
    starts = np.linspace(0, ordered.size, _MANY, endpoint=False).astype(np.int64)
    return np.add.reduceat(ordered, starts) / np.diff(np.append(starts, ordered.size))
