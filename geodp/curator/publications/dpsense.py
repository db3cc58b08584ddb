"""DPSense: rows are scaled down to a threshold that is chosen privately, so no public cap is needed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.curator.accuracy import OwnNoise, PaidCounts
from geodp.curator.counts_publication import NoisyCounts
from geodp.curator.grouping import normalise_rows, quality, thresholds
from geodp.geometry import Array
from geodp.privacy.keyed_choice import draw_key
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import exponential_mechanism, laplace_counts
from geodp.privacy.release_noise import lattice_step
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.visit_sets import VisitSets, VisitTable

FACTORS = np.round(np.arange(1.0, 2.005, 0.01), 2)
"""The candidates for the factor α of DPSense-S."""
_CANDIDATES, _SCALED_CANDIDATES = 10_000, 64


class DPSense(NoisyCounts):
    """Users per venue after rows were scaled down to a privately chosen threshold θ, with noise of scale θ/ε (DPSense).

    Guarantee
    ---------
    ε-differential privacy for all visits of one user (added or removed), against everyone but the curator. A tenth of ε
    chooses θ by the exponential mechanism, the rest is for the counts of rows scaled to at most θ. No public cap is
    needed; a public `max_theta` makes the choice nearly free.

    Reference
    ---------
    Day & Li 2015, DPSense: Differentially Private Publication of Data Counts Through Sensitivity Control, algorithms 1
    and 2. The text chooses with exp(ε q), algorithm 1 with exp(ε q/2); both are private, since one user more moves
    all scores up, by at most max Θ/d (the paper uses 1). DPSense-S's scores move both ways, and need the half.
    """

    kind: ClassVar[str] = "dpsense"
    states_always: ClassVar[bool] = True

    max_theta: int | None = Field(default=None, ge=1)
    """Largest threshold considered, a public number; default the number of venues."""
    scaling: bool = False
    """Scale the counts up again by a factor between 1 and 2 that is chosen along with θ (DPSense-S)."""
    choice_share: float = Field(default=0.1, gt=0, lt=1)
    """Part of ε for the choice of θ."""
    nonnegative: bool = True
    """Raise counts below 0 to 0 (post-processing, free)."""
    variant: Literal["corrected", "text", "literal"] = "corrected"
    """How θ is chosen: exp(ε q/Δq) with the exact Δq = max Θ/d; `text`: exp(ε q); `literal`: exp(ε q/2) as in
    algorithm 1. All are private."""

    def budgets(self) -> tuple[float, float]:
        """Return ε of the choice and of the counts."""
        choice = self.choice_share * self.counting_epsilon
        return choice, self.counting_epsilon - choice

    def count_venues(self, visits: VisitTable, noise: Noise, order: Integers | None = None) -> PaidCounts:  # noqa: ARG002
        """Choose θ (and α), then count the scaled rows."""
        most = min(self.max_theta or visits.venues, visits.venues)
        choose = self._choose_threshold_and_factor if self.scaling else self._choice
        theta, factor = choose(visits, most, noise)
        _, epsilon = self.budgets()
        scale = theta / epsilon
        counts = visits.sum_pieces(partial(normalise_rows, theta=theta, step=lattice_step(scale)))
        noisy = laplace_counts(counts, epsilon=epsilon, sensitivity=theta, noise=noise)
        count = factor * (np.maximum(noisy, 0.0) if self.nonnegative else noisy)
        own = OwnNoise(noisy, scale, self.nonnegative, factor)
        facts = {"theta": theta, "factor": factor, "noise_scale": factor * scale}
        return PaidCounts(
            count=count,
            bound=theta,
            total=float(noisy.sum()),
            total_spread=scale * math.sqrt(2 * visits.venues),
            facts=facts,
            own_noise=own,
        )

    def choice_sensitivity(self, most: int, venues: int) -> float:
        """Return the Δq that the choice is scaled by: the exact max Θ/d, or the paper's 1."""
        return most / venues if self.variant == "corrected" else 1.0

    def logits(self, sizes: Integers, theta: Integers, venues: int) -> Array:
        """Return the log-probabilities of the thresholds, up to a constant."""
        choice, counts = self.budgets()
        rate = choice / self.choice_sensitivity(int(theta.max()), venues)
        return rate * (0.5 if self.variant == "literal" else 1.0) * quality(sizes, theta, venues, 1 / counts)

    def _choice(self, visits: VisitTable, most: int, noise: Noise) -> tuple[int, float]:
        sizes = visits.sum_pieces(partial(VisitSets.sizes_up_to, most=most))
        theta = thresholds(most, _CANDIDATES)
        return int(theta[noise.choose(self.logits(sizes, theta, visits.venues))[0]]), 1.0

    def _choose_threshold_and_factor(self, visits: VisitTable, most: int, noise: Noise) -> tuple[int, float]:
        """Choose θ and α together.

        Scores of rows cut at `most` venues change by at most `most`/d (the paper: 1), up or down, for α up to 2.
        """
        theta, key = thresholds(most, _SCALED_CANDIDATES), draw_key(noise)
        exact = visits.sum_pieces(partial(_cut, most=most, key=key))
        scores = np.array([self.score_factors(visits, exact, int(each), most, key) for each in theta])
        sensitivity = self.choice_sensitivity(most, visits.venues)
        chosen = exponential_mechanism(
            scores.reshape(-1), epsilon=self.budgets()[0], sensitivity=sensitivity, noise=noise
        )[0]
        return int(theta[chosen // FACTORS.size]), float(FACTORS[chosen % FACTORS.size])

    def score_factors(self, visits: VisitTable, exact: Integers, theta: int, most: int, key: bytes) -> Array:
        """Return q_s(θ, α) for every α: -(1/d) Σ |α c^θ - c| - α θ/ε (Day & Li, eq. 6).

        With r = c/c^θ the sum is Σ c^θ |α - r|: venues are sorted into the gaps between the α, not visited for each.
        """
        scaled = visits.sum_pieces(partial(_cut_and_scale, theta=theta, most=most, key=key))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(scaled > 0, exact / scaled, np.inf)
        gap = np.searchsorted(FACTORS, ratio)
        below = np.cumsum(np.bincount(gap, weights=scaled, minlength=FACTORS.size + 1))[:-1]
        below_exact = np.cumsum(np.bincount(gap, weights=exact, minlength=FACTORS.size + 1))[:-1]
        error = FACTORS * (2 * below - scaled.sum()) - (2 * below_exact - exact.sum())
        return np.asarray(-error / visits.venues - FACTORS * theta / self.budgets()[1])

    def how(self, facts: Mapping[str, float]) -> str:
        """Say the noise that follows from the threshold, which was paid for."""
        scaled = "" if facts["factor"] == 1 else f", scaled up by {facts['factor']:g}"
        return (
            f"The noise on a count is ±{facts['noise_scale']:.4g} on average; nobody counts for more than "
            f"{facts['theta']:.0f} in all (θ){scaled}"
        )


def _cut(piece: VisitSets, *, most: int, key: bytes) -> Integers:
    return piece.keep_at_most(most, key).counts()


def _cut_and_scale(piece: VisitSets, *, theta: int, most: int, key: bytes) -> Array:
    return normalise_rows(piece.keep_at_most(most, key), theta=theta, step=2.0**-20)
