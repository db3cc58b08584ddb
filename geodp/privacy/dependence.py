"""People who depend on each other: what a count tells about one of them when others do as she does.

One person's answer is X₁, 1 with probability `share`. k - 1 others do the same by a stated model; the count is the sum
of all k. Everyone else is independent of her, and changes nothing below: a sum with something independent is no easier
to tell apart. Laws are probabilities of 0, 1, …, k.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array

Dependence = Literal["copies", "independent"]
"""`copies`: with probability `degree` all others do as she does, otherwise everybody decides alone. `independent`: each
of the others does as she does with probability `degree`, by her own coin, and otherwise decides alone."""


def count_laws(people: int, degree: float, model: Dependence, share: float = 0.5) -> tuple[Array, Array]:
    """Return the law of the count of k people given that one of them answers 0, and that she answers 1.

    Parameters
    ----------
    people
        k, herself included.
    degree
        Chance to do as she does.
    model
        Whether all others do so together, or each by her own coin.
    share
        Chance of a 1 of whoever decides alone.

    Returns
    -------
    tuple
        Two laws of k + 1 probabilities.

    Examples
    --------
    >>> from geodp.privacy.dependence import count_laws
    >>> [law.tolist() for law in count_laws(2, 1.0, "copies")]
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if people < 1 or not 0 <= degree <= 1 or not 0 <= share <= 1:
        raise UsageError(
            f"a household has 1 person or more, chances lie in [0, 1]; got {people}, {degree:g}, {share:g}"
        )
    others = people - 1
    without, with_ = np.zeros(people + 1), np.zeros(people + 1)
    if model == "independent":
        without[:people] = _binomial(others, (1 - degree) * share)
        with_[1:] = _binomial(others, degree + (1 - degree) * share)
        return without, with_
    alone = (1 - degree) * _binomial(others, share)
    without[:people], with_[1:] = alone, alone
    without[0] += degree
    with_[people] += degree
    return without, with_


def wasserstein_distance(law: Array, other: Array) -> int:
    """Return W∞: the largest gap between equal quantiles of two laws of counts.

    Examples
    --------
    >>> from geodp.privacy.dependence import count_laws, wasserstein_distance
    >>> wasserstein_distance(*count_laws(10, 0.1, "copies"))
    4
    """
    below, other_below = (np.minimum(np.cumsum(each), 1.0) for each in (law, other))
    levels = np.unique(np.concatenate([below, other_below]))
    # between two neighbouring levels quantiles stay the same: look just below each, whatever rounding did to it
    levels = levels[levels > 1e-12] - 1e-12
    gaps = np.searchsorted(below, levels) - np.searchsorted(other_below, levels)
    return int(np.abs(gaps).max())


def largest_log_ratio(law: Array, other: Array, scale: float) -> float:
    """Return how much a count with Laplace noise tells at most: sup |ln f/g| over all outputs, exactly.

    Between two counts f and g are A·e^(z/b) + B·e^(-z/b): their ratio is monotone there, and constant beyond the first
    and the last. So it is extreme at a count.

    Examples
    --------
    >>> from geodp.privacy.dependence import count_laws, largest_log_ratio
    >>> round(largest_log_ratio(*count_laws(10, 0.1, "copies"), scale=1.9), 3)
    1.146
    """
    counts = np.arange(law.size)
    kernel = np.exp(-np.abs(counts[:, None] - counts) / scale)
    return float(np.abs(np.log(kernel @ law) - np.log(kernel @ other)).max())


def bin_laws(law: Array, other: Array, scale: float) -> tuple[Array, Array]:
    """Return the probabilities of the same intervals of outputs under both laws: for exact comparisons.

    The intervals end at the counts, so the outermost tell as much as the outputs beyond all counts do.
    """
    counts = np.arange(law.size)
    below = _laplace_cdf((counts[:, None] - counts) / scale)
    above = _laplace_cdf((counts - counts[:, None]) / scale)
    first, second = (
        np.concatenate([below[:1] @ each, np.diff(below @ each), above[-1:] @ each]) for each in (law, other)
    )
    return first, second


def find_correlated_sensitivity(
    degrees: npt.ArrayLike, changes: npt.ArrayLike | None = None, *, threshold: float = 0.0
) -> float:
    """Return max over i of Σ_j |δ_ij|·|Δ_j|, with degrees below the threshold taken as 0 (eq. 14.5 and 14.6).

    As δ_ii = 1 it is at least the sensitivity for one person. It is the shift that a linear dependence lets one expect,
    and no bound on the shift.

    Parameters
    ----------
    degrees
        δ: a matrix, one row and column per person.
    changes
        How much the answer changes without each person; default 1 each.
    threshold
        δ₀.

    Examples
    --------
    >>> from geodp.privacy.dependence import find_correlated_sensitivity
    >>> degrees = [[1, 0.5], [0.5, 1]]
    >>> find_correlated_sensitivity(degrees), find_correlated_sensitivity(degrees, threshold=0.6)
    (1.5, 1.0)
    """
    delta = np.abs(np.asarray(degrees, dtype=np.float64))
    moved = np.ones(len(delta)) if changes is None else np.abs(np.asarray(changes, dtype=np.float64))
    return float((np.where(delta >= threshold, delta, 0.0) @ moved).max())


def household_sensitivity(people: int, degree: float, threshold: float = 0.0) -> float:
    """Return the correlated sensitivity of a count of k people who depend on each other by the same degree.

    Examples
    --------
    >>> from geodp.privacy.dependence import household_sensitivity
    >>> household_sensitivity(10, 0.1)
    1.9
    """
    return 1.0 + (people - 1) * degree if degree >= threshold else 1.0


def _binomial(number: int, chance: float) -> Array:
    return np.array(
        [math.comb(number, hits) * chance**hits * (1 - chance) ** (number - hits) for hits in range(number + 1)]
    )


def _laplace_cdf(value: Array) -> Array:
    tail = np.exp(-np.abs(value)) / 2
    return np.where(value < 0, tail, 1 - tail)
