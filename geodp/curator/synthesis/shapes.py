"""Shapes of trips: how long they are, and how much of that is detour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.consistency import fitted_total, whole_counts
from geodp.curator.synthesis.epsilon_parts import Purse
from geodp.curator.synthesis.noisy_histogram import growing_edges, sums_of_three
from geodp.geometry import Array
from geodp.tables.trajectories.table import Trajectories

SHAPES = "shapes"
_DETOUR_EDGES = np.array([0.0, 0.01, 0.03, 0.06, 0.1, 0.14, 0.18, 0.22, 0.26, 0.3, 0.36, 0.45, 0.6, 0.8, 1.0])
"""Share of a path's length that is not the way from its first to its last point as the crow flies."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """Noisy numbers of trips by length and detour."""

    length_edges_m: Array
    counts: Array
    """Row per length, column per detour; not negative."""

    def drawn(self, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw lengths of paths, and distances between their ends (m)."""
        columns = self.counts.shape[1]
        bins = np.repeat(np.arange(self.counts.size), whole_counts(self.counts.ravel(), size, rng))
        row, column = np.divmod(bins, columns)
        low, high = self.length_edges_m[row], self.length_edges_m[row + 1]
        length_m = low + rng.random(size) * (high - low)
        detour = _DETOUR_EDGES[column] + rng.random(size) * np.diff(_DETOUR_EDGES)[column]
        return length_m, length_m * (1 - detour)


def noisy_shapes(trajectories: Trajectories, purse: Purse, total: float, widest_m: float) -> Shapes:
    """Count each trip once, by its length and its detour."""
    edges = growing_edges(widest_m / 75, 4 * widest_m, 1.25)
    length_m = trajectories.lengths_m
    apart_m = ends_apart_m(trajectories)
    detour = 1 - np.divide(apart_m, length_m, out=np.ones_like(length_m), where=length_m > 0)
    row = np.clip(np.searchsorted(edges, length_m, side="right") - 1, 0, edges.size - 2)
    column = np.clip(np.searchsorted(_DETOUR_EDGES, detour, side="right") - 1, 0, _DETOUR_EDGES.size - 2)
    size = (edges.size - 1, _DETOUR_EDGES.size - 1)
    counts = np.bincount(row * size[1] + column, minlength=size[0] * size[1])
    noisy = purse.counts(SHAPES, counts).reshape(size)
    # Lengths that do not stand out, with their neighbours, from the noise of three rows are taken for empty.
    around = sums_of_three(noisy.sum(axis=1))
    sure = around > 2 * np.sqrt(2.0 * 3 * size[1]) * purse.scale(SHAPES)
    if not sure.any():
        sure[np.argmax(around)] = True
    return Shapes(edges, fitted_total(np.where(sure[:, None], noisy, -np.inf).ravel(), total).reshape(size))


def ends_apart_m(trajectories: Trajectories) -> Array:
    """Return the distance between first and last point of each trip."""
    first, last = trajectories.first[:-1], trajectories.first[1:] - 1
    x_m, y_m = trajectories.x_m, trajectories.y_m
    return np.asarray(np.hypot(x_m[last] - x_m[first], y_m[last] - y_m[first]))
