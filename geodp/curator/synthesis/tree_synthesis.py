"""Synthesis by prefix trees: DPT itself and the baselines that it was measured against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis import grid_choice
from geodp.curator.synthesis.epsilon_parts import Purse, floored
from geodp.curator.synthesis.mapping import tokens_of
from geodp.curator.synthesis.noisy_histogram import NoisyHistogram, noisy_histogram, whole_edges
from geodp.curator.synthesis.places import kept_inside, placed
from geodp.curator.synthesis.prefix_tree import PrefixTrees, grown, level_parts
from geodp.curator.synthesis.reference_systems import ReferenceSystems
from geodp.curator.synthesis.synthetic import stand_ins
from geodp.curator.synthesis.timing import DEPARTURES, PACES, Timing, noisy_timing
from geodp.curator.synthesis.walks import Direction, walked
from geodp.geometry import Array, Region
from geodp.tables.trajectories.table import Trajectories

LENGTHS = "lengths"


@dataclass(frozen=True)
class TreeSettings:
    """How trees are grown and walked; all of it is public."""

    finest_m: float
    """Side of the finest cells (m)."""
    levels: int
    """Number of grids; 1 is a single grid, and nothing is selected."""
    order: int
    """Tokens that the next one may depend on, itself included: 1 is a first-order Markov chain."""
    bound: float
    """Most that one trajectory adds to the counts of one depth."""
    most_points: int
    direction: Direction
    prune: bool = True
    ends_in_tree: bool = False
    """Trips end where the tree says so, instead of after a number of points that is counted by itself."""
    period_s: float = 86_400.0

    def shares(self, *, choice: float, lengths: float, times: float) -> dict[str, float]:
        """Return the share of ε of every part; what is left over is split evenly over the depths of the trees."""
        parts = {LENGTHS: lengths, DEPARTURES: times / 2, PACES: times / 2}
        if self.levels > 1:
            parts[grid_choice.PART] = choice
        levels = level_parts(self.order)
        rest = 1.0 - sum(parts.values())
        return parts | {level: rest / len(levels) for level in levels}


@dataclass(frozen=True, eq=False)
class TreeModel:
    """Everything that was counted with noise; trips drawn from it cost nothing more."""

    trees: PrefixTrees
    lengths: NoisyHistogram
    timing: Timing
    settings: TreeSettings
    region: Region

    def drawn(self, rng: np.random.Generator, count: int | None = None) -> Trajectories:
        """Draw as many synthetic trips as the noisy number of real ones, or `count`."""
        trips = self.lengths.total if count is None else count
        points = np.floor(self.lengths.drawn(trips, rng)).astype(np.int64)
        if self.settings.ends_in_tree:
            points = np.full(trips, self.settings.most_points)
        walks = walked(self.trees, points, self.settings.direction, rng, ends_in_tree=self.settings.ends_in_tree)
        x_m, y_m = placed(walks, self.trees.systems, rng)
        x_m, y_m = kept_inside(self.region, walks.first, x_m, y_m, rng)
        return stand_ins(walks.first, self.timing.times(walks.first, rng), x_m, y_m)


def length_edges(most_points: int) -> Array:
    """Return the public bins of the lengths of trips (points)."""
    return whole_edges(most_points, 1.15)


def fitted_trees(trajectories: Trajectories, region: Region, purse: Purse, settings: TreeSettings) -> TreeModel:
    """Count everything that the model needs, with noise from the purse alone."""
    systems = ReferenceSystems.over(region, settings.finest_m, settings.levels)
    scale = purse.scale("cells", settings.bound)
    if settings.levels > 1:
        systems = grid_choice.chosen_systems(trajectories, systems, purse, bound=settings.bound, scale=scale)
    tokens = tokens_of(trajectories, systems)
    points = tokens.moves + 1
    lengths = noisy_histogram(LENGTHS, points.astype(np.float64), length_edges(settings.most_points), purse)
    timing = noisy_timing(trajectories, points, purse, total=lengths.total, period_s=settings.period_s)
    # One weight per trajectory for all depths: weights per depth would bias where trips end.
    weights = floored(np.minimum(1.0, settings.bound / tokens.counts), scale)
    trees = grown(tokens, weights, purse, order=settings.order, bound=settings.bound, prune=settings.prune)
    return TreeModel(trees, lengths, timing, settings, region)
