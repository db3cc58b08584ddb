"""What zero-concentrated promises cost: noise for a rho, conversions, and totals of pure and concentrated charges."""

from __future__ import annotations

import math
from collections.abc import Sequence

from geodp.errors import UsageError
from geodp.privacy.primitives import positive
from geodp.public.zcdp import epsilon_of_rho, guess_risk, largest_rho

__all__ = [
    "epsilon_of_rho",
    "gaussian_scale",
    "guess_risk",
    "largest_rho",
    "mix_epsilon",
    "rho_of_gaussian",
    "rho_within",
    "total_epsilon",
]


def gaussian_scale(rho: float, l2: float) -> float:
    """Return σ of the Gaussian noise that makes ρ of an L2 sensitivity: Δ₂/√(2ρ).

    Parameters
    ----------
    rho
        ρ.
    l2
        L2 sensitivity of all values together.

    Returns
    -------
    float
        σ.

    Examples
    --------
    >>> from geodp.privacy.zcdp import gaussian_scale, largest_rho
    >>> round(gaussian_scale(largest_rho(1.0, 1e-6), 24**0.5), 6)
    22.196674
    """
    return positive("l2", l2) / math.sqrt(2 * positive("rho", rho))


def rho_of_gaussian(scale: float, l2: float) -> float:
    """Return ρ of (discrete) Gaussian noise of scale σ: Δ₂²/(2σ²).

    Parameters
    ----------
    scale
        σ.
    l2
        L2 sensitivity of all values together.

    Returns
    -------
    float
        ρ.

    Examples
    --------
    >>> from geodp.privacy.zcdp import rho_of_gaussian
    >>> rho_of_gaussian(10.0, 2.0)
    0.02
    """
    return positive("l2", l2) ** 2 / (2 * positive("scale", scale) ** 2)


def mix_epsilon(
    pure: Sequence[float],
    rhos: Sequence[float] = (),
    delta: float = 0.0,
    delta_t: float = 0.0,
    converted: Sequence[tuple[float, float]] = (),
) -> float:
    """Return the ε at δ of pure and concentrated charges together: the least of what is valid.

    That is Σε where all are pure; all as ρ (ε²/2 of the pure ones), turned once; or the pure ones by their sum, and the
    rest as ρ.

    Parameters
    ----------
    pure
        ε of the pure charges.
    rhos
        ρ of the concentrated ones.
    delta
        δ at which the total is stated.
    delta_t
        Probabilities that thresholds fail, added up.
    converted
        (ε, δ) of the promises that have no ρ: they are added as they are.

    Returns
    -------
    float
        ε.

    Raises
    ------
    UsageError
        If there is something to turn, and no δ is left for it.

    Examples
    --------
    >>> from geodp.privacy.zcdp import mix_epsilon
    >>> round(mix_epsilon([0.1] * 10, [0.01], 1e-6), 6)
    1.621693
    """
    left = delta - delta_t - math.fsum(each for _, each in converted)
    concentrated = math.fsum(rhos)
    if left < -1e-12 * delta or (left <= 0 and concentrated > 0):
        raise UsageError(
            f"a total at delta {delta:g} leaves {left:g} to turn rho with: thresholds and (epsilon, delta) promises "
            "take the rest. State it at a larger delta."
        )
    squares = math.fsum(epsilon**2 / 2 for epsilon in pure)
    added = math.fsum(epsilon for epsilon, _ in converted)
    return added + total_epsilon(math.fsum(pure), squares, concentrated, left)


def total_epsilon(pure: float, squares: float, rho: float, delta: float) -> float:
    """Return the ε of sums: the pure ones by themselves or as ρ, and all ρ turned once.

    Parameters
    ----------
    pure, squares
        Σε and Σε²/2 of the pure charges.
    rho
        Σρ of the concentrated ones.
    delta
        δ that is left to turn ρ with (0 where there is none to turn).

    Returns
    -------
    float
        ε.

    Examples
    --------
    >>> from geodp.privacy.zcdp import total_epsilon
    >>> round(total_epsilon(1.0, 0.5, 0.01, 1e-6), 6)
    1.621693
    """
    split = pure if rho == 0 else pure + epsilon_of_rho(rho, delta)
    return split if delta <= 0 or squares == 0 else min(split, epsilon_of_rho(rho + squares, delta))


def rho_within(epsilon: float, delta: float) -> float:
    """Return the largest ρ that is worth at most (ε, δ), and 0 where no ε is left.

    Parameters
    ----------
    epsilon, delta
        What there is.

    Returns
    -------
    float
        ρ.

    Examples
    --------
    >>> from geodp.privacy.zcdp import rho_within
    >>> rho_within(-0.1, 1e-6)
    0.0
    """
    return largest_rho(epsilon, delta) if epsilon > 0 else 0.0
