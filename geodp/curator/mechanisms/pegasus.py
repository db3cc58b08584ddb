"""Counts over time, each with noise of its own, smoothed over groups of releases in which little changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.curator.continual_counts import ContinualCounts, CountSeries
from geodp.curator.mechanisms import Snapshot
from geodp.curator.series import Pay, charge_nobody
from geodp.geometry import Array
from geodp.privacy.hidden_thresholds import HiddenThresholds
from geodp.privacy.noise import Noise, ThresholdLaw
from geodp.privacy.primitives import with_laplace
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.public.release import Cells

_NODES, _LEGENDRE = np.polynomial.legendre.leggauss(80)
_STEP = (_NODES + 1) / 2
_UNIFORM = _STEP**4 * (35 - 84 * _STEP + 70 * _STEP**2 - 20 * _STEP**3)
_WEIGHTS = _LEGENDRE / 2 * 140 * (_STEP * (1 - _STEP)) ** 3
"""Uniforms that lie densely near 0 and 1, where quantiles go to infinity."""
_LONGEST_EVEN = 60
"""Of more counts, the median of an even number has the law of that of the next odd one, to 2 %."""


class Pegasus(ContinualCounts):
    """Noisy counts over time, each replaced by the median of its group: the releases since then that are much alike.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator; n
    releases cost n·ε. Each cell by itself: a count gets Lap(1/ε_p). Whether it joins the open group is decided with the
    rest, ε_g = ε - ε_p, by how far the counts of the group would lie from their mean, Σ|c - mean|, which one person
    changes by less than 2: against a hidden threshold with Lap(4/ε_g), each test with Lap(8/ε_g), renewed for every
    group. A count that does not join is a group by itself, closed at once: otherwise it would be tested twice, and cost
    2·ε_g. (Everything twice as wide where a person is replaced.) Distances are worked out in doubles, which is a slack
    of 1e-12 of a person. There is no `noise: gaussian`: n positions of one person may all lie in one group, whose
    threshold they meet n times; that costs n·ε_g, which is n² times as much ρ, so a ρ of single releases would not add
    up over a series.

    Reference
    ---------
    Chen et al. 2017, PeGaSus: data-adaptive differentially private stream processing (recalled): perturber, deviation
    grouper, median smoother. `noise_scale` is that of the median of as many Laplace variables as the group has counts;
    that they are not all alike is no noise.
    """

    kind: ClassVar[str] = "pegasus"
    absent: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("noise", "delta"),
        "pegasus has Laplace noise. Hidden thresholds outlive a release, so the rho of n releases would grow with n² "
        "instead of adding up",
    )

    counts_share: float = Field(default=0.8, gt=0, lt=1)
    """Part of ε that is for counts, ε_p/ε; the rest is for grouping."""
    threshold: float = Field(default=5.0, ge=0)
    """θ in units of 1/ε_g: counts of a group lie apart by about that, workers."""

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Promise ε for one release."""
        return Guarantee(self.epsilon, Unit.SNAPSHOT, neighbours, Trust.CENTRAL, counts=counts, people=self.household)

    def begin_series(self, releases: int | None = None) -> PegasusSeries:
        """Begin a series of any length."""
        return PegasusSeries(self, releases)

    def release(self, snapshot: Snapshot, noise: Noise) -> Cells:
        """Publish the first release of a series: noisy counts, and no test."""
        return PegasusSeries(self, None).make(snapshot, noise, number=0, pay=charge_nobody)

    def count_epsilon(self, releases: int = 1) -> float:  # noqa: ARG002 - the same in every series
        """Return ε_p."""
        return self.counts_share * self.epsilon

    def threshold_law(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> ThresholdLaw:
        """Return the law of the tests whether a count joins its group."""
        unit = self.change(neighbours) / ((1 - self.counts_share) * self.epsilon)
        return ThresholdLaw(self.threshold * unit, 4 * unit, 8 * unit)

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return the scale of a count by itself; groups lower it."""
        return self.change(neighbours) / self.count_epsilon()


def find_deviations(counts: npt.NDArray[np.int64]) -> Array:
    """Return Σ|c - mean| of every column."""
    return np.asarray(np.abs(counts - counts.mean(axis=0)).sum(axis=0))


@cache
def median_law(size: int) -> tuple[float, float]:
    """Return variance/2 and the effective number of terms of the median of so many Laplace variables of scale 1.

    The middle one of 2k + 1 uniforms is Beta(k + 1, k + 1). Of 2k, the lower middle one is Beta(k, k + 1), and the
    upper leaves the share r^(1/k) of what is above it, r uniform. Moments are means over the unit square, by
    Gauss-Legendre.
    """
    from scipy.special import betaincinv

    if size <= 2:  # the median is the mean
        return 1 / size, float(size)
    if size > _LONGEST_EVEN and size % 2 == 0:
        return median_law(size + 1)
    half = size // 2
    if size % 2:
        middle = _find_quantile(betaincinv(half + 1, half + 1, _UNIFORM))
        weight = _WEIGHTS
    else:
        low = betaincinv(half, half + 1, _UNIFORM)[:, None]
        high = 1 - (1 - low) * _UNIFORM ** (1 / half)
        middle = (_find_quantile(low) + _find_quantile(high)) / 2
        weight = np.outer(_WEIGHTS, _WEIGHTS)
    second, fourth = (float((weight * middle**power).sum()) for power in (2, 4))
    return second / 2, 3 / (fourth / second**2 - 3)


def _find_quantile(share: Array) -> Array:
    """Invert the distribution function of the Laplace law of scale 1."""
    away = np.minimum(np.abs(share - 0.5), 0.5 - 1e-16)
    return np.asarray(-np.sign(share - 0.5) * np.log1p(-2 * away))


class PegasusSeries(CountSeries):
    """One run: true counts of open groups (private), noisy ones, and where groups begin."""

    mechanism: Pegasus

    def __init__(self, mechanism: Pegasus, length: int | None) -> None:
        super().__init__(mechanism, length)
        self._true: list[npt.NDArray[np.int64]] = []
        self._noisy: list[Array] = []
        self._begin: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        """The first count of each cell's group."""
        self._open: npt.NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
        self._hidden: HiddenThresholds | None = None

    def make(self, snapshot: Snapshot, noise: Noise, *, number: int, pay: Pay) -> Cells:  # noqa: ARG002
        """Pay, count, let counts join their groups, and publish the medians."""
        mechanism, grid = self.mechanism, self.fit_grid(snapshot)
        pay(mechanism.guarantee(snapshot.neighbours, snapshot.counts))
        scale = mechanism.expected_noise(snapshot.neighbours)
        self._true.append(grid.count(snapshot.x_m, snapshot.y_m))
        self._noisy.append(with_laplace(self._true[-1], scale, noise))
        if self._hidden is None:
            self._hidden = HiddenThresholds(grid.size, mechanism.threshold_law(snapshot.neighbours))
            self._begin, self._open = np.zeros(grid.size, dtype=np.int64), np.zeros(grid.size, dtype=np.bool_)
        self._group(self._hidden, noise)
        count, second, terms = self._find_medians()
        return self.show(snapshot, count, scale=scale * np.sqrt(second), terms=terms)

    def _group(self, hidden: HiddenThresholds, noise: Noise) -> None:
        now = len(self._true) - 1
        tested = np.flatnonzero(self._open)
        fresh = np.flatnonzero(~self._open)
        stay = hidden.are_below(tested, self._find_apart(tested), noise) if tested.size else np.empty(0, dtype=np.bool_)
        left = tested[~stay]
        self._begin[left] = now  # a group by itself, closed at once
        self._open[left] = False
        self._begin[fresh] = now
        self._open[fresh] = True
        hidden.renew(fresh, noise)

    def _find_apart(self, cells: npt.NDArray[np.intp]) -> Array:
        """Return how far the counts of each cell's group would lie from their mean if the newest joined."""
        apart = np.empty(cells.size)
        for begin in np.unique(self._begin[cells]).tolist():
            at = self._begin[cells] == begin
            apart[at] = find_deviations(np.stack([count[cells[at]] for count in self._true[begin:]]))
        return apart

    def _find_medians(self) -> tuple[Array, Array, Array]:
        """Return the median of every cell's group, with its law in units of one count's."""
        found, second, terms = (np.empty(self._begin.size) for _ in range(3))
        for begin in np.unique(self._begin).tolist():
            at = np.flatnonzero(self._begin == begin)
            group = [noisy[at] for noisy in self._noisy[begin:]]
            found[at] = np.median(group, axis=0)
            second[at], terms[at] = median_law(len(group))
        return found, second, terms
