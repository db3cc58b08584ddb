"""Smoothing counts: venues cut into groups that share their mean, the best width, and thresholds on users' rows.

Groups work on sorted values and prefix sums: one width costs O(d/w · log d), all of them together O(d log² d).
Thresholds are chosen privately, as DPSense does.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import exponential_mechanism
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.visit_sets import VisitSets

EVERY_WIDTH_UP_TO = 2048
"""Maximum number of venues in lists that try every width; longer ones a grid whose steps are 3 % apart."""
_STEP = 1.03


def group_starts(venues: int, width: int) -> Integers:
    """Return where each group begins: floor(d/w) groups of w, the last of which takes the remainder."""
    return np.arange(max(venues // width, 1), dtype=np.int64) * width


def group_sums(counts: npt.NDArray[np.integer], order: Integers, width: int) -> tuple[Integers, Integers]:
    """Return the sum of each group's counts, and the groups' sizes."""
    starts = group_starts(order.size, width)
    sums = np.add.reduceat(counts[order], starts)
    return np.asarray(sums, dtype=np.int64), np.diff(np.append(starts, order.size))


def spread(means: Array, sizes: Integers, order: Integers) -> Array:
    """Give every venue the value of its group."""
    values = np.empty(order.size)
    values[order] = np.repeat(means, sizes)
    return values


def widths(venues: int) -> Integers:
    """Return the group widths that are tried: a list that follows from the public number of venues."""
    if venues <= EVERY_WIDTH_UP_TO:
        return np.arange(1, venues + 1, dtype=np.int64)
    steps = math.ceil(math.log(venues) / math.log(_STEP))
    return np.unique(np.rint(np.geomspace(1, venues, steps)).astype(np.int64))


def compute_smoothing_error(ordered: Array, total: Array, width: int) -> float:
    """Return the sum of |value - mean of its group| over all venues.

    Parameters
    ----------
    ordered
        Values in descending order.
    total
        Their prefix sums, from 0.
    width
        Venues per group.
    """
    size = ordered.size
    low = group_starts(size, width)
    high = np.append(low[1:], size)
    number = (high - low).astype(np.float64)
    inside = total[high] - total[low]
    mean = inside / number
    # values before `middle` lie above the mean of their group, the others below
    middle = np.clip(np.searchsorted(-ordered, -mean), low, high)
    above = total[middle] - total[low] - mean * (middle - low)
    below = mean * (high - middle) - (total[high] - total[middle])
    return float((above + below).sum())


def estimate_errors(estimate: Array, tried: Integers, scale_of_one: float) -> Array:
    """Return the estimated L1 error of each width: smoothing, and noise at its mean, E|Lap(b)| = b = `scale_of_one`/w.

    `estimate` are the estimated counts in descending order.
    """
    total = np.concatenate([[0.0], np.cumsum(estimate)])
    smoothing = np.array([compute_smoothing_error(estimate, total, int(width)) for width in tried])
    return smoothing + estimate.size * scale_of_one / tried


def best_width(estimate: Array, scale_of_one: float) -> int:
    """Return the width with the least estimated L1 error.

    The estimate both orders and judges, so the least error is understated; which width has it is hardly touched.
    """
    tried = widths(estimate.size)
    errors = estimate_errors(estimate, tried, scale_of_one)
    return int(tried[int(np.argmin(errors))])


def compute_sampling_rate(epsilon: float, cap: int) -> float:
    """Return β = (e^ε - 1)/(e^(ε·Δ) - 1), the rate of row sampling at budget ε, in logarithms: it may be tiny."""
    if cap == 1:
        return 1.0
    top = epsilon * cap
    return math.exp(epsilon - top + math.log(-math.expm1(-epsilon)) - math.log(-math.expm1(-top)))


def thresholds(most: int, number: int) -> Integers:
    """Return the candidates Θ: 1, 2, …, `most`, or `number` of them in geometric steps. The data play no part."""
    if most <= number:
        return np.arange(1, most + 1, dtype=np.int64)
    return np.unique(np.rint(np.geomspace(1, most, number)).astype(np.int64))


def count_kept_visits(sizes: Integers) -> Integers:
    """Return Σ min(|row|, θ) for θ = 0, 1, …: the visits that a threshold leaves.

    `sizes` counts the users with 0, 1, … venues. A user with k venues adds one for every θ up to k.
    """
    at_least = sizes[::-1].cumsum()[::-1]
    return np.concatenate([[0], np.cumsum(at_least[1:])])


def quality(sizes: Integers, theta: Integers, venues: int, noise_per_theta: float) -> Array:
    """Return q(θ) = ac(D|θ) - θ·b, with ac(D|θ) = Σ min(|row|, θ)/d (Day & Li, eq. 3); b is the noise of θ = 1."""
    return np.asarray(count_kept_visits(sizes)[theta] / venues - theta * noise_per_theta)


def choose_threshold(
    sizes: Integers, theta: Integers, venues: int, noise_per_theta: float, *, epsilon: float, noise: Noise
) -> int:
    """Choose θ by the exponential mechanism.

    One user more raises q(θ) by min(|row|, θ)/d: in one direction, by at most max Θ/d.
    """
    scores = quality(sizes, theta, venues, noise_per_theta)
    sensitivity = float(theta.max()) / venues
    chosen = exponential_mechanism(scores, epsilon=epsilon, sensitivity=sensitivity, noise=noise, one_directional=True)
    return int(theta[chosen[0]])


def normalise_rows(piece: VisitSets, *, theta: int, step: float) -> Array:
    """Return the column counts of D|θ: every row scaled by min(1, θ/|row|).

    Weights are rounded down to multiples of `step`: a row keeps its L1 norm within θ, and sums are exact in doubles.
    """
    with np.errstate(divide="ignore"):
        weight = np.minimum(1.0, theta / piece.size)
    return piece.sum_weights(np.floor(weight / step) * step)
