"""Synthesis by prefix trees: DPT itself and the baselines that it was measured against."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from geodp.curator.synthesis.epsilon_parts import EpsilonParts, round_down
from geodp.curator.synthesis.grids import Integers, ReferenceSystems
from geodp.curator.synthesis.noisy_histograms import NoisyHistogram, count_histogram, whole_edges
from geodp.curator.synthesis.points_on_paths import move_inside, synthetic_trajectories
from geodp.curator.synthesis.prefix_trees import Direction, PrefixTrees, Walks, grow_trees, level_parts, walk_trees
from geodp.curator.synthesis.tokens import GRID_CHOICE, choose_grids, tokenise
from geodp.curator.synthesis.trip_shapes import DEPARTURES, PACES, Timing, count_timing
from geodp.geometry import Array, Region
from geodp.tables.trajectories.table import Trajectories

LENGTHS = "lengths"
_JITTER = 0.25


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
    along_steps: bool = False
    """Points lie as far along in a cell as those before them did in theirs, instead of anywhere in it."""

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
        x_m, y_m = place_walks(walks, self.trees.systems, rng, along_steps=self.settings.along_steps)
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


def place_walks(
    walks: Walks, systems: ReferenceSystems, rng: np.random.Generator, *, along_steps: bool = False
) -> tuple[Array, Array]:
    """Give every point a place in its cell.

    Whoever stays in a cell for several points crosses it in a straight line: one place per visit to a cell, and one for
    the end of each walk, joined evenly. Places are random; with `along_steps` a place is the one before, moved by as
    many cells as the step has, and by a quarter of a cell's side at random.
    """
    begins = np.append(True, np.diff(walks.cell) != 0)
    begins[walks.first[:-1]] = True
    begins[walks.first[1:] - 1] = True
    at = np.flatnonzero(begins)
    west, south, wide, high = systems.box(walks.cell[at])
    point = np.arange(walks.cell.size)
    along_x, along_y = rng.random(at.size), rng.random(at.size)
    if along_steps:
        rank = np.arange(at.size) - np.searchsorted(at, walks.first[:-1])[walks.owner[at]]
        along_x = _follow_steps(rank, west, wide, along_x, rng)
        along_y = _follow_steps(rank, south, high, along_y, rng)
    x_m = np.interp(point, at, west + along_x * wide)
    y_m = np.interp(point, at, south + along_y * high)
    return x_m, y_m


def _follow_steps(rank: Integers, low: Array, side: Array, along: Array, rng: np.random.Generator) -> Array:
    """Return where in its cell (a share of its side) each place of a walk lies; `rank` is its number in the walk."""
    order = np.argsort(rank, kind="stable")
    begin = np.searchsorted(rank[order], np.arange(1, rank.max(initial=0) + 2))
    found = along.copy()
    for first, last in pairwise(begin.tolist()):
        here = order[first:last]
        before = low[here - 1] + found[here - 1] * side[here - 1]
        place = (before - low[here]) / side[here]  # in cells from this one's edge
        jitter = rng.uniform(-_JITTER, _JITTER, here.size)
        found[here] = np.clip(place - np.floor(place) + jitter, 0.0, 1.0)
    return found
