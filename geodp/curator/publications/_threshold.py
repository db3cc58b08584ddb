"""A threshold on the rows chosen privately, as DPSense does: quality functions, their sensitivity, the candidates."""

from __future__ import annotations

import numpy as np

from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import exponential_mechanism
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.visit_sets import VisitSets


def thresholds(most: int, number: int) -> Integers:
    """Return the candidates Θ: 1, 2, …, `most`, or `number` of them in geometric steps. The data play no part."""
    if most <= number:
        return np.arange(1, most + 1, dtype=np.int64)
    return np.unique(np.rint(np.geomspace(1, most, number)).astype(np.int64))


def kept_visits(sizes: Integers) -> Integers:
    """Return Σ min(|row|, θ) for θ = 0, 1, …: the visits that a threshold leaves.

    `sizes` counts the users with 0, 1, … venues. A user with k venues adds one for every θ up to k.
    """
    at_least = sizes[::-1].cumsum()[::-1]
    return np.concatenate([[0], np.cumsum(at_least[1:])])


def quality(sizes: Integers, theta: Integers, venues: int, noise_per_theta: float) -> Array:
    """Return q(θ) = ac(D|θ) - θ·b, with ac(D|θ) = Σ min(|row|, θ)/d (Day & Li, eq. 3); b is the noise of θ = 1."""
    return np.asarray(kept_visits(sizes)[theta] / venues - theta * noise_per_theta)


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


def normalised(piece: VisitSets, *, theta: int, step: float) -> Array:
    """Return the column counts of D|θ: every row scaled by min(1, θ/|row|).

    Weights are rounded down to multiples of `step`: a row keeps its L1 norm within θ, and sums are exact in doubles.
    """
    with np.errstate(divide="ignore"):
        weight = np.minimum(1.0, theta / piece.size)
    return piece.weighted(np.floor(weight / step) * step)
