"""Values that programs trip over, by type."""

from __future__ import annotations

import math
import random
from typing import Any

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 0.5, 1.5, -0.0, 1e-12, 1e-300, 5e-324, 1e12, 1e300, 1.7e308, math.inf, -math.inf, math.nan,
    2**31, -(2**31), 2**53, 2**63 - 1, 10**17, 10**18, 0.001, 1e-6, 1e6, 1e9, 90, 180, 181, 3600, 86_400,
)  # fmt: skip
WORDS = (
    "", " ", "x" * 5000, "a\x00b", "..", "../..", "/dev/zero", "/dev/null", "/", "~nobody-at-all/x", "~", "a\nb",
    "日本", "😀", "e\u0301", "\u202eabc", "{{ 7*7 }}", "{% of }", "%s", "-1", "1e5", "null", "[]", "nan",
    "$GEODP_DATA/x.csv", "=1+1", "<script>", "'", '"', "\\", "con", ".", "0x10", "08:00", "2024-01-01", "1,2",
    "true", "no", "a" * 300, "\ufeff", "\x7f", "a/b", "file:///etc/hosts", "https://example.org/x.csv",
)  # fmt: skip
LITERALS: tuple[Any, ...] = (None, True, False, [], {}, [None], {"kind": "none"}, [[]], {"": 1}, [1, 2], ["a"])


def any_value(rng: random.Random) -> Any:
    """Return a value of any type."""
    return rng.choice([number_like(rng, 1.0), rng.choice(WORDS), rng.choice(LITERALS)])


def number_like(rng: random.Random, value: float) -> Any:
    """Return a number near or far from one that was there, or what looks like one."""
    near = [value * 10, value / 10, -value, value + 1, value * 1e6, round(value) if math.isfinite(value) else 0]
    return rng.choice([rng.choice(NUMBERS), rng.choice(near), str(value)])


def mutated(rng: random.Random, value: Any) -> Any:
    """Return another value, mostly of the same type."""
    if rng.random() < 0.2:
        return any_value(rng)
    others: list[Any] = [any_value(rng)]
    if isinstance(value, bool):
        others = [not value, "yes", 1, None]
    elif isinstance(value, int | float):
        others = [number_like(rng, value)]
    elif isinstance(value, str):
        others = [rng.choice(WORDS), value + "x", value[:-1], value.upper(), value * 50]
    elif isinstance(value, list):
        others = [value * 2, value[:-1], value * 200, [value], [*value, any_value(rng)]]
    elif isinstance(value, dict):
        others = [[list(pair) for pair in value.items()], {**value, "extra": 1}, {}, [value], str(value)[:50]]
    return rng.choice(others)
