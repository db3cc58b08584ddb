"""Synthesis by prefix trees: DPT itself and the baselines that it was measured against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.epsilon_parts import EpsilonParts, round_down
from geodp.curator.synthesis.grids import ReferenceSystems
from geodp.curator.synthesis.noisy_histograms import NoisyHistogram, count_histogram, whole_edges
from geodp.curator.synthesis.points_on_paths import move_inside, synthetic_trajectories
from geodp.curator.synthesis.prefix_trees import Direction, PrefixTrees, Walks, grow_trees, level_parts, walk_trees
from geodp.curator.synthesis.tokens import GRID_CHOICE, choose_grids, tokenise
from geodp.curator.synthesis.trip_shapes import DEPARTURES, PACES, Timing, count_timing
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
            parts[GRID_CHOICE] = choice
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

    @property
    def number(self) -> int:
        """Noisy number of trips."""
        return self.lengths.total

    def draw(self, rng: np.random.Generator, count: int | None = None) -> Trajectories:
        """Draw as many synthetic trips as the noisy number of real ones, or `count`."""
        trips = self.number if count is None else count
        points = np.floor(self.lengths.draw(trips, rng)).astype(np.int64)
        if self.settings.ends_in_tree:
            points = np.full(trips, self.settings.most_points)
        walks = walk_trees(self.trees, points, self.settings.direction, rng, ends_in_tree=self.settings.ends_in_tree)
        x_m, y_m = place_walks(walks, self.trees.systems, rng)
        x_m, y_m = move_inside(self.region, walks.first, x_m, y_m, rng)
        return synthetic_trajectories(walks.first, self.timing.times(walks.first, rng), x_m, y_m)


def length_edges(most_points: int) -> Array:
    """Return the public bins of the lengths of trips (points)."""
    return whole_edges(most_points, 1.15)


def fit_tree_model(
    trajectories: Trajectories, region: Region, parts: EpsilonParts, settings: TreeSettings
) -> TreeModel:
    """Count everything that the model needs, with noise from the parts of ε alone."""
    systems = ReferenceSystems.over(region, settings.finest_m, settings.levels)
    scale = parts.scale("cells", settings.bound)
    if settings.levels > 1:
        systems = choose_grids(trajectories, systems, parts, bound=settings.bound, scale=scale)
    tokens = tokenise(trajectories, systems)
    points = tokens.moves + 1
    lengths = count_histogram(LENGTHS, points.astype(np.float64), length_edges(settings.most_points), parts)
    timing = count_timing(trajectories, points, parts, total=lengths.total, period_s=settings.period_s)
    # One weight per trajectory for all depths: weights per depth would bias where trips end.
    weights = round_down(np.minimum(1.0, settings.bound / tokens.counts), scale)
    trees = grow_trees(tokens, weights, parts, order=settings.order, bound=settings.bound, prune=settings.prune)
    return TreeModel(trees, lengths, timing, settings, region)


def place_walks(walks: Walks, systems: ReferenceSystems, rng: np.random.Generator) -> tuple[Array, Array]:
    """Give every point a place in its cell.

    Whoever stays in a cell for several points crosses it in a straight line: one random place per visit to a cell,
    and one for the end of each walk, joined evenly.
    """
    begins = np.append(True, np.diff(walks.cell) != 0)
    begins[walks.first[:-1]] = True
    begins[walks.first[1:] - 1] = True
    at = np.flatnonzero(begins)
    west, south, wide, high = systems.box(walks.cell[at])
    point = np.arange(walks.cell.size)
    x_m = np.interp(point, at, west + rng.random(at.size) * wide)
    y_m = np.interp(point, at, south + rng.random(at.size) * high)
    return x_m, y_m
