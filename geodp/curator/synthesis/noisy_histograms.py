"""Histograms with noise, and noisy counts made to fit together: nothing below zero, children that add up to parents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.epsilon_parts import EpsilonParts
from geodp.geometry import Array

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NoisyHistogram:
    """Public bins, each with a noisy number of trajectories."""

    edges: Array
    counts: Array
    """What the noise left, negative counts too."""
    scale: float
    """Scale of the noise on each count."""

    @property
    def total(self) -> int:
        """Noisy number of trajectories, at least 1."""
        return max(1, round(float(self.counts.sum())))

    def shares(self) -> Array:
        """Return the counts without what is likely noise alone, not negative, with the same total."""
        kept = np.where(find_standing_out(self.counts, self.scale), self.counts, -np.inf)
        return fit_total(kept, float(max(self.counts.sum(), 1.0)))

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        """Draw numbers in the proportions of the bins, evenly within a bin, in random order."""
        bins = np.repeat(np.arange(self.counts.size), draw_whole_counts(self.shares(), size, rng))
        rng.shuffle(bins)
        low, high = self.edges[bins], self.edges[bins + 1]
        return np.asarray(low + rng.random(size) * (high - low))


def count_histogram(part: str, values: Array, edges: Array, parts: EpsilonParts) -> NoisyHistogram:
    """Count each trajectory once; what lies beyond the public bins counts in the outermost ones."""
    counts = np.bincount(bin_of(values, edges), minlength=edges.size - 1).astype(np.float64)
    return NoisyHistogram(edges, parts.add_noise(part, counts), parts.scale(part))


def count_table(part: str, rows: tuple[Array, Array], columns: tuple[Array, Array], parts: EpsilonParts) -> Array:
    """Count each trajectory once by two numbers, each given with its bins: a table of noisy counts."""
    size = (rows[1].size - 1, columns[1].size - 1)
    counts = np.bincount(bin_of(*rows) * size[1] + bin_of(*columns), minlength=size[0] * size[1])
    return parts.add_noise(part, counts).reshape(size)


def bin_of(values: Array, edges: Array) -> npt.NDArray[np.int64]:
    """Return the bin of each value; what lies beyond the edges is in the outermost ones."""
    return np.asarray(np.clip(np.searchsorted(edges, values, side="right") - 1, 0, edges.size - 2))


def find_standing_out(counts: Array, scale: float, summed: int = 1) -> Mask:
    """Tell which bins are more than noise; each is a sum of so many counts with noise of this scale.

    A bin counts where it and its neighbours together stand out of the noise of three bins (two standard deviations,
    √6·b each): otherwise the noise of empty bins far out would make trips that are far too long.
    """
    around = np.convolve(np.pad(counts, 1), np.ones(3), mode="valid")
    sure = np.asarray(around > 2 * np.sqrt(6.0 * summed) * scale)
    if not sure.any():
        sure[np.argmax(around)] = True
    return sure


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
