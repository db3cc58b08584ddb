"""What a trusted shuffler adds to a local promise: reports without names or order hide among one another.

Whoever shuffles must be trusted to do it, and to say nothing else. The bounds hold for one report each, all of the same
ε, and are stated beside the local promise, which needs nobody; the ledger charges the local one.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array

_PRECISION = 1e-10
"""Error of an amplified ε; what is returned is rounded up by it."""
_DEVIATIONS = 9.0
"""Clones further than this many standard deviations from their mean are counted as disclosed: less than 1e-15."""


def widest_epsilon(reports: int, delta: float) -> float:
    """Return ln(n/(16 ln(4/δ))): the bounds are stated for reports of at most this ε (negative: for none)."""
    return math.log(reports / (16 * math.log(4 / delta))) if reports > 0 else -math.inf


def amplify_by_formula(epsilon: float, *, reports: int, delta: float) -> float:
    """Return the closed form of the amplified ε, a looser bound than `amplify_by_shuffling`.

    ln(1 + (e^ε - 1)/(e^ε + 1)·(8·sqrt(e^ε ln(4/δ)/n) + 8e^ε/n)): Feldman, McMillan, Talwar 2021, Hiding among the
    clones, theorem 3.1 [recalled].

    Parameters
    ----------
    epsilon
        ε of one report.
    reports
        How many are shuffled, one of each person.
    delta
        δ of the bound.

    Returns
    -------
    float
        ε of all of them together, for one person who replaces hers.

    Raises
    ------
    UsageError
        If the bound does not hold there.

    Examples
    --------
    >>> from geodp.privacy.shuffling import amplify_by_formula
    >>> round(amplify_by_formula(1.0, reports=10_000, delta=1e-6), 4)
    0.214
    """
    _require_valid(epsilon, reports, delta)
    kept = math.exp(epsilon)
    blanket = 8 * math.sqrt(kept * math.log(4 / delta) / reports) + 8 * kept / reports
    return math.log1p((kept - 1) / (kept + 1) * blanket)


def amplify_by_shuffling(epsilon: float, *, reports: int, delta: float) -> float:
    """Return ε of n shuffled reports together at δ, from the exact laws of the clone pair.

    Every other report is, with probability e^-ε, a clone: as if it came from one of the two inputs in question, either
    with probability 1/2. So what is seen is no easier to tell apart than (A + Δ, C - A + 1 - Δ) from its mirror image,
    with C ~ Bin(n - 1, e^-ε) clones, A ~ Bin(C, 1/2), Δ ~ Bern(e^ε/(e^ε + 1)) (Feldman et al. 2021 [recalled]). The
    hockey-stick divergence of that pair is summed up exactly, and ε is where it reaches δ.

    Parameters
    ----------
    epsilon
        ε of one report.
    reports
        How many are shuffled, one of each person.
    delta
        δ of the bound.

    Returns
    -------
    float
        ε of all of them together, for one person who replaces hers; never more than that of one report.

    Raises
    ------
    UsageError
        If the bound does not hold there.

    Examples
    --------
    >>> from geodp.privacy.shuffling import amplify_by_shuffling
    >>> round(amplify_by_shuffling(1.0, reports=10_000, delta=1e-6), 4)
    0.053
    """
    _require_valid(epsilon, reports, delta)
    from scipy.optimize import brentq

    def excess(amplified: float) -> float:
        return clone_divergence(epsilon, amplified, reports=reports) - delta

    if excess(0.0) <= 0:
        return 0.0
    found = float(brentq(excess, 0.0, epsilon, xtol=_PRECISION / 2))
    return min(found + _PRECISION, epsilon)


def clone_divergence(epsilon: float, amplified: float, *, reports: int) -> float:
    """Return sup P(S) - e^amplified·Q(S) of the clone pair: the δ that goes with an amplified ε.

    Given c clones, P(a) = p·B(a - 1) + (1 - p)·B(a) with the binomial B of c fair coins, p = e^ε/(e^ε + 1), and Q is
    the same with 1 - p. P/Q rises with a, because B(a - 1)/B(a) = a/(c - a + 1), so the best event is a tail of a.
    """
    p = 1 / (1 + math.exp(-epsilon))
    factor = math.exp(amplified)
    gain, loss = p - factor * (1 - p), factor * p - (1 - p)
    if gain <= 0:  # the amplified ε is that of a report: nothing exceeds it
        return 0.0
    clones, weight, rest = _list_clones(reports - 1, math.exp(-epsilon))
    first = np.floor((clones + 1) * (loss / (loss + gain))) + 1  # the least a with a/(c - a + 1) > loss/gain
    above = gain * _beyond(first - 2, clones) - loss * _beyond(first - 1, clones)
    return float(weight @ np.maximum(above, 0.0)) + rest


def _beyond(value: Array, coins: npt.NDArray[np.int64]) -> Array:
    """Return with which probability more than a value of so many fair coins show heads."""
    from scipy.special import bdtrc

    return np.where(value < 0, 1.0, bdtrc(np.clip(value, 0, coins), coins, 0.5))


def _list_clones(others: int, share: float) -> tuple[npt.NDArray[np.int64], Array, float]:
    """Return numbers of clones with their probabilities, and the probability of all that were left out."""
    from scipy.stats import binom

    spread = _DEVIATIONS * math.sqrt(others * share * (1 - share)) + _DEVIATIONS**2
    low, high = max(0, math.floor(others * share - spread)), min(others, math.ceil(others * share + spread))
    clones = np.arange(low, high + 1)
    left_out = float(binom.cdf(low - 1, others, share) + binom.sf(high, others, share))
    return clones, np.asarray(binom.pmf(clones, others, share)), left_out


def _require_valid(epsilon: float, reports: int, delta: float) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise UsageError(f"epsilon must be a finite number greater than 0, got {epsilon}")
    if not 0 < delta < 1:
        raise UsageError(f"delta must lie between 0 and 1, got {delta}")
    if isinstance(reports, bool) or not isinstance(reports, int) or reports < 1:
        raise UsageError(f"the number of shuffled reports must be a whole number of at least 1, got {reports!r}")
    most = widest_epsilon(reports, delta)
    if epsilon > most:
        need = math.ceil(16 * math.log(4 / delta) * math.exp(epsilon))
        limit = f"at most {most:.3g}" if most > 0 else "no ε at all"
        raise UsageError(
            f"shuffling {reports:,} reports is bounded for ε ≤ ln(n/(16 ln(4/δ))), {limit} with δ = {delta:g}, and "
            f"each has {epsilon:g}: it takes {need:,} reports, a smaller epsilon, or a larger delta. Without it the "
            "local promise stands."
        )
