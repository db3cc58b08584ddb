"""How likely enough workers of a region accept, cell by cell as the region grows.

Counts taken at their word: the workers of a cell all accept with the cell's probability, so their acceptors are
binomial, and those of a region are a sum of binomials (Poisson-binomial). `OneAcceptor` and `SeveralAcceptors` keep
that law exactly: the first where only "nobody" matters, the second where the chances of 0, 1, …, k - 1 acceptors do.

Counts that are only believed (`count_beliefs`): the number of acceptors is Poisson about a gamma law, whose two moments
`BelievedAcceptors` keeps up to date; each cell adds in constant time.
"""

from __future__ import annotations

from math import ceil, comb, exp, expm1, log1p
from typing import NamedTuple, Protocol

from geodp.public.messages import Rectangle
from geodp.server.count_beliefs import CountBelief

_ROUNDING = 1e-12
_SHARE_STEPS = 40  # halvings of the share of the last cell
_BELIEVED_STEPS = 12  # the same where counts are believed only
_NEARLY = 1e-3  # a part whose -ln P(nobody) exceeds the goal by less than this share is small enough


class Look(NamedTuple):
    """A cell as one task sees it. Sorted by rank, then key: cells without effective workers come last."""

    rank: int
    key: float
    cell: int
    parent: int
    """The cell of the region through which it was found (-1: it holds the task)."""
    probability: float
    """Chance that one of its workers accepts."""
    workers: float
    """Workers the server counts on in the part within the travel square."""
    share: float
    """That part's share of the cell's area."""
    rectangle: Rectangle


class Acceptors(Protocol):
    """The law of the number of acceptors in a region so far."""

    @property
    def success(self) -> float:
        """Chance that enough accept."""

    @property
    def mean(self) -> float:
        """Mean number of acceptors."""

    @property
    def variance(self) -> float:
        """Variance of the number of workers inside, as the server believes in it."""

    def take(self, look: Look) -> None:
        """Add a cell."""

    def take_part(self, look: Look, share: float, probability: float) -> None:
        """Add a share of a cell whose workers accept with this probability."""

    def with_more(self, look: Look) -> float:
        """Return the chance with one more cell."""

    def with_part(self, look: Look, share: float, probability: float) -> float:
        """Return the chance with a share of one more cell: a worker is inside it with chance s and accepts s·p."""

    def share_for(self, target: float, look: Look, probability: float) -> float:
        """Return the least share of a cell that reaches the target."""

    def workers_for(self, target: float, look: Look) -> int:
        """Return the least whole number of a cell's workers that reaches the target."""


class OneAcceptor:
    """Somebody accepts unless everybody declines: success 1 - Π (1 - p)^n."""

    __slots__ = ("mean", "nobody")
    variance = 0.0

    def __init__(self) -> None:
        self.nobody, self.mean = 1.0, 0.0

    @property
    def success(self) -> float:
        """Chance that at least one accepts."""
        return 1.0 - self.nobody

    def take(self, look: Look) -> None:
        """Add a cell's workers, fractions allowed."""
        self.take_part(look, 1.0, look.probability)

    def take_part(self, look: Look, share: float, probability: float) -> None:
        """Add a share of a cell."""
        self.nobody *= float((1.0 - share * probability) ** look.workers)
        self.mean += share * probability * look.workers

    def with_more(self, look: Look) -> float:
        """Return the chance with one more cell."""
        return 1.0 - self.nobody * float((1.0 - look.probability) ** look.workers)

    def with_part(self, look: Look, share: float, probability: float) -> float:
        """Return the chance with a share of one more cell."""
        return 1.0 - self.nobody * float((1.0 - share * probability) ** look.workers)

    def workers_for(self, target: float, look: Look) -> int:
        """Return ⌈ln(1 - u)/ln(1 - p)⌉ with u = (target - U)/(1 - U), the success still needed."""
        if look.probability >= 1.0:
            return 1
        needed = (target - self.success) / self.nobody
        return min(max(ceil(log1p(-needed) / log1p(-look.probability) - _ROUNDING), 1), int(look.workers))

    def share_for(self, target: float, look: Look, probability: float) -> float:
        """Solve nobody · (1 - s·p)^n = 1 - target for the share s."""
        return min((1.0 - float(((1.0 - target) / self.nobody) ** (1.0 / look.workers))) / probability, 1.0)


class SeveralAcceptors:
    """At least k accept: the chances of fewer, by adding one binomial law per cell. Fractions of workers are cut."""

    __slots__ = ("chances", "mean")
    variance = 0.0

    def __init__(self, needed: int) -> None:
        self.chances, self.mean = [1.0] + [0.0] * (needed - 1), 0.0

    @property
    def success(self) -> float:
        """Chance that at least k accept."""
        return 1.0 - sum(self.chances)

    def take(self, look: Look) -> None:
        """Add a cell's workers."""
        self.take_part(look, 1.0, look.probability)

    def take_part(self, look: Look, share: float, probability: float) -> None:
        """Add a share of a cell."""
        self.chances = self._add_acceptors(int(look.workers), share * probability)
        self.mean += share * probability * look.workers

    def with_more(self, look: Look) -> float:
        """Return the chance with one more cell."""
        return self.with_part(look, 1.0, look.probability)

    def with_part(self, look: Look, share: float, probability: float) -> float:
        """Return the chance with a share of one more cell."""
        return 1.0 - sum(self._add_acceptors(int(look.workers), share * probability))

    def workers_for(self, target: float, look: Look) -> int:
        """Bisect: success grows with every worker."""
        low, high = 0, int(look.workers)
        while high - low > 1:
            middle = (low + high) // 2
            enough = 1.0 - sum(self._add_acceptors(middle, look.probability)) >= target
            low, high = (low, middle) if enough else (middle, high)
        return high

    def share_for(self, target: float, look: Look, probability: float) -> float:
        """Bisect: success grows with the share."""
        return _bisect_share(self, target, look, probability, _SHARE_STEPS)

    def _add_acceptors(self, workers: int, probability: float) -> list[float]:
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


def acceptors(needed: int) -> Acceptors:
    """Return the law of a region that is still empty, where counts are taken at their word."""
    return OneAcceptor() if needed == 1 else SeveralAcceptors(needed)


class BeliefLists:
    """A belief as plain lists, for loops over single cells."""

    __slots__ = ("group", "intensity", "per_part", "shared", "split")

    def __init__(self, belief: CountBelief) -> None:
        self.group = belief.group.tolist()
        self.intensity, self.shared = belief.intensity, belief.shared
        self.split = belief.part_variance.tolist()
        # (S/M)² Q + v (Σs² - S²/M) = S² (Q/M² - v/M) + v Σs²
        square = belief.total_variance / belief.parts**2 - belief.part_variance / belief.parts
        self.per_part = square.tolist()


class GroupSums:
    """Mean and variance of a weighted number of workers, as cells are added."""

    __slots__ = ("belief", "mean", "sums", "variance", "widest")

    def __init__(self, belief: BeliefLists) -> None:
        self.belief = belief
        self.mean, self.variance, self.widest = 0.0, 0.0, 0.0
        self.sums: dict[int, float] = {}

    def change(self, cell: int, share: float) -> tuple[float, float]:
        """Return by how much a share of a cell raises the variance, and the sum of its group's shares after it."""
        belief = self.belief
        group = belief.group[cell]
        before = self.sums.get(group, 0.0)
        after = before + share
        return belief.per_part[group] * (after * after - before * before) + belief.split[group] * share * share, after

    def total(self, more: float = 0.0, wide: float = 0.0) -> float:
        """Return the variance; what errs together adds up to at most full correlation."""
        if self.belief.shared == 1.0:
            return self.variance + more
        return min(self.belief.shared * (self.variance + more), (self.widest + wide) ** 2)

    def add(self, cell: int, share: float, workers: float) -> None:
        """Add a share of a cell that holds so many workers on average."""
        more, after = self.change(cell, share)
        self.sums[self.belief.group[cell]] = after
        self.mean += workers
        self.variance += more
        self.widest += max(more, 0.0) ** 0.5


class BelievedAcceptors:
    """At least k accept, where counts are believed with a variance: acceptors are Poisson about a gamma law.

    A cell's share weighs -ln(1 - p) where the true number is what is uncertain, so that "nobody" is exact, and p where
    the belief is about an intensity. Of the n people of a cell that is cut to the share a each is inside with chance a
    and accepts with chance a·p: nobody does with (1 - a·p)^n, and how many are inside varies by n·a·(1 - a) besides.
    """

    __slots__ = ("inside", "mean", "needed", "scattered", "weighted")

    def __init__(self, belief: BeliefLists, needed: int = 1) -> None:
        self.weighted, self.inside, self.needed, self.mean = GroupSums(belief), GroupSums(belief), needed, 0.0
        self.scattered = 0.0

    @property
    def success(self) -> float:
        """Chance that enough accept."""
        return chance_of_enough(self.weighted.mean, self.weighted.total(), self.needed)

    @property
    def variance(self) -> float:
        """Variance of the number of workers inside."""
        return self.inside.total() + (self.inside.mean if self.inside.belief.intensity else self.scattered)

    def _weight(self, probability: float, area: float) -> float:
        if self.weighted.belief.intensity or area <= 0:
            return probability
        return -log1p(-min(area * probability, 1 - _ROUNDING)) / area

    def take(self, look: Look) -> None:
        """Add a cell."""
        self.take_part(look, 1.0, look.probability)

    def take_part(self, look: Look, share: float, probability: float) -> None:
        """Add a share of a cell."""
        area = share * look.share
        weight = self._weight(probability, area)
        self.weighted.add(look.cell, area * weight, share * look.workers * weight)
        self.inside.add(look.cell, area, share * look.workers)
        self.scattered += share * look.workers * (1 - area)
        self.mean += share * look.workers * probability

    def with_more(self, look: Look) -> float:
        """Return the chance with one more cell."""
        return self.with_part(look, 1.0, look.probability)

    def with_part(self, look: Look, share: float, probability: float) -> float:
        """Return the chance with a share of one more cell."""
        area, sums = share * look.share, self.weighted
        weight = self._weight(probability, area)
        more, _ = sums.change(look.cell, area * weight)
        variance = sums.total(more, max(more, 0.0) ** 0.5)
        return chance_of_enough(sums.mean + share * look.workers * weight, variance, self.needed)

    def share_for(self, target: float, look: Look, probability: float) -> float:
        """Solve by regula falsi: -ln P(nobody) is nearly a straight line of the share."""
        if self.needed > 1:
            return _bisect_share(self, target, look, probability, _BELIEVED_STEPS)
        goal = -log1p(-target)
        low, below = 0.0, -log1p(-min(self.success, 1 - _ROUNDING)) - goal
        high, above = 1.0, -log1p(-min(self.with_part(look, 1.0, probability), 1 - _ROUNDING)) - goal
        if above <= 0:
            return 1.0
        for _ in range(_BELIEVED_STEPS):
            share = low + (high - low) * min(max(-below / (above - below), 0.05), 0.95)
            off = -log1p(-min(self.with_part(look, share, probability), 1 - _ROUNDING)) - goal
            if 0 <= off <= _NEARLY * goal:
                return share
            if off > 0:
                high, above, below = share, off, below / 2  # Illinois: an end that stays counts half
            else:
                low, below, above = share, off, above / 2
        return high

    def workers_for(self, target: float, look: Look) -> int:
        """Return the workers of the least share, rounded up."""
        return ceil(self.share_for(target, look, look.probability) * look.workers)


def chance_of_enough(mean: float, variance: float, needed: int = 1) -> float:
    """Return the chance of at least so many acceptors, Poisson about a gamma law with these moments.

    For one it is 1 - (1 + V/μ)^(-μ²/V), the gamma law's Laplace transform at 1; others follow by the recurrence of
    the negative binomial law, P(j+1) = P(j)·(shape + j)/(j + 1)·q with q = V/(μ + V).
    """
    if mean <= 0:
        return 0.0
    ratio = variance / mean
    log_none = -mean if ratio < 1e-9 else -mean / ratio * log1p(ratio)
    if needed == 1:
        return -expm1(log_none)
    if log_none < -700:
        return 1.0
    chance = total = exp(log_none)
    for j in range(needed - 1):
        # (shape + j)·q/(j + 1), with shape·q = μ/(1 + ratio)
        chance *= (mean / (1 + ratio) + j * ratio / (1 + ratio)) / (j + 1)
        total += chance
    return max(1.0 - total, 0.0)


def _bisect_share(law: Acceptors, target: float, look: Look, probability: float, steps: int) -> float:
    low, high = 0.0, 1.0
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if law.with_part(look, middle, probability) >= target else (middle, high)
    return high
