"""Grouping and smoothing: similar venues share one noisy mean (GS, GS-S, GS-R)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.curator.accuracy import PaidCounts
from geodp.curator.counts_publication import CappedCounts, count_capped
from geodp.curator.grouping import (
    best_width,
    choose_threshold,
    compute_sampling_rate,
    group_starts,
    group_sums,
    spread,
    thresholds,
)
from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.privacy.keyed_choice import draw_key
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import laplace_counts
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.visit_sets import LEAST_RATE, VisitSets, VisitTable

_SCALE_SHARE = 0.05  # of ε, for the mean number of venues per user; a fifth of it for the number of users
_CHOICE_SHARE = 0.1  # of ε, for the threshold (as DPSense)
_CANDIDATES = 200
EXPECTED_WIDTH = 32
"""Group width that the choice of the threshold reckons with: a public number, near what tuning finds on venue data."""
_SPACE_WIDTH = 4  # times the cap: near venues are alike, so wider groups pay


@dataclass(frozen=True)
class Budgets:
    """ε of every step."""

    choice: float
    """For the threshold on the rows."""
    sample: float
    """For the sample that orders the venues."""
    scale: float
    """For the mean number of venues per user."""
    groups: float
    """For the means of the groups."""


class GroupingSmoothing(CappedCounts):
    """Users per venue: venues with similar counts are grouped by a noisy sample and share a noisy mean (GS).

    Guarantee
    ---------
    ε-differential privacy for all visits of one user (added or removed), against everyone but the curator. Holds
    because everyone is counted at no more than `cap` venues; the sample holds one venue per user (or is thinned as
    much) and has noise; the order and the width of the groups follow from that noisy sample alone; the groups' sums
    have noise for `cap` venues.

    Reference
    ---------
    Kellaris & Papadopoulos 2013, Practical Differential Privacy via Grouping and Smoothing, figures 2, 4 and 6. The
    paper takes the cap from the data (`variant: literal`), which is not private, and scales the sample by the cap
    (`scale: literal`), which over-estimates counts wherever users have fewer venues than the cap; here by a noisy mean
    number of venues per user.
    """

    kind: ClassVar[str] = "grouping_smoothing"

    grouping: Literal["tuned", "sampled", "random", "space"] = "tuned"
    """`tuned`: by the noisy sample, in groups of the best width (GS); `sampled`: the same in groups of the cap (GS-S);
    `random`: groups of the cap at random (GS-R); `space`: four times as wide, of venues that lie together on the map
    (no sample, hence all of ε for the groups)."""
    sampling: Literal["col", "row", "none"] = "col"
    """The sample: one venue of each user (`col`), few whole users (`row`), or everything with more noise (`none`)."""
    scale: Literal["corrected", "literal"] = "corrected"
    """How the column sample is scaled to counts: by a noisy mean number of venues per user, or by the cap (literal)."""
    width: int | None = Field(default=None, ge=1)
    """Venues per group; default: the best (`tuned`), the cap, or four times the cap (`space`)."""
    variant: Literal["corrected", "geodp", "literal"] = "corrected"
    """`geodp`: the cap is lowered to a threshold chosen privately (as in DPSense, a tenth of ε) and counts are raised
    to 0; `literal`: the cap is read off the data. Not private."""

    @property
    def uses_places(self) -> bool:
        """Whether the places of the venues are needed."""
        return self.grouping == "space"

    @property
    def orders_by_sample(self) -> bool:
        """Whether the order of the venues is paid for."""
        return self.grouping in ("tuned", "sampled")

    @property
    def _pays_for_scale(self) -> bool:
        return self.grouping == "tuned" and self.width is None and self.sampling == "col" and self.scale == "corrected"

    def idle_fields(self) -> dict[str, str]:
        """Return the fields that another way of grouping or another variant reads."""
        found = super().idle_fields()
        if not self.orders_by_sample:
            found |= dict.fromkeys(("sampling", "scale"), f"with grouping: {self.grouping}")
        elif self.grouping == "sampled" or self.width is not None:
            found["scale"] = "where no width is tuned"
        elif self.sampling != "col":
            found["scale"] = f"with sampling: {self.sampling}"
        return found

    def budgets(self) -> Budgets:
        """Split ε: half for the groups, half for the sample and its scale; what is not needed goes to the groups."""
        choice = _CHOICE_SHARE * self.counting_epsilon if self.variant == "geodp" else 0.0
        left = self.counting_epsilon - choice
        if not self.orders_by_sample:
            return Budgets(choice, 0.0, 0.0, left)
        scale = _SCALE_SHARE * self.counting_epsilon if self._pays_for_scale else 0.0
        return Budgets(choice, left / 2 - scale, scale, left / 2)

    def count_venues(self, visits: VisitTable, noise: Noise, order: Integers | None = None) -> PaidCounts:
        """Order, group and count, with noise in every group."""
        if self.grouping == "space" and order is None:
            raise UsageError("grouping: space needs a venue list with places (lon, lat). Nothing was released.")
        cap, key = self.cap_and_key(visits, noise)
        if self.variant == "geodp":
            cap = self.threshold(visits, cap, noise)
        sample = self.sample(visits, cap, key, noise) if self.orders_by_sample else None
        usual = cap * (_SPACE_WIDTH if self.grouping == "space" else 1)
        width = min(self.width or usual, visits.venues)
        if sample is not None:
            order = np.argsort(-sample, kind="stable")
            if self.grouping == "tuned" and self.width is None:
                factor = self.factor(visits, cap, noise)
                width = best_width(factor * sample[order], cap / self.budgets().groups)
        elif self.grouping == "random":
            order = np.argsort(noise.uniform(visits.venues), kind="stable")
        counts = visits.sum_pieces(partial(count_capped, cap=cap, key=key))
        count = self.smooth(counts, _require_order(order), width, cap, noise)
        scale = cap / self.budgets().groups
        spread = scale * math.sqrt(2 * group_starts(visits.venues, width).size)
        facts = {"cap": cap, "width": width, "noise_scale": scale / width}
        return PaidCounts(self.finish_counts(count), cap, float(count.sum()), spread, facts)

    def threshold(self, visits: VisitTable, cap: int, noise: Noise) -> int:
        """Choose a lower cap privately: it leaves out visits, and lowers the noise in groups of the expected width."""
        sizes = visits.sum_pieces(partial(VisitSets.sizes_up_to, most=cap))
        per_theta = 1 / ((self.width or EXPECTED_WIDTH) * self.budgets().groups)
        candidates = thresholds(cap, _CANDIDATES)
        return choose_threshold(sizes, candidates, visits.venues, per_theta, epsilon=self.budgets().choice, noise=noise)

    def sample(self, visits: VisitTable, cap: int, key: bytes, noise: Noise) -> Array:
        """Return the noisy sample t_s that orders the venues."""
        epsilon, secret = self.budgets().sample, draw_key(noise)
        rate = compute_sampling_rate(epsilon, cap)
        measure = partial(_count_sample, cap=cap, key=key, secret=secret, sampling=self.sampling, rate=rate)
        sensitivity = cap if self.sampling == "none" else 1
        taken = rate if self.sampling == "row" else 1.0
        counted = visits.sum_pieces(measure)
        return laplace_counts(counted, epsilon=epsilon, sensitivity=sensitivity, noise=noise, taken_with=taken)

    def factor(self, visits: VisitTable, cap: int, noise: Noise) -> float:
        """Return what the sample is multiplied by to estimate counts.

        A column sample holds the share 1/|row| of a user's venues, so the factor is the mean number of venues per user
        (paid for), and the cap only if everyone has that many.
        """
        if self.sampling == "none":
            return 1.0
        if self.sampling == "row":
            return 1 / max(compute_sampling_rate(self.budgets().sample, cap), LEAST_RATE)
        if self.scale == "literal":
            return float(cap)
        epsilon = self.budgets().scale
        sizes = visits.sum_pieces(partial(VisitSets.sizes_up_to, most=cap))
        total, users = int(np.dot(sizes, np.arange(cap + 1))), int(sizes[1:].sum())
        noisy_total = laplace_counts(np.array([total]), epsilon=0.8 * epsilon, sensitivity=cap, noise=noise)[0]
        noisy_users = laplace_counts(np.array([users]), epsilon=0.2 * epsilon, sensitivity=1, noise=noise)[0]
        return float(np.clip(noisy_total / max(noisy_users, 1.0), 1.0, cap))

    def smooth(self, counts: Integers, order: Integers, width: int, cap: int, noise: Noise) -> Array:
        """Return the noisy means of the groups, each at all venues of its group.

        One user changes the sums by at most Δ in all, hence the means by Δ/w. Noise goes on the sums, which are whole.
        """
        sums, sizes = group_sums(counts, order, width)
        noisy = laplace_counts(sums, epsilon=self.budgets().groups, sensitivity=cap, noise=noise)
        return spread(noisy / sizes, sizes, order)

    def finish_counts(self, count: Array) -> Array:
        """Raise counts to 0 where asked for, and with `variant: geodp`."""
        return np.maximum(count, 0.0) if self.nonnegative or self.variant == "geodp" else count

    def how(self, facts: Mapping[str, float]) -> str:
        """Say the noise of a mean."""
        return (
            f"Venues share the mean of groups of {facts['width']:.0f}, with noise ±{facts['noise_scale']:.4g} on "
            "average; unlike venues of a group are smoothed in addition"
        )


def _count_sample(piece: VisitSets, *, cap: int, key: bytes, secret: bytes, sampling: str, rate: float) -> Integers:
    bounded = piece.keep_at_most(cap, key)
    if sampling == "col":
        return bounded.one_each(secret)
    return bounded.rows_sampled(rate, secret) if sampling == "row" else bounded.counts()


def _require_order(order: Integers | None) -> Integers:
    if order is None:
        raise UsageError("the venues have no order")
    return order
