"""Trajectories as tokens: every step in the finest grid that holds it, and which grids are worth their noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.epsilon_parts import EpsilonParts, round_down
from geodp.curator.synthesis.grids import Integers, ReferenceSystems
from geodp.geometry import Array
from geodp.tables.trajectories.table import Trajectories

STAY = 4
"""Moves are 0 … 8: row and column of the next cell in the 3 × 3 neighbourhood."""
UP, END, DOWN = 9, 10, 11
"""The way to the cell of the next coarser grid; the end; from 11 on the cells of the next finer grid."""
GRID_CHOICE = "choice of grids"


@dataclass(frozen=True, eq=False)
class Tokens:
    """Trajectories on reference systems: the state (a cell) in which each token was emitted, and the token."""

    systems: ReferenceSystems
    first: Integers
    """Offsets of the trajectories' tokens."""
    state: Integers
    token: Integers

    @property
    def counts(self) -> Integers:
        """Tokens of each trajectory, START included."""
        return np.diff(self.first) + 1

    @property
    def moves(self) -> Integers:
        """Moves of each trajectory."""
        moved = np.append(0, np.cumsum(self.token < UP))
        return np.diff(moved[self.first])

    @property
    def starts(self) -> Integers:
        """First cell of each trajectory."""
        return self.state[self.first[:-1]]

    @property
    def owner(self) -> Integers:
        """Trajectory of each token."""
        return np.repeat(np.arange(self.first.size - 1), np.diff(self.first))


def insert_points(trajectories: Trajectories, longest_m: float) -> Trajectories:
    """Put points into steps that are longer than the longest that a grid can hold."""
    dx, dy = (np.diff(values, append=values[-1:]) for values in (trajectories.x_m, trajectories.y_m))
    last = trajectories.first[1:] - 1
    dx[last], dy[last] = 0.0, 0.0
    pieces = np.maximum(1, np.ceil(np.maximum(np.abs(dx), np.abs(dy)) / longest_m)).astype(np.int64)
    if (pieces == 1).all():
        return trajectories
    dt = np.diff(trajectories.time_s, append=trajectories.time_s[-1:])
    dt[last] = 0.0
    begin = np.append(0, np.cumsum(pieces))
    share = (np.arange(begin[-1]) - np.repeat(begin[:-1], pieces)) / np.repeat(pieces, pieces)

    def fill(values: Array, change: Array) -> Array:
        return np.asarray(np.repeat(values, pieces) + share * np.repeat(change, pieces))

    return Trajectories(
        people=trajectories.people,
        first=begin[trajectories.first],
        person=trajectories.person,
        time_s=fill(trajectories.time_s, dt),
        x_m=fill(trajectories.x_m, dx),
        y_m=fill(trajectories.y_m, dy),
        names=trajectories.names,
    )


def find_needed_grids(systems: ReferenceSystems, column: Integers, row: Integers) -> Integers:
    """Return, per place, the finest grid in which the step to the next one reaches a neighbouring cell at most."""
    needed = np.full(column.size, systems.grids - 1)
    for grid in range(systems.grids - 2, -1, -1):
        shift = systems.doublings[grid]
        near = np.abs(np.diff(column >> shift, append=0)) <= 1
        near &= np.abs(np.diff(row >> shift, append=0)) <= 1
        needed[near] = grid
    return needed


def tokenise(trajectories: Trajectories, systems: ReferenceSystems) -> Tokens:
    """Map trajectories to tokens, with hops between grids where the resolution changes."""
    dense = insert_points(trajectories, float(systems.side_m[-1]))
    column, row = systems.fine_indices(dense.x_m, dense.y_m)
    needed = find_needed_grids(systems, column, row)
    last = dense.first[1:] - 1
    needed[last] = 0  # there is no step from a last point: what follows it belongs to someone else
    before = np.append(0, needed)[:-1]  # grid in which a point was reached
    before[dense.first[:-1]] = needed[dense.first[:-1]]
    needed[last] = before[last]  # at the last point the grid does not change any more
    hops = np.abs(needed - before)
    begin = np.append(0, np.cumsum(hops + 1))
    point = np.repeat(np.arange(column.size), hops + 1)
    hop = np.arange(begin[-1]) - begin[point]
    way = np.sign(needed - before)
    grid = before[point] + hop * way[point]
    state = systems.cell(column[point], row[point], grid)
    token = _hop_tokens(systems, column[point], row[point], grid, way[point])
    acts = begin[1:] - 1  # the last emission at each point is its move, or the end
    token[acts] = _move_tokens(systems, column, row, needed)[: acts.size]
    token[acts[last]] = END
    return Tokens(systems, begin[dense.first], state, token)


def _move_tokens(systems: ReferenceSystems, column: Integers, row: Integers, grid: Integers) -> Integers:
    shift = np.array(systems.doublings)[grid][:-1]
    across = (column[1:] >> shift) - (column[:-1] >> shift)
    along = (row[1:] >> shift) - (row[:-1] >> shift)
    return np.append((np.clip(along, -1, 1) + 1) * 3 + np.clip(across, -1, 1) + 1, END)


def _hop_tokens(systems: ReferenceSystems, column: Integers, row: Integers, grid: Integers, way: Integers) -> Integers:
    token = np.full(column.size, UP)
    down = np.flatnonzero(way < 0)
    doublings = np.array(systems.doublings)
    coarse, fine = doublings[grid[down]], doublings[np.maximum(grid[down] - 1, 0)]
    steps = coarse - fine
    child_column = (column[down] >> fine) - ((column[down] >> coarse) << steps)
    child_row = (row[down] >> fine) - ((row[down] >> coarse) << steps)
    token[down] = DOWN + (child_row << steps) + child_column
    return token


def token_count(systems: ReferenceSystems) -> int:
    """Return how many different tokens there are at most."""
    ratios = np.diff(systems.doublings, prepend=systems.doublings[0])
    return DOWN + int(4 ** ratios.max()) if systems.grids > 1 else DOWN


def targets(systems: ReferenceSystems, cell: Integers) -> Integers:
    """Return the cell that each token leads to from given cells; -1 where a token is impossible, END leads nowhere."""
    grid, column, row = systems.place(cell)
    found = np.full((cell.size, token_count(systems)), -1, dtype=np.int64)
    for move in range(UP):
        to_column, to_row = column + move % 3 - 1, row + move // 3 - 1
        fits = (to_column >= 0) & (to_column < systems.columns[grid]) & (to_row >= 0) & (to_row < systems.rows[grid])
        found[:, move] = np.where(fits, systems.number(to_column, to_row, grid), -1)
    doublings = np.array(systems.doublings)
    up = np.flatnonzero(grid < systems.grids - 1)
    steps = doublings[grid[up] + 1] - doublings[grid[up]]
    found[up, UP] = systems.number(column[up] >> steps, row[up] >> steps, grid[up] + 1)
    for lower in range(systems.grids - 1):
        at = np.flatnonzero(grid == lower + 1)
        steps_down = int(doublings[lower + 1] - doublings[lower])
        for child in range(4**steps_down):
            to_column = (column[at] << steps_down) + child % 2**steps_down
            to_row = (row[at] << steps_down) + child // 2**steps_down
            fits = (to_column < systems.columns[lower]) & (to_row < systems.rows[lower])
            number = systems.number(to_column, to_row, np.full(at.size, lower))
            found[at, DOWN + child] = np.where(fits, number, -1)
    return found


def choose_grids(
    trajectories: Trajectories, systems: ReferenceSystems, parts: EpsilonParts, *, bound: float, scale: float
) -> ReferenceSystems:
    """Keep the grids whose noisy share of the movement exceeds the noise expected in their trees.

    Every trajectory spreads a weight of at most 1 over the grids of its steps. A grid of K cells would carry noise of
    b per cell, and of b per token under every cell that stands out; movement of a grid that is not kept is counted in
    the next coarser one that is.
    """
    shares = round_down(_shares(trajectories, systems), parts.scale(GRID_CHOICE))
    noisy = np.maximum(parts.add_noise(GRID_CHOICE, shares.sum(axis=0)), 0.0)
    cells = np.diff(systems.offsets).astype(np.float64)
    mass = noisy * bound
    standing_out = np.minimum(cells, mass / (scale * np.log(np.maximum(cells, 4.0) / 2)))
    expected_noise = scale * (cells + DOWN * standing_out)
    # What a finer grid that is not kept would have held falls to the next coarser one.
    kept, carried = [], 0.0
    for grid in range(systems.grids):
        carried += mass[grid]
        if carried > expected_noise[grid]:
            kept.append(grid)
            carried = 0.0
    return systems.keep(kept or [systems.grids - 1])


def _shares(trajectories: Trajectories, systems: ReferenceSystems) -> Array:
    """Return the share of each trajectory's steps that each grid would hold (row per trajectory)."""
    dense = insert_points(trajectories, float(systems.side_m[-1]))
    needed = find_needed_grids(systems, *systems.fine_indices(dense.x_m, dense.y_m))
    last = dense.first[1:] - 1
    owner = dense.owner
    step = np.ones(dense.points, dtype=np.bool_)
    step[last] = dense.counts == 1  # someone who never moves counts in the finest grid
    needed[last] = 0
    key = owner[step] * systems.grids + needed[step]
    table = np.bincount(key, minlength=dense.size * systems.grids).reshape(-1, systems.grids)
    return np.asarray(table / np.maximum(table.sum(axis=1, keepdims=True), 1))
