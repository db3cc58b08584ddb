"""Does a number rise or fall with what varies? Paired differences say so, at a stated error rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

ERROR = 0.05
"""How often, at most, a number that only rises or stays (or only falls or stays) is said to do both."""
_ROUNDING = 1e-12  # of the size of the numbers: differences so small are none

Pair = tuple[int, int]
"""Places of two values, the smaller one first."""


@dataclass(frozen=True)
class Trend:
    """Where a number clearly rises and where it clearly falls, as what varies grows."""

    rises: Pair | None
    """The pair of values between which it rises most clearly (None: it does so nowhere)."""
    falls: Pair | None
    """The pair between which it falls most clearly."""

    @property
    def monotone(self) -> bool:
        """Whether it does not do both."""
        return self.rises is None or self.falls is None

    @property
    def word(self) -> str:
        """Say where it goes."""
        if not self.monotone:
            return "rises and falls"
        return "rises" if self.rises else "falls" if self.falls else "does not clearly change"


def find_trend(values: Sequence[Sequence[float | None]], error: float = ERROR) -> Trend:
    """Compare every value with every other, seed by seed.

    A difference counts when its interval at confidence 1 - error / pairs (Student's t, Bonferroni) leaves zero out; so
    a number that only rises, or only falls, is said to do both with a chance of at most error / 2.

    Parameters
    ----------
    values
        For each value of what varies, in ascending order, the number of every seed, in the same order of seeds.
        Undefined and infinite ones are left out, with their pairs.
    error
        The chance of being wrong.
    """
    pairs = list(combinations(range(len(values)), 2))
    found: dict[bool, tuple[float, Pair]] = {}
    for first, second in pairs:
        certainty = _certainty(values[first], values[second], error / len(pairs))
        if certainty is not None:
            up, clear = certainty > 0, abs(certainty)
            if up not in found or clear > found[up][0]:
                found[up] = (clear, (first, second))
    return Trend(*(found[up][1] if up in found else None for up in (True, False)))


def _certainty(before: Sequence[float | None], after: Sequence[float | None], error: float) -> float | None:
    """Return the mean difference in multiples of its half interval, or None where zero is inside."""
    known = [(b, a) for b, a in zip(before, after, strict=True) if a is not None and b is not None]
    both = [(b, a) for b, a in known if math.isfinite(a) and math.isfinite(b)]
    gaps = [a - b for b, a in both]
    if len(gaps) < 2:
        return None
    size = max(max(abs(a), abs(b)) for b, a in both)
    mean = math.fsum(gaps) / len(gaps)
    if abs(mean) <= _ROUNDING * size:
        return None
    spread = math.sqrt(math.fsum((gap - mean) ** 2 for gap in gaps) / (len(gaps) - 1))
    from scipy.special import stdtrit  # scipy.stats would take seconds to import

    half = float(stdtrit(len(gaps) - 1, 1 - error / 2)) * spread / math.sqrt(len(gaps))
    if abs(mean) <= half:
        return None
    return mean / half if half > _ROUNDING * abs(mean) else math.copysign(math.inf, mean)
