"""What a released count says about the true one: the public laws of noise, and of rules that promise nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from geodp.public.release import Cells

Array = npt.NDArray[np.float64]
SUPPRESS_BELOW, ROUND_TO = "suppress_below", "round_to"
CERTAIN_NATS = 50.0
"""What a count says that is possible on one side only: more than any sum of noisy ones, and still finite."""
_EXACT_VARIANCE = 1 / 12


def suppress(counts: npt.ArrayLike, least: int) -> Array:
    """Return counts with 0 for those below the least."""
    true = np.asarray(counts, dtype=np.float64)
    return np.where(true < least, 0.0, true)


def round_counts(counts: npt.ArrayLike, base: int) -> Array:
    """Return counts rounded to the nearest multiple of a base, halves upwards."""
    return np.floor(np.asarray(counts, dtype=np.float64) / base + 0.5) * base


@dataclass(frozen=True)
class CountLaw:
    """The law of a released count, given the true one.

    Parameters
    ----------
    kind
        `laplace`, `gaussian`, `exact`, or a rule: `suppress` (below `least`), `round` (to `base`), `both`.
    scale
        Scale of Laplace noise, standard deviation of Gaussian noise.
    least, base
        Of the rules: 0 and 1 where there is none.

    Examples
    --------
    >>> from geodp.public.count_laws import CountLaw
    >>> law = CountLaw("laplace", scale=2.0)
    >>> round(float(law.log_ratio([0.2], [0.0])[0] + law.log_ratio([1.4], [0.0])[0]), 6)
    0.2
    """

    kind: Literal["laplace", "gaussian", "exact", "suppress", "round", "both"] = "exact"
    scale: Array | float = 0.0
    least: int = 0
    base: int = 1

    @classmethod
    def of_rule(cls, rule: Mapping[str, int]) -> CountLaw:
        """Return the law of a rule: `suppress_below` and `round_to`, each with its number."""
        least, base = int(rule.get(SUPPRESS_BELOW, 0)), int(rule.get(ROUND_TO, 1))
        kinds: dict[tuple[bool, bool], Literal["exact", "suppress", "round", "both"]]
        kinds = {(True, False): "suppress", (False, True): "round", (True, True): "both", (False, False): "exact"}
        return cls(kinds[least > 1, base > 1], least=least, base=base)

    @classmethod
    def of(cls, release: Cells, rule: Mapping[str, int] | None = None) -> CountLaw:
        """Return the law of a release's counts: of the public rule where there is one, else of its noise."""
        if rule:
            return cls.of_rule(rule)
        scale = np.asarray(release.noise_scale, dtype=np.float64)
        if not scale.any():
            return cls("exact")
        if release.guarantee.rho is not None:
            return cls("gaussian", scale * math.sqrt(2))
        return cls("laplace", scale)

    def take(self, cells: npt.NDArray[np.int64]) -> CountLaw:
        """Return the law of some of the counts."""
        if np.ndim(self.scale) == 0:
            return self
        return CountLaw(self.kind, np.asarray(self.scale)[cells], self.least, self.base)

    def apply_rule(self, counts: npt.ArrayLike) -> Array:
        """Return what the rule makes of true counts (noise is no rule: it leaves them as they are)."""
        found = np.asarray(counts, dtype=np.float64)
        if self.least > 0:
            found = suppress(found, self.least)
        return round_counts(found, self.base) if self.base > 1 else found

    def log_ratio(self, released: npt.ArrayLike, others: npt.ArrayLike) -> Array:
        """Return ln P(released | one more than the others) / P(released | the others), in nats.

        Of Laplace noise (|r| - |r - 1|)/b with r what is released less the others, written as clip(2r - 1, -1, 1)/b:
        the difference of absolute values leaves rounding bits by which ties would be ranked.
        """
        y, rest = np.asarray(released, dtype=np.float64), np.asarray(others, dtype=np.float64)
        r = y - rest
        if self.kind == "laplace":
            return np.asarray(np.clip(2 * r - 1, -1, 1) / self.scale)
        if self.kind == "gaussian":
            return np.asarray((r - 0.5) / np.square(self.scale))
        with_, without = self.apply_rule(rest + 1) == y, self.apply_rule(rest) == y
        return np.where(with_ == without, 0.0, np.where(with_, CERTAIN_NATS, -CERTAIN_NATS))

    def variance(self, released: npt.ArrayLike) -> Array:
        """Return the variance of what hides each true count (infinite where it is suppressed)."""
        y = np.asarray(released, dtype=np.float64)
        if self.kind == "laplace":
            return np.broadcast_to(2 * np.square(self.scale), y.shape).astype(np.float64)
        if self.kind == "gaussian":
            return np.broadcast_to(np.square(self.scale), y.shape).astype(np.float64)
        hidden = (y == 0) & (self.least > 1)
        return np.where(hidden, np.inf, self.base**2 / 12 if self.base > 1 else _EXACT_VARIANCE)
