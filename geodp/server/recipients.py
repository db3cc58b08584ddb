"""How many of the people whom an offer means are asked, and when: the recipient cap, rounds, and phones that thin out.

A region that holds enough people almost surely holds more than are needed. An offer therefore names a region and a
number K, both from the release alone; the curator orders the idle people inside by a secret draw per worker and task
and asks the first K. The server sees the winner, or that there is none, and nothing of the order. Where nobody is
trusted there is nobody to count: the offer carries a share q, and a phone takes part if its own secret draw is below q.

Within a task's patience the same people can be asked in rounds along the same order, until somebody accepts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array

RESERVE = 1.7
"""A region is grown to E_r = 1 - (1 - E)^1.7, so that a cap almost always finds as many people as it needs."""
_QUANTILES = 64
_SHAPES = np.geomspace(1e-2, 1e6, 512)
MOST_ROUNDS = 3

Cap = int | Literal["auto"] | None
"""`max_recipients` of an assignment."""
Rounds = int | Literal["auto"]
"""`rounds` of an assignment."""


def region_target(target: float, *, capped: bool) -> float:
    """Return the success for which a region is grown."""
    return -math.expm1(RESERVE * math.log1p(-target)) if capped else target


@dataclass(frozen=True)
class PeopleInside:
    """What the server believes about the people inside the targets of a batch, one row per task."""

    mean: Array
    """μ: how many."""
    variance: Array
    """V of that number."""
    acceptors: Array
    """How many would accept, on average."""

    @property
    def probability(self) -> Array:
        """Chance that one of them accepts."""
        return np.clip(self.acceptors / np.maximum(self.mean, 1e-300), 0.0, 1.0)

    def success(self, cap: npt.ArrayLike, needed: int = 1, declined: Array | float = 0.0) -> Array:
        """Return the chance that enough accept when `cap` is the maximum number asked.

        N is taken at 64 mid-quantiles of Gamma(μ, V); given N, acceptors are Bin(min(N, K), p), fractions allowed.
        Where D people were asked in vain, K others are asked of those who are left, and what happened tells of N: each
        quantile weighs as much as it made that likely, P(Bin(min(N, D), p) < k).
        """
        return self._success(self._numbers(), np.asarray(cap, dtype=np.float64), needed, declined)

    def _success(self, numbers: Array, cap: Array, needed: int, declined: Array | float) -> Array:
        probability, before = self.probability[:, None], np.minimum(numbers, np.asarray(declined)[..., None])
        missed = _fewer(np.minimum(numbers - before, cap[..., None]), probability, needed)
        if not np.any(declined):
            return np.asarray(1 - np.mean(missed, axis=1))
        weight = np.maximum(_fewer(before, probability, needed), 1e-300)
        return np.asarray(1 - (weight * missed).sum(axis=1) / weight.sum(axis=1))

    def _numbers(self) -> Array:
        return gamma_quantiles(self.mean, self.variance)

    def least_cap(
        self, target: float, needed: int = 1, declined: Array | float = 0.0
    ) -> tuple[npt.NDArray[np.int64], Array]:
        """Return the least K that plans the target, task by task, and the success that is planned.

        Where none does, K is 0: everyone inside is asked, and the plan is short of the target. `declined` people were
        asked in vain before, and are not asked again.
        """
        numbers = self._numbers()
        low, high = np.zeros(self.mean.size), np.maximum(np.ceil(numbers[:, -1]), 1.0)
        everyone = self._success(numbers, high, needed, declined)
        while np.any(high - low > 1):
            middle = np.floor((low + high) / 2)
            enough = self._success(numbers, middle, needed, declined) >= target
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        reached = everyone >= target
        planned = np.where(reached, self._success(numbers, high, needed, declined), everyone)
        return np.where(reached, high, 0).astype(np.int64), planned

    def most_left(self, declined: Array | float) -> npt.NDArray[np.int64]:
        """Return how many people, at least one, may be inside at most besides those who were asked in vain."""
        return np.maximum(np.ceil(self._numbers()[:, -1] - declined), 1.0).astype(np.int64)

    def shares(self, target: float, needed: int = 1) -> Array:
        """Return q of phones that thin out: enough acceptors for the target although their number stays uncertain.

        1 - (1 + ρ q μ p)^(-1/ρ) = E for ρ = V/μ², so q = need/(μ p), need = ((1 - E)^-ρ - 1)/ρ. Several acceptors are
        found by bisection; 1 where not even everyone plans the target.
        """
        if needed > 1:
            return self._shares_of_several(target, needed)
        loss = -math.log1p(-target)
        ratio = self._spread
        need = np.where(ratio > 1e-9, np.expm1(np.minimum(ratio * loss, 700.0)) / np.maximum(ratio, 1e-300), loss)
        return np.minimum(1.0, need / np.maximum(self.acceptors, 1e-300))

    def _shares_of_several(self, target: float, needed: int) -> Array:
        low, high = np.zeros(self.mean.size), np.ones(self.mean.size)
        for _ in range(40):
            middle = (low + high) / 2
            enough = self.thin_success(middle, needed) >= target
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high

    @property
    def _spread(self) -> Array:
        """ρ = V/μ²."""
        return np.asarray(self.variance / np.maximum(self.mean, 1e-150) ** 2)

    def thin_success(self, share: Array, needed: int = 1) -> Array:
        """Return the success that is planned when everyone inside takes part with this chance.

        Acceptors are Poisson about a gamma law: negative binomial, P(j) by its recurrence.
        """
        ratio, willing = self._spread, share * self.acceptors
        exponent = np.where(ratio > 1e-9, np.log1p(ratio * willing) / np.maximum(ratio, 1e-300), willing)
        if needed == 1:
            return -np.expm1(-exponent)
        term = np.exp(-exponent)
        total = term
        for hits in range(1, needed):
            term = term * willing * (1 + (hits - 1) * ratio) / (1 + ratio * willing) / hits
            total = total + term
        return np.asarray(np.maximum(1 - total, 0.0))


def _fewer(number: Array, probability: Array, needed: int) -> Array:
    """Return P(Bin(number, p) < needed); a fraction of a person counts in proportion, in the exponent."""
    decline = np.log1p(-np.minimum(probability, 1 - 1e-12))
    none = np.exp(number * decline)
    if needed == 1:
        return np.asarray(none)
    odds = probability / np.maximum(1 - probability, 1e-12)
    total, term = none.copy(), none
    for hits in range(1, needed):
        term = term * np.maximum(number - hits + 1, 0.0) / hits * odds
        total = total + term
    return np.minimum(total, 1.0)


def gamma_quantiles(mean: Array, variance: Array) -> Array:
    """Return 64 mid-quantiles of gamma laws with these moments, one row each, from a table over their shapes."""
    mean = np.asarray(mean, dtype=np.float64)
    least = np.maximum(mean**2 / _SHAPES[-1], 1e-300)  # where nobody is believed to be inside, any law will do
    shape = mean**2 / np.maximum(variance, least)
    place = np.interp(np.log(np.maximum(shape, _SHAPES[0])), np.log(_SHAPES), np.arange(_SHAPES.size))
    row = np.minimum(place.astype(np.int64), _SHAPES.size - 2)
    share, table = (place - row)[:, None], _quantile_table()
    return np.asarray(mean[:, None] * (table[row] * (1 - share) + table[row + 1] * share))


@cache
def _quantile_table() -> Array:
    """Return quantiles of Gamma(shape) over its mean; rows are shapes, each scaled to have the mean 1 exactly."""
    from scipy.special import gammaincinv

    level = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    table = gammaincinv(_SHAPES[:, None], level) / _SHAPES[:, None]
    return np.asarray(table / table.mean(axis=1, keepdims=True))


def possible_rounds(rounds: Rounds, patience_s: float, window_s: float) -> int:
    """Return in how many rounds a task can be offered: as stated, or up to three, within its patience."""
    most = MOST_ROUNDS if rounds == "auto" else rounds
    return max(1, min(most, int(patience_s / window_s * (1 + 1e-12))))


@cache
def round_shares(rounds: int, target: float) -> tuple[float, ...]:
    """Return which share of the needed -ln(1 - E) has been asked after each round.

    Askings are ∝ Σ e^(-H_{j-1}) x_j, with x_j what round j adds to H_j; they are least where x_{j+1} = e^{x_j} - 1
    (the derivative by x_j is zero). x_1 follows by bisection, because Σ x grows with it.
    """
    whole = -math.log1p(-target)
    low, high = 0.0, whole
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(_steps(middle, rounds, whole)) < whole else (low, middle)
    steps = _steps(high, rounds, whole)
    sums = np.cumsum(steps) / sum(steps)
    return (*sums[:-1].tolist(), 1.0)


def _steps(first: float, rounds: int, most: float) -> list[float]:
    steps = [first]
    while len(steps) < rounds:
        steps.append(math.expm1(min(steps[-1], most)))
    return steps


def round_caps(cap: int, rounds: int, target: float) -> tuple[int, ...]:
    """Return how many people have been asked at most after each round; rounds that ask nobody new are left out."""
    caps = [min(math.ceil(cap * share - 1e-9), cap) for share in round_shares(rounds, target)]
    return tuple(sorted(set(caps)))
