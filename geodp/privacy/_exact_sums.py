"""Sums of epsilons that are exact: epsilons are the decimals they are written as, in units of 1e-27.

A double has at most 17 significant digits, so every epsilon of 1e-10 or more is a whole number of units; smaller ones
are rounded up. Single sums are Python integers; sums per person are three int64 limbs in base 1e9, which add exactly
and fast for billions of charges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Limbs = npt.NDArray[np.int64]
"""Three rows: units of 1e-9, 1e-18 and 1e-27; the last two lie in [0, 1e9) once carried."""

_DIGITS = 27
_ONE: int = 10**_DIGITS
_BASE = 10**9
_HELD_DIGITS = 15  # decimals of so many digits are told apart by doubles
_TRIES = 1000


def units(epsilon: float, *, rounding: str = ROUND_CEILING) -> int:
    """Return an epsilon as a whole number of units, rounded up: what is charged is never less than what is spent."""
    return int(Decimal(repr(float(epsilon))).scaleb(_DIGITS).to_integral_value(rounding))


def budget_units(epsilon: float) -> int:
    """Return a budget as a whole number of units, rounded down."""
    return units(epsilon, rounding=ROUND_FLOOR)


def limit_units(epsilon: float) -> int:
    """Return the largest sum that, as a double, is not more than a budget.

    A budget of n charges is itself a rounded double: six times ln 4/200 must fit the double nearest to it.
    """
    beyond = (Fraction(epsilon) + Fraction(math.ulp(epsilon)) / 2) * _ONE
    whole: int = math.ceil(beyond)
    return whole - 1


def as_float(value: int) -> float:
    """Return units as an epsilon, correctly rounded."""
    return value / _ONE  # dividing whole numbers is correctly rounded, however large they are


def divided(epsilon: float, shares: Sequence[float]) -> list[float]:
    """Split an epsilon by shares into parts that, as the decimals they are written as, add up to it exactly.

    All parts but the smallest are rounded to 15 digits below the epsilon's first, which a double holds. The smallest
    takes what they leave; where it would need more digits than a double has, the largest one gives it a few more of
    its last digit until it does not.
    """
    whole, exact = units(epsilon), [units(share) for share in shares]
    step = 10 ** max(len(str(whole)) - _HELD_DIGITS, 0)
    order = sorted(range(len(exact)), key=exact.__getitem__)
    smallest, largest_one = order[0], order[-1]  # two different ones, also where all are equal
    parts = [(whole * share // sum(exact) + step // 2) // step * step for share in exact]
    parts[smallest] = 0
    parts[smallest] = left = whole - sum(parts)
    for more in range(0, _TRIES * step, step):
        if left + more > 0 and units(as_float(left + more)) == left + more:
            parts[largest_one] -= more if largest_one != smallest else 0
            parts[smallest] += more
            break
    return [as_float(part) for part in parts]


def limbs(value: int) -> Limbs:
    """Split units into limbs."""
    high, low = divmod(value, _BASE)
    higher, middle = divmod(high, _BASE)
    return np.array([higher, middle, low], dtype=np.int64)


def carried(sums: Limbs) -> Limbs:
    """Carry overflow (and borrows) of the lower limbs into the higher ones."""
    over, low = np.divmod(sums[2], _BASE)
    over, middle = np.divmod(sums[1] + over, _BASE)
    return np.stack([sums[0] + over, middle, low])


def largest(sums: Limbs) -> int:
    """Return the largest of many sums in units (0 of none)."""
    if sums.shape[1] == 0:
        return 0
    full = carried(sums)
    for limb in range(3):  # the largest is among those with the largest leading limb, and so on
        full = full[:, full[limb] == full[limb].max()]
    higher, middle, low = (int(limb) for limb in full[:, 0])
    return (higher * _BASE + middle) * _BASE + low


def floats(sums: Limbs) -> npt.NDArray[np.float64]:
    """Return many sums as epsilons, to the last bit or nearly."""
    full = carried(sums).astype(np.float64)
    return np.asarray((full[0] * 1e18 + full[1] * 1e9 + full[2]) / 1e27)
