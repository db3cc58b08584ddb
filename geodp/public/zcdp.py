"""Zero-concentrated differential privacy in public numbers: what a rho is worth as (epsilon, delta), and as a guess.

ρ-zCDP bounds every Rényi divergence by ρα; δ_t is the probability with which a threshold may fail beside it. Sums of ρ
grow as releases do, and are turned into (ε, δ) once, at the end, where that loses least.
"""

from __future__ import annotations

import math
from functools import lru_cache

from geodp.errors import UsageError

_HALVES = 200
"""Most steps of a search by halves: it ends before, at neighbouring doubles."""
_SECTIONS = 56
"""Golden sections of an interval 50 wide: down to 1e-10, and the function is flat where it is least."""
_GOLDEN = (math.sqrt(5) - 1) / 2
_WIDEST = 60.0
"""ln(α - 1) is searched around numbers between minus this and this."""


@lru_cache(maxsize=4096)
def epsilon_of_rho(rho: float, delta: float) -> float:
    """Return the smallest known ε at which ρ-zCDP implies (ε, δ)-differential privacy.

    The least over α > 1 of αρ + [ln(1/δ) + (α-1)·ln(1-1/α) - ln α]/(α-1) (Canonne, Kamath and Steinke 2020,
    proposition 12); what is below 0 is 0.

    Parameters
    ----------
    rho
        ρ.
    delta
        δ, without the δ_t of thresholds.

    Returns
    -------
    float
        ε.

    Raises
    ------
    UsageError
        If ρ is negative or δ is not between 0 and 1.

    Examples
    --------
    >>> from geodp.public.zcdp import epsilon_of_rho
    >>> round(epsilon_of_rho(0.1, 1e-6), 6)
    2.141939
    """
    _require_rho(rho)
    _require_delta(delta)
    if rho == 0:
        return 0.0

    def measure(steepness: float) -> float:
        over = math.exp(steepness)  # α - 1
        return (1 + over) * rho - math.log1p(1 / over) - (math.log(delta) + math.log1p(over)) / over

    # ln δ + ln α is 0 at α = 1/δ: the least lies below it, near sqrt(ln(1/δ)/ρ)
    middle = 0.5 * (math.log(max(-math.log(delta), 1e-300)) - math.log(rho))
    middle = min(max(middle, -_WIDEST), _WIDEST)
    low, high = middle - 25.0, middle + 25.0
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = measure(left), measure(right)
    for _ in range(_SECTIONS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = measure(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = measure(right)
    return max(min(at_left, at_right), 0.0)


@lru_cache(maxsize=4096)
def largest_rho(epsilon: float, delta: float) -> float:
    """Return the largest ρ that is worth at most (ε, δ).

    Parameters
    ----------
    epsilon
        ε.
    delta
        δ, without the δ_t of thresholds.

    Returns
    -------
    float
        ρ; its `epsilon_of_rho` is never above ε.

    Examples
    --------
    >>> from geodp.public.zcdp import largest_rho
    >>> round(largest_rho(1.0, 1e-6), 8)
    0.02435597
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise UsageError(f"epsilon must be a finite number greater than 0, got {epsilon}")
    _require_delta(delta)
    low, high = 0.0, epsilon  # at α = 1 alone ρ costs ε = ρ, so no larger one fits
    while epsilon_of_rho(high, delta) <= epsilon:
        low, high = high, 2 * high  # only where δ is so large that ε is 0 for some ρ
    for _ in range(_HALVES):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if epsilon_of_rho(middle, delta) <= epsilon else (low, middle)
    return low


def guess_risk(epsilon: float, delta: float = 0.0, rho: float | None = None, delta_t: float = 0.0) -> float:
    """Return in what share of cases a 50:50 guess whether somebody was there can be right, at most.

    ½ + ½·min(√(ρ/2) + δ_t, (e^ε - 1 + 2δ)/(e^ε + 1)): total variation, by Pinsker from ρ and directly from (ε, δ).

    Parameters
    ----------
    epsilon, delta
        What is promised.
    rho, delta_t
        ρ and the probability that a threshold fails, where the promise is concentrated.

    Returns
    -------
    float
        Between ½ and 1.

    Examples
    --------
    >>> from geodp.public.zcdp import guess_risk
    >>> round(guess_risk(1.0), 6)
    0.731059
    """
    direct = math.tanh(epsilon / 2) + 2 * delta / (1 + math.exp(min(epsilon, 700.0)))
    told = min(1.0, direct)
    if rho is not None:
        told = min(told, math.sqrt(rho / 2) + delta_t)
    return 0.5 + 0.5 * told


def _require_rho(rho: float) -> None:
    if not (math.isfinite(rho) and rho >= 0):
        raise UsageError(f"rho must be a finite number of at least 0, got {rho}")


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise UsageError(
            f"a rho is stated as (epsilon, delta) at a delta between 0 and 1 that thresholds leave over, got {delta:g}"
        )
