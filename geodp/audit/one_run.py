"""A lower bound on ε from one run with many canaries: a coin each, and a guess or none about each.

Under ε-differential privacy nobody guesses a fair coin right with more than 1/(1 + e^-ε), given everything else that
was released: so the number of right guesses among r is at most binomial with that chance. The guesser sees no coins;
those who are named are abstained on always, so that being named cannot choose who is judged.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array

_HALVES = 100
_MOST = 50.0


def certify_one_run(right: int, guessed: int, *, alpha: float = 0.05) -> float:
    """Return the largest ε at which so many right guesses have a chance of at most alpha (0: nothing is certified).

    Parameters
    ----------
    right
        Guesses that were right (v).
    guessed
        Canaries that were guessed about (r); the others were abstained on.
    alpha
        Error probability of the bound.

    Raises
    ------
    UsageError
        If there are more right guesses than guesses.

    Reference
    ---------
    Steinke, Nasr, Jagielski 2023, "Privacy Auditing with One (1) Training Run" (theorem for δ = 0).

    Examples
    --------
    >>> from geodp.audit.one_run import certify_one_run
    >>> round(certify_one_run(731, 1000), 3), certify_one_run(500, 1000)
    (0.881, 0.0)
    """
    from scipy.special import betainc

    if not 0 <= right <= guessed:
        raise UsageError(f"{right} right guesses of {guessed}: give at least 0, and no more than there were.")
    if right == 0:
        return 0.0

    def chance(epsilon: float) -> float:  # P(Bin(r, p) >= v) = I_p(v, r - v + 1)
        return float(betainc(right, guessed - right + 1, 1 / (1 + math.exp(-epsilon))))

    if chance(0.0) > alpha:
        return 0.0
    low, high = 0.0, _MOST
    for _ in range(_HALVES):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) <= alpha else (low, middle)
    return low


def guess_coins(
    score: Array, coins: npt.NDArray[np.bool_], *, share: float, named: npt.NDArray[np.bool_] | None = None
) -> tuple[int, int]:
    """Guess "in" of the highest scores and "out" of the lowest, and abstain on the rest: right guesses, and guesses.

    Parameters
    ----------
    score
        Evidence for "in", worked out without the coins.
    coins
        Who was in.
    share
        Share of the canaries that is guessed about: chosen before anything is looked at.
    named
        Who was named: nobody guesses about them.
    """
    judged = np.arange(score.size) if named is None else np.flatnonzero(~named)
    half = int(share * score.size / 2)
    order = judged[np.argsort(-score[judged], kind="stable")]
    half = min(half, order.size // 2)
    if not half:
        return 0, 0
    first, last = order[:half], order[order.size - half :]
    return int(coins[first].sum() + (~coins[last]).sum()), 2 * half
