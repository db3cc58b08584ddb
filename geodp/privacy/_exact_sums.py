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
    """Split an epsilon by shares into parts whose exact sum is the epsilon again, as a double.

    Parts are rounded to doubles; the smallest one takes what the others leave, to the unit where a double can say it.
    """
    whole, exact = units(epsilon), [units(share) for share in shares]
    parts = [as_float(whole * share // sum(exact)) for share in exact]
    smallest = exact.index(min(exact))
    others = sum(units(part) for place, part in enumerate(parts) if place != smallest)
    rest = as_float(whole - others) if others < whole else parts[smallest]
    near = (rest, math.nextafter(rest, math.inf), math.nextafter(rest, 0.0))
    sums = {value: others + units(value) for value in near}
    equal = [value for value in near if as_float(sums[value]) == epsilon] or [rest]
    parts[smallest] = min(equal, key=lambda value: (sums[value] < whole, abs(sums[value] - whole)))
    return parts


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
