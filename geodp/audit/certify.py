"""What is certainly spent: by exact binomial (Clopper-Pearson) bounds on counts, or by the largest ratio of exact laws.

A z-test is not used anywhere: with rare events it raises false alarms far above its level (40 % at epsilon 4 with 100
samples), because the normal approximation fails exactly in the tail that decides.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.errors import GeodpError
from geodp.geometry import Array


def lower_bound(hits: npt.ArrayLike, trials: int, alpha: float) -> Array:
    """Return the lower Clopper-Pearson bound: below the true probability except with probability alpha."""
    from scipy.special import betaincinv

    k = np.asarray(hits, dtype=np.float64)
    safe = np.maximum(k, 1.0)
    return np.where(k > 0, betaincinv(safe, trials - safe + 1.0, alpha), 0.0)


def upper_bound(hits: npt.ArrayLike, trials: int, alpha: float) -> Array:
    """Return the upper Clopper-Pearson bound: above the true probability except with probability alpha."""
    from scipy.special import betainccinv

    k = np.asarray(hits, dtype=np.float64)
    safe = np.minimum(k, trials - 1.0)
    return np.where(k < trials, betainccinv(safe + 1.0, trials - safe, alpha), 1.0)


def certify_epsilon(
    hits: npt.ArrayLike,
    trials: int,
    other_hits: npt.ArrayLike,
    other_trials: int,
    *,
    alpha: float,
    delta: float = 0.0,
) -> Array:
    """Return an epsilon that is certainly spent, except with probability alpha: ln((p_low - delta) / q_high).

    The event was hit `hits` times on the input it speaks for and `other_hits` times on the other one; half of alpha
    goes to either bound. Never below 0, which every mechanism spends.
    """
    low = lower_bound(hits, trials, alpha / 2) - delta
    high = upper_bound(other_hits, other_trials, alpha / 2)
    return np.log(np.maximum(low / high, 1.0))


ROUNDING_SLACK = 1e-9
"""Probabilities are sums of doubles; a ratio this close to the claim is a rounding error."""


def exact_epsilon(with_: npt.ArrayLike, without: npt.ArrayLike, delta: float = 0.0) -> float:
    """Return the epsilon that two exact channel rows spend; infinite when an output is possible on one side only.

    With delta = 0 that is max |ln p/q|. With delta > 0 it is the least epsilon whose hockey-stick divergences
    Σ max(0, p - e^ε q) and Σ max(0, q - e^ε p) are at most delta.
    """
    p, q = np.asarray(with_, dtype=np.float64), np.asarray(without, dtype=np.float64)
    _require_probabilities(p, q)
    possible = (p > 0) | (q > 0)
    p, q = p[possible], q[possible]
    if delta > 0:
        return max(_hockey_stick_epsilon(p, q, delta), _hockey_stick_epsilon(q, p, delta))
    if np.any(p == 0) or np.any(q == 0):
        return float("inf")
    return float(np.max(np.abs(np.log(p) - np.log(q)), initial=0.0))


def _hockey_stick_epsilon(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64], delta: float) -> float:
    """Return ln of the least t >= 1 with Σ max(0, p - t q) <= delta.

    The sum is the largest of P(S) - t Q(S) over sets S of outputs with the highest ratios, so t must be at least
    (P(S) - delta) / Q(S) for every such set.
    """
    with np.errstate(divide="ignore"):
        order = np.argsort(-np.where(q > 0, p / np.where(q > 0, q, 1.0), np.inf), kind="stable")
    mass, other = np.cumsum(p[order]) - delta, np.cumsum(q[order])
    if np.any(mass[other == 0] > ROUNDING_SLACK):
        return float("inf")
    bound = mass[other > 0] / other[other > 0]
    return float(np.log(np.max(bound, initial=1.0)))


def _require_probabilities(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> None:
    if p.shape != q.shape:
        raise GeodpError(
            f"exact channel: the two inputs have {p.size} and {q.size} outputs; list the same ones for both"
        )
    for row in (p, q):
        if not np.all(np.isfinite(row)) or np.any(row < 0) or abs(float(row.sum()) - 1) > 1e-6:
            raise GeodpError(f"exact channel: probabilities must be at least 0 and sum to 1, they sum to {row.sum():g}")
