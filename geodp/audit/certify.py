"""From counts to a certified epsilon: exact binomial (Clopper-Pearson) bounds, and nothing approximate.

A z-test is not used anywhere: with rare events it raises false alarms far above its level (40 % at epsilon 4 with 100
samples), because the normal approximation fails exactly in the tail that decides.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


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


def certified_epsilon(
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
