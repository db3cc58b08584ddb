"""How likely it is that enough workers accept, as a region takes in one cell after the other.

The workers of a cell all accept with the cell's probability, so their acceptors are binomial, and those of a region are
a sum of binomials (Poisson-binomial). Both classes below keep that law exactly: the first for one acceptor, where only
"nobody" matters, the second for several, where the chances of 0, 1, …, k - 1 acceptors do.
"""

from __future__ import annotations

from math import ceil, comb, log1p
from typing import Protocol

SHARE_STEPS = 40
_ROUNDING = 1e-12


class Acceptors(Protocol):
    """The law of the number of acceptors in a region so far."""

    @property
    def success(self) -> float:
        """Chance that enough workers accept."""

    def take(self, workers: float, probability: float) -> None:
        """Add workers who each accept with this probability."""

    def with_more(self, workers: float, probability: float) -> float:
        """Return the chance of success with more workers, without taking them."""

    def workers_for(self, target: float, probability: float, most: int) -> int:
        """Return the fewest further workers, at most `most`, with whom success reaches the target."""

    def share_for(self, target: float, workers: float, probability: float) -> float:
        """Return the least share of an area with so many workers, each inside by chance, that reaches the target."""


class OneAcceptor:
    """Somebody accepts unless everybody declines: success 1 - Π (1 - p)^n."""

    __slots__ = ("nobody",)

    def __init__(self) -> None:
        self.nobody = 1.0

    @property
    def success(self) -> float:
        """Chance that at least one accepts."""
        return 1.0 - self.nobody

    def take(self, workers: float, probability: float) -> None:
        """Add workers, fractions allowed."""
        self.nobody *= float((1.0 - probability) ** workers)

    def with_more(self, workers: float, probability: float) -> float:
        """Return the chance with more workers."""
        return 1.0 - self.nobody * float((1.0 - probability) ** workers)

    def workers_for(self, target: float, probability: float, most: int) -> int:
        """Return ⌈ln(1 - u)/ln(1 - p)⌉ with u = (target - U)/(1 - U), the success still needed."""
        if probability >= 1.0:
            return 1
        needed = (target - self.success) / self.nobody
        return min(max(ceil(log1p(-needed) / log1p(-probability) - _ROUNDING), 1), most)

    def share_for(self, target: float, workers: float, probability: float) -> float:
        """Solve nobody · (1 - s·p)^n = 1 - target for the share s."""
        return min((1.0 - float(((1.0 - target) / self.nobody) ** (1.0 / workers))) / probability, 1.0)


class SeveralAcceptors:
    """At least k accept: the chances of fewer, by adding one binomial law per cell. Fractions of workers are cut."""

    __slots__ = ("chances",)

    def __init__(self, needed: int) -> None:
        self.chances = [1.0] + [0.0] * (needed - 1)

    @property
    def success(self) -> float:
        """Chance that at least k accept."""
        return 1.0 - sum(self.chances)

    def take(self, workers: float, probability: float) -> None:
        """Add a cell's workers."""
        self.chances = self._added(int(workers), probability)

    def with_more(self, workers: float, probability: float) -> float:
        """Return the chance with more workers."""
        return 1.0 - sum(self._added(int(workers), probability))

    def workers_for(self, target: float, probability: float, most: int) -> int:
        """Bisect: success grows with every worker."""
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.with_more(middle, probability) >= target else (middle, high)
        return high

    def share_for(self, target: float, workers: float, probability: float) -> float:
        """Bisect: a worker is inside a share s of the area with chance s, and accepts there with chance s·p."""
        low, high = 0.0, 1.0
        for _ in range(SHARE_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.with_more(workers, middle * probability) >= target else (middle, high)
        return high

    def _added(self, workers: int, probability: float) -> list[float]:
        """Return the chances of 0 … k - 1 acceptors after a binomial number more."""
        fewer = len(self.chances)
        more = binomial_chances(workers, probability, fewer)
        return [sum(self.chances[i] * more[j - i] for i in range(j + 1)) for j in range(fewer)]


def binomial_chances(trials: int, probability: float, first: int) -> list[float]:
    """Return the chances of 0, 1, …, first - 1 successes."""
    if probability >= 1.0:
        return [1.0 if hits == trials else 0.0 for hits in range(first)]
    chances = [0.0] * first
    log_none = trials * log1p(-probability) if trials else 0.0
    if log_none < -700:  # (1 - p)^n underflows, and with it every chance of few successes that could matter
        return chances
    decline = 1.0 - probability
    for hits in range(min(first, trials + 1)):
        chances[hits] = comb(trials, hits) * probability**hits * decline ** (trials - hits)
    return chances


def acceptors(needed: int) -> OneAcceptor | SeveralAcceptors:
    """Return the law of a region that is still empty."""
    return OneAcceptor() if needed == 1 else SeveralAcceptors(needed)
