"""A noisy tree of sequences of cells, consistent from its root down, and trips drawn from it (Chen et al. 2012)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.epsilon_parts import EpsilonParts
from geodp.curator.synthesis.grids import Integers
from geodp.curator.synthesis.noisy_histograms import draw_whole_counts
from geodp.curator.synthesis.points_on_paths import move_inside, synthetic_trajectories
from geodp.curator.synthesis.trip_shapes import Timing, count_timing
from geodp.geometry import Array, Grid, Region
from geodp.tables.trajectories.table import Trajectories


def level_part(level: int) -> str:
    """Name the part of ε that pays for the counts of one level (0: where trips begin)."""
    return f"level {level + 1}"


@dataclass(frozen=True, eq=False)
class SequenceLevel:
    """The sequences of one length that stand out of the noise."""

    cell: Integers
    """Last cell of each."""
    parent: Integers
    """The sequence one cell shorter, in the level before (0 in the first level, where all follow the root)."""
    count: Array
    """How many trips begin with it: noisy, not negative, no more with their siblings than their parent has."""


@dataclass(frozen=True, eq=False)
class SequenceModel:
    """All that was counted with noise; trips drawn from it cost nothing more."""

    grid: Grid
    levels: tuple[SequenceLevel, ...]
    timing: Timing
    number: int
    """Noisy number of trips."""
    region: Region

    def draw(self, rng: np.random.Generator, count: int | None = None) -> Trajectories:
        """Draw as many synthetic trips as the noisy number of real ones, or `count`."""
        trips = self.number if count is None else count
        cells, lengths = self._draw_cells(trips, rng)
        first = np.append(0, np.cumsum(lengths))
        column, row = cells % self.grid.columns, cells // self.grid.columns
        x_m = self.grid.west_m + (column + rng.random(cells.size)) * self.grid.cell_x_m
        y_m = self.grid.south_m + (row + rng.random(cells.size)) * self.grid.cell_y_m
        x_m, y_m = move_inside(self.region, first, x_m, y_m, rng)
        return synthetic_trajectories(first, self.timing.times(first, rng), x_m, y_m)

    def _draw_cells(self, trips: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """Return the cells of so many trips, one after the other, and how many each has."""
        begin = self.levels[0]
        node = np.repeat(np.arange(begin.cell.size), draw_whole_counts(begin.count, trips, rng))
        rng.shuffle(node)
        who, visited = np.arange(node.size), [(np.arange(node.size), begin.cell[node])]
        for before, level in zip(self.levels[:-1], self.levels[1:], strict=True):
            order = np.argsort(node, kind="stable")
            who, node = who[order], node[order]
            children = np.searchsorted(level.parent, np.arange(before.cell.size + 1))
            chosen = np.full(node.size, -1)
            start = np.searchsorted(node, np.arange(before.cell.size + 1))
            for at in np.unique(node).tolist():
                those = slice(int(children[at]), int(children[at + 1]))
                ends = max(float(before.count[at] - level.count[those].sum()), 0.0)
                share = draw_whole_counts(np.append(level.count[those], ends), int(start[at + 1] - start[at]), rng)
                lot = np.repeat(np.append(np.arange(those.start, those.stop), -1), share)
                rng.shuffle(lot)
                chosen[start[at] : start[at] + lot.size] = lot
            who, node = who[chosen >= 0], chosen[chosen >= 0]
            visited.append((who, level.cell[node]))
        owner, cell = (np.concatenate(column) for column in zip(*visited, strict=True))
        order = np.argsort(owner, kind="stable")
        return cell[order], np.bincount(owner, minlength=trips)


def fit_sequence_model(
    trajectories: Trajectories, region: Region, parts: EpsilonParts, *, cells: int, height: int, period_s: float
) -> SequenceModel:
    """Count how many trips begin with each sequence of cells, level by level, with noise from the parts of ε alone.

    A trip is one node of each level, so a level's sensitivity is 1. All children of a node that is followed get noise,
    those that never occur too.
    """
    grid = Grid.fit(region, max(region.width_m, region.height_m) / cells)
    first, cell = sequences_of(trajectories, grid)
    lengths = np.diff(first)
    levels: list[SequenceLevel] = []
    node = np.zeros(lengths.size, dtype=np.int64)  # of each trip in the level before; -1 where that was dropped
    parents, number = np.array([np.inf]), 1
    for level in range(height):
        going = np.flatnonzero((node >= 0) & (lengths > level))
        key = node[going] * grid.size + cell[first[going] + level]
        noisy = parts.add_noise(level_part(level), np.bincount(key, minlength=parents.size * grid.size))
        followed = find_followed(noisy, parts.scale(level_part(level)), grid.size)
        if level == 0 and not followed.size:
            followed = np.array([int(np.argmax(noisy))])
        count = np.maximum(fit_below(parents, noisy[followed], followed // grid.size), 0.0)
        if level == 0:
            number, count = max(1, round(float(noisy.sum()))), np.maximum(count, 1e-9)
        levels.append(SequenceLevel(followed % grid.size, followed // grid.size, count))
        place = np.full(noisy.size, -1)
        place[followed] = np.arange(followed.size)
        node = np.full(lengths.size, -1)
        node[going] = place[key]
        parents = count
    timing = count_timing(trajectories, lengths, parts, total=number, period_s=period_s)
    return SequenceModel(grid, tuple(levels), timing, number, region)


def sequences_of(trajectories: Trajectories, grid: Grid) -> tuple[Integers, Integers]:
    """Return the cells that each trip passes, repeats left out: offsets of the trips, and the cells."""
    cell = grid.locate(trajectories.x_m, trajectories.y_m)
    new = np.append(True, np.diff(cell) != 0)[: cell.size]
    new[trajectories.first[:-1]] = True
    owner = np.repeat(np.arange(trajectories.first.size - 1), np.diff(trajectories.first))
    return np.append(0, np.cumsum(np.bincount(owner[new], minlength=trajectories.first.size - 1))), cell[new]


def find_followed(noisy: Array, scale: float, siblings: int) -> Integers:
    """Return the nodes that stand out: above two standard deviations, and above what one of so many empty ones reaches.

    Two standard deviations are Chen's threshold; among many siblings it would follow more noise than trips.
    """
    bar = scale * max(2 * math.sqrt(2), math.log(max(siblings, 2) / 2))
    return np.flatnonzero(noisy > bar)


def fit_below(parents: Array, children: Array, parent_of: Integers) -> Array:
    """Return children that are no more together than their parent: what is too much is taken off them evenly.

    child += min(0, (parent - Σ children) / number of children). Fewer than the parent are left: those trips end there.
    """
    number = np.bincount(parent_of, minlength=parents.size)
    room = parents - np.bincount(parent_of, children, parents.size)
    return np.asarray(children + np.minimum(0.0, room / np.maximum(number, 1))[parent_of])
