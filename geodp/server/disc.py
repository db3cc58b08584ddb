"""How many workers a disc around a task holds, and how many of them would accept: believed counts, summed over rings.

G(r) = ∫ density·θ over the disc of radius r, inside the region only: beyond its edge nobody is. The disc is 48 rings;
each ring's weight ∫ θ 2πs ds is taken by Gauss's rule, and the density at 16 points of the ring, turned from ring to
ring so that points of neighbouring rings do not line up. Cells of the points are found by arithmetic, so the cost of a
task depends neither on the number of workers nor on that of cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.acceptance import Acceptance
from geodp.public.release import Cells
from geodp.server.cell_groups import add_up
from geodp.server.count_beliefs import CountBelief

RINGS, ANGLES = 48, 16
_FIRST_EDGE_M = 15.0
_TURN = 0.618  # of a step, per ring: the golden ratio keeps points of neighbouring rings apart
_GAUSS_POINTS = 4
_TASKS_AT_ONCE = 256  # their arrays stay in the processor's cache
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Discs:
    """The discs that were asked for, one per task."""

    radius_m: Array
    success: Array
    """Chance that somebody inside accepts."""
    mean: Array
    """Workers believed to be inside."""
    variance: Array
    """Variance of that number."""
    acceptors: Array
    """How many of them would accept, on average."""
    density_per_m2: Array
    """Density that is believed at the task."""
    needed_m: Array
    """Radius that the target would need, at the density of the whole disc, if willingness knew no maximum distance."""


def ring_edges(max_travel_m: float) -> Array:
    """Return 49 edges: 0, and geometric from 15 m (or a thousandth of the reach) to the maximum travel distance."""
    first = min(_FIRST_EDGE_M, max_travel_m / 1000)
    return np.concatenate([[0.0], np.geomspace(first, max_travel_m, RINGS)])


def find_discs(
    release: Cells,
    belief: CountBelief,
    acceptance: Acceptance,
    x_m: Array,
    y_m: Array,
    reward: Array,
    target: float,
    aim: float,
) -> Discs:
    """Return the least disc of each task in which somebody accepts with the target probability.

    Where even the maximum travel distance falls short, the disc has that radius and plans less.

    Parameters
    ----------
    release
        Cells that can say which of them a point lies in.
    belief
        What is believed about their counts.
    acceptance
        Willingness that is assumed.
    x_m, y_m
        Places of the tasks, metres.
    reward
        What each pays a worker.
    target
        Success that discs are grown to, between 0 and 1.
    aim
        Success that is wanted in the end, at most the target; `needed_m` speaks of it.
    """
    parts = [
        _some_discs(
            release=release,
            belief=belief,
            acceptance=acceptance,
            x_m=x_m[part],
            y_m=y_m[part],
            reward=reward[part],
            target=target,
            aim=aim,
        )
        for part in (slice(start, start + _TASKS_AT_ONCE) for start in range(0, x_m.size, _TASKS_AT_ONCE))
    ]
    return Discs(*(np.concatenate([getattr(each, name) for each in parts]) for name in Discs.__dataclass_fields__))


def _some_discs(
    release: Cells,
    belief: CountBelief,
    acceptance: Acceptance,
    x_m: Array,
    y_m: Array,
    reward: Array,
    target: float,
    aim: float,
) -> Discs:
    edges = ring_edges(acceptance.max_travel_m)
    rings = _Rings(
        release=release, belief=belief, edges=edges, weights=_ring_weights(acceptance, reward, edges), x_m=x_m, y_m=y_m
    )
    goal = -np.log1p(-target)
    # Bisect on the outermost ring that is needed; -ln P(nobody) grows with every ring.
    low, high = np.zeros(x_m.size, dtype=np.int64), np.full(x_m.size, RINGS)
    exponent_low, exponent_high = np.zeros(x_m.size), rings.exponent(high)
    short = exponent_high < goal * (1 - 1e-12)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        exponent = rings.exponent(middle)
        up = (exponent >= goal) & ~short
        high, exponent_high = np.where(up, middle, high), np.where(up, exponent, exponent_high)
        low, exponent_low = np.where(up, low, middle), np.where(up, exponent_low, exponent)
    share = np.clip((goal - exponent_low) / np.maximum(exponent_high - exponent_low, 1e-300), 0.0, 1.0)
    share = np.where(short, 1.0, share)
    # Between two edges the area grows by squares.
    radius = np.sqrt(edges[low] ** 2 + share * (edges[high] ** 2 - edges[low] ** 2))
    radius = np.where(short, edges[-1], radius)
    success = -np.expm1(-np.where(short, exponent_high, exponent_low + share * (exponent_high - exponent_low)))
    inner, outer = np.where(short, RINGS, low), np.where(short, RINGS, high)
    mean, variance, acceptors = rings.inside(inner, outer, share)
    density = belief.mean[rings.centre] / np.maximum(release.area_m2[rings.centre], 1e-300)
    density = np.where(rings.centre >= 0, density, 0.0)
    around = acceptors / np.maximum(acceptance.reach_m2(reward, radius), 1e-300)
    with np.errstate(divide="ignore", over="ignore"):
        wanted = acceptance.radius_for(
            reward, np.where(around > 0, -np.log1p(-aim) / np.maximum(around, 1e-300), np.inf)
        )
    needed = np.where(success < aim * (1 - 1e-9), np.maximum(wanted, radius), radius)
    return Discs(
        radius_m=radius,
        success=success,
        mean=mean,
        variance=variance,
        acceptors=acceptors,
        density_per_m2=density,
        needed_m=needed,
    )


def _ring_weights(acceptance: Acceptance, reward: Array, edges: Array) -> Array:
    """Return ∫ θ 2πs ds over each ring, one row per task: Gauss's rule in s², over which the measure is even."""
    node, weight = np.polynomial.legendre.leggauss(_GAUSS_POINTS)
    square = edges**2
    middle, half = (square[1:] + square[:-1]) / 2, (square[1:] - square[:-1]) / 2
    at_m = np.sqrt(middle[:, None] + half[:, None] * node)
    rewards, place = np.unique(reward, return_inverse=True)
    theta = acceptance.probability(rewards[:, None, None], at_m[None])
    return np.asarray((np.pi * half * (theta @ weight))[place])


class _Rings:
    """The points of all rings of some tasks, sorted by cell, so that sums over cells and groups are runs."""

    def __init__(
        self, release: Cells, belief: CountBelief, edges: Array, weights: Array, x_m: Array, y_m: Array
    ) -> None:
        self.belief, tasks = belief, x_m.size
        radius = np.sqrt((edges[1:] ** 2 + edges[:-1] ** 2) / 2)  # root mean square: half of the ring's area is inside
        step = 2 * np.pi / ANGLES
        angle = step * (np.arange(ANGLES) + _TURN * np.arange(RINGS)[:, None])
        across, along = radius[:, None] * np.cos(angle), radius[:, None] * np.sin(angle)
        cell = release.locate((x_m[:, None, None] + across).ravel(), (y_m[:, None, None] + along).ravel())
        self.centre = release.locate(x_m, y_m)
        cell = cell.reshape(tasks, -1)
        # Outside the region there are no cells and nobody: such points are dropped.
        task, point = np.nonzero(cell >= 0)
        found = cell[task, point]
        order = np.lexsort((found, task))  # cells of a group follow one another where groups are runs of cells
        if not np.all(np.diff(belief.group) >= 0):
            order = np.lexsort((found, belief.group[found], task))
        self.task, found = task[order], found[order]
        self.ring = point[order] // ANGLES
        area = np.pi * (edges[1:] ** 2 - edges[:-1] ** 2)
        per_m2 = 1 / release.area_m2[found]
        self.area_share = area[self.ring] / ANGLES * per_m2
        self.weighted_share = weights[self.task, self.ring] / ANGLES * per_m2
        self.tasks = tasks
        group = belief.group[found]
        new_cell = np.ones(found.size, dtype=np.bool_)
        new_cell[1:] = (np.diff(found) != 0) | (np.diff(self.task) != 0)
        self.cell_start = np.flatnonzero(new_cell)
        self.cell, self.cell_task = found[self.cell_start], self.task[self.cell_start]
        cell_group = group[self.cell_start]
        new_group = np.ones(self.cell.size, dtype=np.bool_)
        new_group[1:] = (np.diff(cell_group) != 0) | (np.diff(self.cell_task) != 0)
        self.group_start = np.flatnonzero(new_group)
        self.group, self.group_task = cell_group[self.group_start], self.cell_task[self.group_start]

    def exponent(self, rings: Ids) -> Array:
        """Return -ln P(nobody accepts) within so many rings: (1/ρ)·ln(1 + ρG), ρ = V/G²."""
        mean, variance = self._moments(np.where(self.ring < rings[self.task], self.weighted_share, 0.0))
        return exponent_of(mean, variance)

    def inside(self, inner: Ids, outer: Ids, share: Array) -> tuple[Array, Array, Array]:
        """Return mean and variance of the workers inside, and the mean of acceptors, with a share of the last ring."""
        part = np.where(
            self.ring < inner[self.task], 1.0, np.where(self.ring < outer[self.task], share[self.task], 0.0)
        )
        mean, variance = self._moments(part * self.area_share)
        variance = variance + self._scatter(part * self.area_share, mean)
        acceptors, _ = self._moments(part * self.weighted_share)
        return mean, variance, acceptors

    def _scatter(self, weight: Array, mean: Array) -> Array:
        """Return by how much the people inside vary besides: Poisson about an intensity, or in and out of cut cells."""
        if self.belief.intensity or weight.size == 0:
            return mean
        share = np.minimum(np.add.reduceat(weight, self.cell_start), 1.0)
        return add_up(self.cell_task, share * (1 - share) * self.belief.mean[self.cell], self.tasks)

    def _moments(self, weight: Array) -> tuple[Array, Array]:
        """Return mean and variance of Σ s_c N_c for s_c = the sum of weights over the points of cell c."""
        belief, tasks = self.belief, self.tasks
        if weight.size == 0:
            return np.zeros(tasks), np.zeros(tasks)
        share = np.add.reduceat(weight, self.cell_start)
        mean = add_up(self.cell_task, share * belief.mean[self.cell], tasks)
        total = np.add.reduceat(share, self.group_start)
        square = np.add.reduceat(share**2, self.group_start)
        parts, split = belief.parts[self.group], belief.part_variance[self.group]
        each = (total / parts) ** 2 * belief.total_variance[self.group] + split * (square - total**2 / parts)
        each = np.maximum(each, 0.0)
        variance = add_up(self.group_task, each, tasks)
        if belief.shared > 1:  # what errs together adds up to at most full correlation
            widest = add_up(self.group_task, np.sqrt(each), tasks) ** 2
            variance = np.minimum(belief.shared * variance, widest)
        return mean, variance


def exponent_of(mean: Array, variance: Array) -> Array:
    """Return -ln E[e^-X] for X of a gamma law with these moments."""
    ratio = variance / np.maximum(mean, 1e-300)
    small = ratio < 1e-9
    return np.asarray(np.where(small, mean, mean / np.where(small, 1.0, ratio) * np.log1p(ratio)))
