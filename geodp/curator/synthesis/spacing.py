"""How many points a trip has: the mean distance between them, counted by the length of the trip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.consistency import fitted_total, whole_counts
from geodp.curator.synthesis.epsilon_parts import Purse
from geodp.curator.synthesis.noisy_histogram import growing_edges, sums_of_three
from geodp.curator.synthesis.reference_systems import Integers
from geodp.geometry import Array
from geodp.tables.trajectories.table import Trajectories

SPACING = "spacing"
_SPACING_EDGES_M = growing_edges(2.0, 20_000.0, 1.26)


@dataclass(frozen=True, eq=False)
class Spacing:
    """Noisy numbers of trips by length (rows) and by mean distance between points (columns)."""

    length_edges_m: Array
    counts: Array
    most_points: int

    def points(self, length_m: Array, rng: np.random.Generator) -> Integers:
        """Draw a number of points, at least 2, for paths of given lengths."""
        row_of = np.clip(np.searchsorted(self.length_edges_m, length_m, side="right") - 1, 0, len(self.counts) - 1)
        points = np.full(length_m.size, 2)
        for row, counts in enumerate(self.counts):
            mine = np.flatnonzero(row_of == row)
            if not mine.size:
                continue
            usable = counts if counts.sum() > 0 else self.counts.sum(axis=0)
            column = np.repeat(np.arange(counts.size), whole_counts(usable, mine.size, rng))
            rng.shuffle(column)
            low, high = np.log(np.maximum(_SPACING_EDGES_M, 1.0))[[column, column + 1]]
            spacing_m = np.exp(low + rng.random(mine.size) * (high - low))
            points[mine] = np.clip(np.rint(length_m[mine] / spacing_m) + 1, 2, self.most_points)
        return points


def noisy_spacing(trajectories: Trajectories, purse: Purse, widest_m: float, most_points: int) -> Spacing:
    """Count each trip once, by its length and by the mean distance between its points."""
    edges = growing_edges(widest_m / 30, 1.3 * widest_m, 1.7)
    length_m = trajectories.lengths_m
    spacing_m = length_m / np.maximum(trajectories.counts - 1, 1)
    size = (edges.size - 1, _SPACING_EDGES_M.size - 1)
    row = np.clip(np.searchsorted(edges, length_m, side="right") - 1, 0, size[0] - 1)
    column = np.clip(np.searchsorted(_SPACING_EDGES_M, spacing_m, side="right") - 1, 0, size[1] - 1)
    counts = np.bincount(row * size[1] + column, minlength=size[0] * size[1])
    noisy = purse.counts(SPACING, counts).reshape(size)
    around = sums_of_three(noisy.sum(axis=0))
    sure = around > 2 * np.sqrt(2.0 * 3 * size[0]) * purse.scale(SPACING)
    if not sure.any():
        sure[np.argmax(around)] = True
    kept = np.where(sure, noisy, -np.inf)
    fitted = [fitted_total(counts, max(float(counts[sure].sum()), 1.0)) for counts in kept]
    return Spacing(edges, np.array(fitted), most_points)
