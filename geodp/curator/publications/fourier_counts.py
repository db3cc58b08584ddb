"""A few noisy coefficients of a cosine transform instead of all counts (FPA)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.curator.accuracy import PaidCounts
from geodp.curator.counts_publication import CappedCounts, count_capped
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import exponential_mechanism, laplace_counts
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.visit_sets import VisitTable

_CHOICE_SHARE = 0.1
_CANDIDATES = 60
_FINE = 1000  # in release mode rounding adds no more than this fraction to the noise


class FourierCounts(CappedCounts):
    """Users per venue from the first few noisy coefficients of a cosine transform of all counts (FPA).

    Guarantee
    ---------
    ε-differential privacy for all visits of one user (added or removed), against everyone but the curator. The
    transform is orthonormal, so one user with at most Δ venues moves k coefficients by at most √(kΔ) in all, which
    scales the noise. How many coefficients are kept is a public number or paid for with a tenth of ε.

    Reference
    ---------
    Rastogi & Nath 2010; Kellaris & Papadopoulos 2013, theorem 2 and appendix A (whose last line loses the root over Δ,
    and whose complex coefficients are two numbers each). There the best number is found on the true counts
    (`variant: literal`), which is not private.
    """

    kind: ClassVar[str] = "fourier_counts"

    coefficients: int | None = Field(default=None, ge=1)
    """Real coefficients kept (2ρ - 1 in the paper's count); default: chosen privately with a tenth of ε."""
    variant: Literal["corrected", "literal"] = "corrected"
    """`literal`: the best number of coefficients for the true counts, and the cap read off the data. Not private."""

    def flaw(self) -> str:
        """Say why the promise does not hold ('' when it does)."""
        return "the cap and the best number of coefficients are read off the data" if self.literal else ""

    def budgets(self) -> tuple[float, float]:
        """Return ε of the choice and of the coefficients."""
        chosen = self.coefficients is None and self.variant == "corrected"
        choice = _CHOICE_SHARE * self.counting_epsilon if chosen else 0.0
        return choice, self.counting_epsilon - choice

    def count_venues(self, visits: VisitTable, noise: Noise, order: Integers | None = None) -> PaidCounts:  # noqa: ARG002
        """Transform, keep the first coefficients with noise, transform back."""
        from scipy.fft import idct

        cap, key = self.cap_and_key(visits, noise)
        values = transform_counts(visits.sum_pieces(partial(count_capped, cap=cap, key=key)))
        kept = self.number(values, cap, noise)
        padded = np.zeros(visits.venues)
        padded[:kept] = self.noisy(values[:kept], cap, noise)
        scale = math.sqrt(kept * cap) / self.budgets()[1]
        facts = {"cap": cap, "coefficients": kept, "noise_scale": scale * math.sqrt(2 * kept / visits.venues)}
        root = math.sqrt(visits.venues)  # the first coefficient is the total over it
        count = self.finish_counts(idct(padded, norm="ortho"))
        return PaidCounts(count, cap, float(padded[0]) * root, scale * math.sqrt(2) * root, facts)

    def number(self, values: Array, cap: int, noise: Noise) -> int:
        """Return how many coefficients are kept."""
        if self.coefficients is not None:
            return min(self.coefficients, values.size)
        tried = np.unique(np.rint(np.geomspace(1, values.size, _CANDIDATES)).astype(np.int64))
        loss = self.losses(values, tried, cap)
        if self.variant == "literal":
            return int(tried[np.argmin(loss)])
        # The norm of what is cut off moves by at most that of one user's record, √Δ.
        epsilon, sensitivity = self.budgets()[0], math.sqrt(cap)
        return int(tried[exponential_mechanism(-loss, epsilon=epsilon, sensitivity=sensitivity, noise=noise)[0]])

    def losses(self, values: Array, tried: Integers, cap: int) -> Array:
        """Return, per number of coefficients, the norm of what is cut off plus that of the noise."""
        tail = np.sqrt(np.maximum(np.concatenate([np.cumsum((values**2)[::-1])[::-1], [0.0]])[tried], 0.0))
        spread = np.sqrt(2.0 * tried) * np.sqrt(tried * cap) / self.budgets()[1]
        return np.asarray(tail + spread)

    def noisy(self, values: Array, cap: int, noise: Noise) -> Array:
        """Return coefficients with noise.

        In release mode they become whole numbers of small steps first, which every lattice of noise holds. That may add
        a step to each coefficient's change, and the transform has rounding errors far below another; the noise is
        widened by both, a thousandth at most.
        """
        epsilon = self.budgets()[1]
        sensitivity = math.sqrt(values.size * cap)
        if not noise.releasable:
            return laplace_counts(values, epsilon=epsilon, sensitivity=sensitivity, noise=noise)
        rounding = 2 * values.size  # steps
        per_unit = 2.0 ** math.ceil(math.log2(_FINE * rounding / sensitivity))
        steps = np.rint(values * per_unit)
        noisy = laplace_counts(steps, epsilon=epsilon, sensitivity=sensitivity * per_unit + rounding, noise=noise)
        return noisy / per_unit

    def how(self, facts: Mapping[str, float]) -> str:
        """Say what the noise does."""
        return (
            f"{facts['coefficients']:.0f} coefficients are kept, whose noise is ±{facts['noise_scale']:.4g} (standard "
            "deviation) at a venue; what they cannot follow is smoothed away"
        )


def transform_counts(counts: Integers) -> Array:
    """Return the orthonormal cosine transform (DCT-II) of the counts."""
    from scipy.fft import dct

    return np.asarray(dct(counts.astype(np.float64), norm="ortho"))
