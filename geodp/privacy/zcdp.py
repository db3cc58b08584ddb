"""What zero-concentrated promises cost: noise for a rho, conversions, and totals of pure and concentrated charges."""

from __future__ import annotations

import math
from collections.abc import Sequence

from geodp.errors import UsageError
from geodp.privacy.primitives import positive
from geodp.public.zcdp import epsilon_of_rho, guess_risk, largest_rho

__all__ = ["epsilon_of_rho", "gaussian_scale", "guess_risk", "largest_rho", "mixed_epsilon", "rho_of_gaussian"]


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


def mixed_epsilon(
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
    >>> from geodp.privacy.zcdp import mixed_epsilon
    >>> round(mixed_epsilon([0.1] * 10, [0.01], 1e-6), 6)
    1.621693
    """
    added = math.fsum(epsilon for epsilon, _ in converted)
    left = delta - delta_t - math.fsum(each for _, each in converted)
    concentrated, simple = math.fsum(rhos), math.fsum(pure)
    if left < -1e-12 * delta or (left <= 0 and concentrated > 0):
        raise UsageError(
            f"a total at delta {delta:g} leaves {left:g} to turn rho with: thresholds and (epsilon, delta) promises "
            "take the rest. State it at a larger delta."
        )
    first = simple if concentrated == 0 else simple + epsilon_of_rho(concentrated, left)
    if left <= 0 or (not pure and concentrated > 0):
        return added + first
    squares = math.fsum(epsilon**2 / 2 for epsilon in pure)
    return added + min(first, epsilon_of_rho(concentrated + squares, left))
