"""What no adversary can exceed: how well anybody can guess at what a guarantee hides."""

from __future__ import annotations

import math

from geodp.errors import UsageError

_STEPS = 2000


def advantage_bound(epsilon: float, delta: float = 0.0) -> float:
    """Return the most by which right guesses of in or out can exceed wrong ones: tanh(ε/2) where δ = 0.

    Examples
    --------
    >>> from geodp.public.guessing_bounds import advantage_bound
    >>> round(advantage_bound(1.0), 4)
    0.4621
    """
    _require(epsilon)
    return min(1.0, math.tanh(epsilon / 2) + 2 * delta / (1 + math.exp(min(epsilon, 700.0))))


def auc_bound(epsilon: float, delta: float = 0.0) -> float:
    """Return the greatest area under the curve of an attack on membership: 1/(1 + e^-ε) where δ = 0.

    Else the area under the greatest curve that (ε, δ) allows: min(1, e^ε·x + δ, 1 - e^-ε(1 - δ - x)).

    Examples
    --------
    >>> from geodp.public.guessing_bounds import auc_bound
    >>> [round(auc_bound(epsilon), 5) for epsilon in (0.1, 1, 10)]
    [0.52498, 0.73106, 0.99995]
    """
    _require(epsilon)
    if math.isinf(epsilon):
        return 1.0
    if delta == 0:
        return 1 / (1 + math.exp(-epsilon))
    factor, total = math.exp(min(epsilon, 700.0)), 0.0
    for step in range(_STEPS):
        x = (step + 0.5) / _STEPS
        total += max(0.0, min(1.0, factor * x + delta, 1 - (1 - delta - x) / factor))
    return min(1.0, total / _STEPS + 1 / _STEPS)  # the sum of middles may lie below the area by no more than a step


def gaussian_auc_bound(mu: float) -> float:
    """Return the greatest area under the curve that μ-Gaussian privacy allows: Φ(μ/√2)."""
    return 0.5 * math.erfc(-mu / 2)


def planar_hit_bound(epsilon_per_m: float, radius_m: float) -> float:
    """Return the most of whom one planar Laplace report, and nothing else, lets be found within a distance.

    Examples
    --------
    >>> import math
    >>> from geodp.public.guessing_bounds import planar_hit_bound
    >>> round(planar_hit_bound(math.log(4) / 200, 200), 4)
    0.4034
    """
    nats = epsilon_per_m * radius_m
    return 1 - (1 + nats) * math.exp(-nats)


def prior_hit_bound(epsilon_per_m: float, diameter_m: float, best_share: float) -> float:
    """Return the most of whom can be found in any ball that holds a share of the prior: e^(εD) of it."""
    return min(1.0, math.exp(min(epsilon_per_m * diameter_m, 700.0)) * best_share)


def _require(epsilon: float) -> None:
    if not epsilon >= 0:
        raise UsageError(f"epsilon must be at least 0, got {epsilon:g}.")
