"""95 % intervals: of a mean, of a share, of a sum, and of the difference of two independent estimates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95
Z = 1.959963984540054  # standard normal quantile at (1 + CONFIDENCE) / 2


@dataclass(frozen=True)
class Measured:
    """A number with its 95 % interval; None where undefined, never NaN.

    Parameters
    ----------
    value
        The number.
    low, high
        Ends of the interval.
    has_interval
        Whether the metric has one at all, also where it is undefined here.

    Examples
    --------
    >>> from geodp.metrics import Measured
    >>> Measured(0.5, 0.4, 0.6, has_interval=True).value
    0.5
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    has_interval: bool = False

    def ends(self) -> tuple[float, float]:
        """Return the ends of the interval: the value itself where it has none, NaN where it is undefined."""
        value = math.nan if self.value is None else self.value
        return value if self.low is None else self.low, value if self.high is None else self.high

    def text(self, show: Callable[[float], str]) -> str:
        """Say the number and its interval, each in the words of `show`."""
        if self.value is None:
            return "undefined"
        if self.low is None or self.high is None:
            return show(self.value)
        return f"{show(self.value)} ({show(self.low)} to {show(self.high)})"


def mean(values: npt.ArrayLike) -> Measured:
    """Return the mean with its t-interval, mean ± t(n-1) · sd / √n; one value alone has no interval."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0 or not np.isfinite(sample).all():
        return Measured(None, has_interval=True)
    centre = float(sample.mean())
    if sample.size == 1:
        return Measured(centre, has_interval=True)
    half = _t_quantile(sample.size - 1) * float(sample.std(ddof=1)) / math.sqrt(sample.size)
    return Measured(centre, centre - half, centre + half, has_interval=True)


def total(values: npt.ArrayLike) -> Measured:
    """Return the sum of n values with n times the interval of their mean: what n such values may come to."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0:
        return Measured(0.0, has_interval=True)
    average = mean(sample)
    if average.value is None or average.low is None or average.high is None:
        value = None if average.value is None else average.value * sample.size
        return Measured(value, has_interval=True)
    n = sample.size
    return Measured(float(sample.sum()), n * average.low, n * average.high, has_interval=True)


def share(hits: int, trials: int) -> Measured:
    """Return hits / trials with Wilson's score interval: inside [0, 1], and sound for few trials.

    Parameters
    ----------
    hits
        How many of the trials succeeded.
    trials
        How many there were.

    Returns
    -------
    Measured
        The share and its 95 % interval; undefined without trials.

    Examples
    --------
    >>> from geodp.metrics.intervals import share
    >>> found = share(9, 10)
    >>> round(found.low, 2), found.value, round(found.high, 2)
    (0.6, 0.9, 0.98)
    """
    if trials == 0:
        return Measured(None, has_interval=True)
    p, z2 = hits / trials, Z * Z
    middle = (p + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z / (1 + z2 / trials) * math.sqrt(p * (1 - p) / trials + z2 / (4 * trials * trials))
    low = 0.0 if hits == 0 else middle - half
    high = 1.0 if hits == trials else middle + half
    return Measured(p, low, high, has_interval=True)


def difference(first: Measured, second: Measured) -> Measured:
    """Return first - second for independent estimates, with an interval recovered from theirs.

    The distances from each estimate to its own limits add in squares (Newcombe 1998; Zou and Donner 2008).
    With symmetric intervals this is the usual normal interval; Wilson's lopsided ones stay lopsided.
    """
    if first.value is None or second.value is None:
        return Measured(None, has_interval=True)
    gap = first.value - second.value
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return Measured(gap, has_interval=True)
    below = math.hypot(first.value - first.low, second.high - second.value)
    above = math.hypot(first.high - first.value, second.value - second.low)
    return Measured(gap, gap - below, gap + above, has_interval=True)


def _t_quantile(degrees_of_freedom: int) -> float:
    from scipy.special import stdtrit  # scipy.stats would take seconds to import

    return float(stdtrit(degrees_of_freedom, (1 + CONFIDENCE) / 2))
