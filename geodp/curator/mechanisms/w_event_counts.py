"""Counts over time with ε in any window of releases: published anew where they changed, repeated where they did not."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_DOWN, Context, Decimal
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.curator.continual_counts import ContinualCounts, CountSeries
from geodp.curator.count_noise import CountNoise
from geodp.curator.mechanisms import Snapshot
from geodp.curator.series import Pay, charge_nobody
from geodp.errors import BudgetSpent, UsageError
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.zcdp import gaussian_scale
from geodp.public.guarantee import Guarantee, Neighbours, Unit, times
from geodp.public.release import Cells

_ROUNDED_DOWN = Context(prec=12, rounding=ROUND_DOWN)
"""Parts of ε have twelve digits, which doubles hold and the ledger adds up exactly."""


class WEventCounts(CountNoise, ContinualCounts):
    """Counts over time that are published anew when they have changed enough, with ε in any window of releases.

    Guarantee
    ---------
    ε-differential privacy for all positions of one worker in any `window` consecutive releases (w-event), against
    everyone but the curator; a longer stretch of k windows costs k·ε. Half of ε pays for tests, u = ε/(2w) each: how
    far the counts are from those published last, on average over the d cells, with Lap(1/u)/d (twice that where a
    person is replaced). The other half pays for counts, Lap(1/ε₂), which are published when that distance exceeds
    1/ε₂. Decisions are public, so what is charged may follow them: u for a test, and ε₂ for counts. With `noise:
    gaussian`, all of this in ρ: that which is worth ε at delta holds in any window, tests and counts have parts of it,
    and counts are published when they are further away than new ones would err on average.

    Reference
    ---------
    Kellaris et al. 2014, Differentially private event sequences over infinite streams (recalled; agrees with a public
    re-implementation). `bd` (budget distribution): ε₂ is half of what the w - 1 releases before have left. `ba` (budget
    absorption): ε₂ is u for each release since that had a right to it and did not use it, at most w of them; a release
    that took k of them is followed by k - 1 that are repeated without a test.
    """

    kind: ClassVar[str] = "w_event_counts"

    window: int = Field(default=4, ge=1)
    """w: ε holds in any so many consecutive releases."""
    scheme: Literal["bd", "ba"] = "bd"
    """How the half of ε that is for counts is shared out: `bd` distribution, `ba` absorption."""

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Promise ε in any window."""
        return replace(self.make_promise(Unit.SNAPSHOT, neighbours, counts), window=self.window)

    @property
    def price(self) -> float:
        """What a window costs: ε, or ρ with Gaussian noise."""
        return self.epsilon if self.noise == "laplace" else self.rho

    def fewest_releases(self) -> int:
        """Return w: a series of fewer has a window of its own length."""
        return self.window

    def window_releases(self) -> int:
        """Return w."""
        return self.window

    def presence_promise(self, span: int, releases: int, *, stays: int | None = None) -> Guarantee:  # noqa: ARG002
        """Return the price per window; within one, what tests and counts cost at most."""
        price, promise = self.price, replace(self.guarantee(), window=1)
        if span >= self.window:
            cost = times(price, -(-min(span, releases) // self.window))
        else:
            counts = price / 2 * (1 - 2.0**-span) if self.scheme == "bd" else price / 2
            cost = min(span * price / (2 * self.window) + counts, price)
        return replace(promise, epsilon=cost) if promise.rho is None else self.promise_rho(cost, promise)

    @property
    def decides_together(self) -> bool:
        """Whether cells share decisions: one test decides for all."""
        return True

    def begin_series(self, releases: int | None = None) -> WEventSeries:
        """Begin a series; a window is no longer than it."""
        length = self.window if releases is None else releases
        if self.window > length:
            raise UsageError(
                f"window: {self.window} releases are longer than the run, which has {length}: use a window of at most "
                f"{length}, which has less noise and promises the same. Nothing was released or charged."
            )
        return WEventSeries(self, length)

    def release(self, snapshot: Snapshot, noise: Noise) -> Cells:
        """Publish the first release of a series."""
        return WEventSeries(self, self.window).make(snapshot, noise, number=0, pay=charge_nobody)

    def count_epsilon(self, releases: int) -> float:  # noqa: ARG002 - a window is what matters
        """Return ε₂ of counts that are published once a window, or ε of Laplace noise as wide."""
        part = 0.25 if self.scheme == "bd" else 0.5
        return part * self.epsilon if self.noise == "laplace" else self.find_equal_epsilon(part)

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return the mean noise of counts that are published once a window."""
        return self.mean_noise(self.find_paid_scale(self.price * (0.25 if self.scheme == "bd" else 0.5), neighbours))

    def find_paid_scale(self, paid: float, neighbours: Neighbours) -> float:
        """Return the scale of counts that cost so much ε, or ρ."""
        return self.find_part_scale(self.change(neighbours), neighbours, paid / self.price)

    def find_test_scale(self, paid: float, neighbours: Neighbours) -> float:
        """Return the scale of a test that costs so much: of one number, whatever changes it."""
        change = self.change(neighbours)
        return change / paid if self.noise == "laplace" else gaussian_scale(paid, change) / math.sqrt(2)

    def begin_schedule(self) -> Distribution | Absorption:
        """Return who gets which part of ε, as nothing is published yet."""
        return (Distribution if self.scheme == "bd" else Absorption)(self.price, self.window)


class Schedule:
    """How ε (or ρ) is shared out over a series: public, because it follows from public decisions.

    Parameters
    ----------
    epsilon
        ε of any window, or ρ: both add up.
    window
        Releases of a window.
    """

    def __init__(self, epsilon: float, window: int) -> None:
        self.epsilon, self.window = Decimal(repr(float(epsilon))), window
        self.test = float(_ROUNDED_DOWN.divide(self.epsilon, Decimal(2 * window)))
        """u: what a test costs."""
        self.done = 0
        """Releases that are decided."""

    def offer(self) -> float | None:
        """Return what the next release may spend on counts; None: it is repeated without a test."""
        raise NotImplementedError

    def decide(self, spent: float) -> None:
        """Note what the next release spent on counts (0: it was repeated)."""
        raise NotImplementedError


class Distribution(Schedule):
    """Half of what is left of the window.

    Examples
    --------
    >>> from geodp.curator.mechanisms.w_event_counts import Distribution
    >>> shares = Distribution(epsilon=1.0, window=4)
    >>> for _ in range(5):
    ...     offered = shares.offer()
    ...     shares.decide(offered)
    >>> offered
    0.140625
    """

    def __init__(self, epsilon: float, window: int) -> None:
        super().__init__(epsilon, window)
        self._spent: list[Decimal] = []

    def offer(self) -> float:
        """Return half of what the releases of the window have left."""
        recent = self._spent[-(self.window - 1) :] if self.window > 1 else []
        left = self.epsilon / 2 - sum(recent, start=Decimal(0))
        return float(_ROUNDED_DOWN.divide(max(left, Decimal(0)), Decimal(2)))

    def decide(self, spent: float) -> None:
        """Note what was spent."""
        self.done += 1
        self._spent.append(Decimal(repr(spent)))


class Absorption(Schedule):
    """u for every release since the last that spent something, less those that it took from."""

    def __init__(self, epsilon: float, window: int) -> None:
        super().__init__(epsilon, window)
        self._free_from = 0
        """The first release whose share is still to be had."""

    def offer(self) -> float | None:
        """Return the shares that are to be had; None while earlier counts have taken those of now."""
        shares = min(self.done + 1 - self._free_from, self.window)
        return times(self.test, shares) if shares > 0 else None

    def decide(self, spent: float) -> None:
        """Note what was spent: counts that took k shares take those of the k - 1 releases that follow."""
        self.done += 1
        if spent:
            self._free_from = self.done + round(spent / self.test) - 1


class WEventSeries(CountSeries):
    """One run: the counts published last, and the schedule."""

    mechanism: WEventCounts

    def __init__(self, mechanism: WEventCounts, length: int) -> None:
        super().__init__(mechanism, length)
        self._schedule = mechanism.begin_schedule()
        self._published: tuple[Array, float] | None = None
        """Noisy counts, and their scale."""

    def make(self, snapshot: Snapshot, noise: Noise, *, number: int, pay: Pay) -> Cells:
        """Test, and publish or repeat; both are paid for before their noise is drawn."""
        while self._schedule.done < number:  # releases that were left out
            self._schedule.decide(0.0)
        offered, spent = self._schedule.offer(), 0.0
        noise_of, neighbours = self.mechanism, snapshot.neighbours
        wide = noise_of.find_paid_scale(offered or self._schedule.test, neighbours)
        count = self.fit_grid(snapshot).count(snapshot.x_m, snapshot.y_m)
        try:
            if offered and self._has_changed(count, noise_of.mean_noise(wide), snapshot, noise, pay):
                pay(self._price(offered, snapshot))
                spent = offered
                self._published = noise_of.add_noise(count, wide, noise), wide
        except BudgetSpent:
            self._schedule.decide(0.0)
            raise
        self._schedule.decide(spent)
        # Before the first counts there are zeros: the test says that counts are below its threshold on average.
        published, scale = self._published or (np.zeros(count.size), wide)
        return self.show(snapshot, published, scale=scale, terms=noise_of.terms, measured=spent > 0)

    def _has_changed(
        self, count: npt.NDArray[np.int64], threshold: float, snapshot: Snapshot, noise: Noise, pay: Pay
    ) -> bool:
        """Tell, with noise, whether counts are further from the published ones than new ones would be by their noise.

        All is multiplied by the number of cells: then one person changes the sum by 1 at most. Only the decision
        leaves, so that the sum need not lie on the lattice of the noise: a change of 1 is a whole number of its steps.
        """
        test = self._schedule.test
        pay(self._price(test, snapshot))
        last = 0.0 if self._published is None else self._published[0]
        apart = np.array([np.abs(count - last).sum()], dtype=np.float64)
        scale = self.mechanism.find_test_scale(test, snapshot.neighbours)
        return bool(self.mechanism.add_noise(apart, scale, noise)[0] > threshold * count.size)

    def _price(self, paid: float, snapshot: Snapshot) -> Guarantee:
        promise = replace(self.mechanism.guarantee(snapshot.neighbours, snapshot.counts), window=1)
        return replace(promise, epsilon=paid) if promise.rho is None else self.mechanism.promise_rho(paid, promise)
