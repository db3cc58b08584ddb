"""Histograms of one number per trajectory, with noise: lengths, departures, paces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.consistency import fitted_total, whole_counts
from geodp.curator.synthesis.epsilon_parts import Purse
from geodp.geometry import Array

DAY_S = 86_400.0


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
        """Return the counts without what is likely noise alone, not negative, with the same total.

        A bin counts where it and its neighbours together stand out of the noise of three bins (two standard deviations,
        √6·b each): otherwise the noise of empty bins far out would make trips that are far too long.
        """
        around = sums_of_three(self.counts)
        sure = around > 2 * np.sqrt(6.0) * self.scale
        if not sure.any():
            sure[np.argmax(around)] = True
        return fitted_total(np.where(sure, self.counts, -np.inf), float(max(self.counts.sum(), 1.0)))

    def drawn(self, size: int, rng: np.random.Generator) -> Array:
        """Draw numbers in the proportions of the bins, evenly within a bin, in random order."""
        bins = np.repeat(np.arange(self.counts.size), whole_counts(self.shares(), size, rng))
        rng.shuffle(bins)
        low, high = self.edges[bins], self.edges[bins + 1]
        return np.asarray(low + rng.random(size) * (high - low))


def noisy_histogram(part: str, values: Array, edges: Array, purse: Purse) -> NoisyHistogram:
    """Count each trajectory once; what lies beyond the public bins counts in the outermost ones."""
    within = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, edges.size - 2)
    counts = np.bincount(within, minlength=edges.size - 1).astype(np.float64)
    return NoisyHistogram(edges, purse.counts(part, counts), purse.scale(part))


def sums_of_three(counts: Array) -> Array:
    """Return each bin together with its neighbours, of which the outermost have one."""
    return np.convolve(np.pad(counts, 1), np.ones(3), mode="valid")


def growing_edges(first: float, last: float, factor: float) -> Array:
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


def departure_edges(period_s: float = DAY_S, bins: int = 48) -> Array:
    """Return even bins over the period (a day)."""
    return np.linspace(0.0, period_s, bins + 1)
