from __future__ import annotations

import pytest

from geodp.metrics import Measured
from geodp.pages.quantity import quantity, with_interval


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (412.3, "m", "412 m"),
        (1234.0, "m", "1.23 km"),
        (1_234_567.0, "m", "1,235 km"),
        (95.0, "s", "95 s"),
        (480.0, "s", "8 min"),
        (3600.0, "s", "60 min"),
        (7200.0, "s", "2 h"),
        (0.9, "share", "90.0 %"),
        (-0.021, "share difference", "-2.1 points"),
        (0.6, "epsilon", "0.6"),
        (0.0, "nats", "0 nats"),
        (0.00123, "nats", "0.00123 nats"),
        (12345, "tasks", "12,345 tasks"),
        (1234.5, "reward", "1,234 reward"),
        (None, "m", "–"),
    ],
)
def test_few_digits_and_the_unit_that_fits(value: float | None, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


def test_an_interval_shares_the_unit_of_its_value() -> None:
    assert with_interval(Measured(980.0, 900.0, 1060.0), "m") == "0.98 km (0.90 to 1.06)"
    assert with_interval(Measured(0.9, 0.85, 0.93), "share") == "90.0 % (85.0 to 93.0)"
    assert with_interval(Measured(330.0), "s") == "5.50 min"


def test_differences_carry_their_sign() -> None:
    assert with_interval(Measured(12.0, -1.0, 25.0), "m", signed=True) == "+12.0 m (-1.0 to +25.0)"
    assert with_interval(Measured(-0.05, -0.08, -0.02), "share", signed=True) == "-5.0 points (-8.0 to -2.0)"


def test_zero_has_no_minus_sign() -> None:
    assert with_interval(Measured(-0.0, -0.0, -0.0), "share difference") == "0.0 points (0.0 to 0.0)"
    assert with_interval(Measured(-0.0001, -0.002, 0.001), "share", signed=True) == "0.0 points (-0.2 to +0.1)"
    assert quantity(-0.0, "m") == "0 m"
