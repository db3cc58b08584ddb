"""Numbers as a person reads them: few digits, the unit that fits, and an interval in the same unit."""

from __future__ import annotations

import math

from geodp.metrics import Measured

UNDEFINED, INFINITE = "–", "∞"
_SCALES = {
    "m": ((1e3, "km"), (1.0, "m")),
    "s": ((7200.0, "h"), (120.0, "min"), (1.0, "s")),
}
_DIVISORS = {"km": 1e3, "h": 3600.0, "min": 60.0}
ROUNDING = 1e-9
"""Smaller numbers are what arithmetic leaves of zero."""
_BARE = ("", "share", "share difference", "ratio", "epsilon")


def quantity(value: float | None, unit: str = "") -> str:
    """Return a value with its unit, without idle zeros: `quantity(7200, "s")` is `2 h`."""
    number, space, label = with_interval(Measured(value), unit).partition(" ")
    if "." in number and unit not in ("share", "share difference"):
        number = number.rstrip("0").rstrip(".")
    return number + space + label


def with_interval(measured: Measured, unit: str = "", *, signed: bool = False) -> str:
    """Return a value with unit and interval: `1.23 km (1.10 to 1.36)`.

    Parameters
    ----------
    signed
        Write a plus sign before positive numbers: for differences.
    """
    measured = _drop_undefined(measured)
    if measured.value is None:
        return UNDEFINED
    if not math.isfinite(measured.value):
        return f"{'-' if measured.value < 0 else ''}{INFINITE}"
    if unit in ("share", "share difference"):
        points = signed or unit == "share difference"
        divisor, label, decimals, signed = 0.01, "points" if points else "%", 1, points
    else:
        divisor, label = _scale(_largest(measured), unit)
        decimals = _decimals(_largest(measured) / divisor)
    if measured.low is None or measured.high is None:
        whole = decimals and label not in ("points", "%") and (measured.value / divisor).is_integer()
        return f"{_digits(measured.value / divisor, 0 if whole else decimals, signed)} {label}".rstrip()
    value, low, high = (
        _digits(number / divisor, decimals, signed) for number in (measured.value, measured.low, measured.high)
    )
    return f"{value} {label} ({low} to {high})".replace("  ", " ")


def _drop_undefined(measured: Measured) -> Measured:
    """Return a number without NaN, and without an interval that is not finite."""
    if measured.value is None or math.isnan(measured.value):
        return Measured(None)
    ends = (measured.low, measured.high)
    finite = all(end is not None and math.isfinite(end) for end in ends) and math.isfinite(measured.value)
    return measured if finite else Measured(measured.value)


def _digits(value: float, decimals: int, signed: bool) -> str:
    """Return a number with thousands separators; what rounds to zero has no sign."""
    text = f"{value:{'+' if signed else ''},.{decimals}f}"
    return text.lstrip("+-") if float(text.replace(",", "")) == 0 else text


def _scale(size: float, unit: str) -> tuple[float, str]:
    for least, label in _SCALES.get(unit, ()):
        if size >= least:
            return _DIVISORS.get(label, 1.0), label
    return 1.0, "" if unit in _BARE else unit


def _decimals(size: float) -> int:
    """Return how many decimals leave about three digits of a number of this size."""
    for least, decimals in ((100, 0), (10, 1), (1, 2), (0.1, 3), (0.01, 4), (0.001, 5)):
        if size >= least:
            return decimals
    return 0 if size < ROUNDING else 2 - math.floor(math.log10(size))


def _largest(measured: Measured) -> float:
    return max(abs(number) for number in (measured.value, measured.low, measured.high) if number is not None)
