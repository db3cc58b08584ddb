"""Histograms with noise, and noisy counts made to fit together: nothing below zero, children that add up to parents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.epsilon_parts import EpsilonParts, round_down
from geodp.geometry import Array

Mask = npt.NDArray[np.bool_]
_LEAST_BINS = 5
_FINER = 6


Shape = Literal["positive", "share", "circular"]
"""What a histogram is drawn towards where the noise says nothing: a law of numbers or of shares, or even hours."""


@dataclass(frozen=True, eq=False)
class NoisyHistogram:
    """Public bins, each with a noisy number of trajectories."""

    edges: Array
    counts: Array
    """What the noise left, negative counts too."""
    scale: float
    """Scale of the noise on each count."""
    shape: Shape = "positive"

    @property
    def total(self) -> int:
        """Noisy number of trajectories, at least 1."""
        return max(1, round(float(self.counts.sum())))

    def shares(self) -> Array:
        """Return the counts drawn towards the law of their shape, not negative, with the same total."""
        from geodp.curator.synthesis.shrinkage import shrink_circular, shrink_to_law

        total = float(max(self.counts.sum(), 1.0))
        if self.shape == "circular":
            return shrink_circular(self.counts, self.scale, total)
        return shrink_to_law(self.counts, self.edges, self.shape, self.scale, total)

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        """Draw numbers in the proportions of the bins, evenly within a bin, in random order.

        On a circle the waves go on within the bins, too: hours do not change at once.
        """
        edges, shares = self.edges, self.shares()
        if self.shape == "circular":
            from geodp.curator.synthesis.shrinkage import refine_circular

            shares = refine_circular(shares, _FINER)
            edges = np.linspace(edges[0], edges[-1], shares.size + 1)
        bins = np.repeat(np.arange(shares.size), draw_whole_counts(shares, size, rng))
        rng.shuffle(bins)
        low, high = edges[bins], edges[bins + 1]
        return np.asarray(low + rng.random(size) * (high - low))


def count_histogram(
    part: str,
    values: Array,
    edges: Array,
    parts: EpsilonParts,
    *,
    weights: Array | None = None,
    shape: Shape = "positive",
    total: float | None = None,
) -> NoisyHistogram:
    """Count each trajectory once, or by its weight; what lies beyond the public bins counts in the outermost ones.

    With a noisy number of trips, neighbouring bins are joined until a mean one holds twice the scale of its noise.
    """
    if total is not None:
        edges = thin_edges(edges, int(np.clip(total / (2 * parts.scale(part)), _LEAST_BINS, edges.size - 1)))
    counts = _count_bins(part, bin_of(values, edges), edges.size - 1, parts, weights)
    return NoisyHistogram(edges, parts.add_noise(part, counts), parts.scale(part), shape)


def count_table(
    part: str,
    rows: tuple[Array, Array],
    columns: tuple[Array, Array],
    parts: EpsilonParts,
    weights: Array | None = None,
) -> Array:
    """Count each trajectory once (or by its weight) by two numbers, each with its bins: a table of noisy counts."""
    size = (rows[1].size - 1, columns[1].size - 1)
    counts = _count_bins(part, bin_of(*rows) * size[1] + bin_of(*columns), size[0] * size[1], parts, weights)
    return parts.add_noise(part, counts).reshape(size)


def _count_bins(
    part: str, bins: npt.NDArray[np.int64], size: int, parts: EpsilonParts, weights: Array | None
) -> npt.NDArray[np.float64]:
    worth = None if weights is None else round_down(weights, parts.scale(part))
    return np.bincount(bins, worth, size).astype(np.float64)


def thin_edges(edges: Array, most: int) -> Array:
    """Return some of the edges, the outermost included, so that there are at most so many bins."""
    bins = edges.size - 1
    if bins <= most:
        return edges
    return edges[np.unique(np.rint(np.linspace(0, bins, most + 1)).astype(np.int64))]


def bin_of(values: Array, edges: Array) -> npt.NDArray[np.int64]:
    """Return the bin of each value; what lies beyond the edges is in the outermost ones."""
    return np.asarray(np.clip(np.searchsorted(edges, values, side="right") - 1, 0, edges.size - 2))


def grow_edges(first: float, last: float, factor: float) -> Array:
    """Return 0 and edges that grow by a factor from `first` to `last`: relative precision with few bins."""
    steps = int(np.ceil(np.log(last / first) / np.log(factor)))
    return np.append(0.0, np.geomspace(first, last, steps + 1))


def whole_edges(last: int, factor: float) -> Array:
    """Return edges between whole numbers from 1 to `last`: single numbers first, then bins that grow by a factor."""
    edges = [1]
    while edges[-1] <= last:
        edges.append(max(edges[-1] + 1, int(edges[-1] * factor)))
    edges[-1] = last + 1
    return np.array(edges, dtype=np.float64)


def fit_children(children: Array, parent: Array, possible: Mask) -> Array:
    """Return rows of children that are not negative and add up to their parents.

    What is missing is spread evenly first (the least-squares fit), then what is negative is set to 0 and the row is
    scaled. A row without any mass is spread evenly over what is possible.
    """
    room = np.maximum(possible.sum(axis=1), 1)
    short = (parent - np.where(possible, children, 0.0).sum(axis=1)) / room
    raised = np.where(possible, np.maximum(children + short[:, None], 0.0), 0.0)
    total = raised.sum(axis=1)
    even = possible / room[:, None]
    share = np.where(total[:, None] > 0, raised / np.where(total > 0, total, 1.0)[:, None], even)
    return np.asarray(share * np.maximum(parent, 0.0)[:, None])


def fit_total(counts: Array, total: float) -> Array:
    """Return the counts nearest to noisy ones that are not negative and add up to `total` (a projection).

    Subtracting one constant and cutting at 0 is the least-squares answer; unlike cutting alone it does not turn the
    noise of many empty cells into mass.
    """
    if total <= 0 or not counts.size:
        return np.zeros_like(counts)
    falling = np.sort(counts[np.isfinite(counts)])[::-1]  # what is ruled out is -inf
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    last = int(np.flatnonzero(falling > excess)[-1]) if (falling > excess).any() else 0
    return np.asarray(np.maximum(counts - excess[last], 0.0))


def draw_whole_counts(expected: Array, total: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return whole numbers near the expected ones that add up to `total`: one uniform start, then equal steps.

    Systematic sampling: every number is one of the two whole numbers around its expectation.
    """
    mass = float(expected.sum())
    if total <= 0 or mass <= 0:
        return np.zeros(expected.size, dtype=np.int64)
    reached = np.floor(np.append(0.0, np.cumsum(expected)) * (total / mass) + rng.random()).astype(np.int64)
    reached[-1] = total + reached[0]
    return np.diff(reached)


def fit_rows(rows: Array, totals: Array) -> Array:
    """Return, for every row, the counts nearest to it that are not negative and add up to its total."""
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - totals[:, None]) / np.arange(1, rows.shape[1] + 1)
    last = np.maximum((falling > excess).sum(axis=1) - 1, 0)
    fitted = np.maximum(rows - excess[np.arange(len(rows)), last][:, None], 0.0)
    return np.asarray(np.where(totals[:, None] > 0, fitted, 0.0))
