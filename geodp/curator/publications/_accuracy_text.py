"""What is said about the accuracy of published counts, and what other methods would do at the same ε."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from geodp.curator.publications._paid_accuracy import KNOWN_WITHIN, MeanError, OwnNoise, PaidAccuracy, own_noise_error
from geodp.curator.publications._threshold import thresholds
from geodp.geometry import Array

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


def accuracy_facts(error: MeanError, *, always: bool) -> dict[str, float]:
    """Return the numbers that go with published counts; what is not known is not among them.

    `mean_error` is the mean over all venues of |published count - number of users who were there|, all visits taken;
    the interval holds it in nine of ten releases.
    """
    interval = {"mean_error_low": error.low, "mean_error_high": error.high}
    return {"mean_error": error.value, **interval} if error.known or always else interval


def other_errors(paid: PaidAccuracy, venues: int, epsilon: float, cap: int | None) -> dict[str, float]:
    """Return the mean errors that other methods would have at the same ε (and cap), as far as what was paid for tells.

    What grouping, smoothing and Fourier's coefficients would do depends on which venues are alike: that is not told.
    Where the number of all visits is drowned in noise, so is what other methods would do: then only zeros are told of,
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


def stated_accuracy(kind: str, how: str, facts: Mapping[str, float]) -> str:
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
    usual = f"What {NEAREST}, most often the nearest, would do here is not told by what was paid for."
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
