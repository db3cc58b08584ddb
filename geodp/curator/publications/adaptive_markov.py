"""Synthetic trips from a first-order chain on an adaptive grid, led to their ends: a rival in the style of AdaTrace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.curator.synthesis.epsilon_parts import EpsilonParts, round_down, split
from geodp.curator.synthesis.grids import Integers, square_grid
from geodp.curator.synthesis.noisy_histograms import count_table, draw_whole_counts, fit_total, whole_edges
from geodp.curator.synthesis.points_on_paths import move_inside, synthetic_trajectories
from geodp.curator.synthesis.shrinkage import expect, fit_law, shrink
from geodp.curator.synthesis.tokens import insert_points
from geodp.curator.synthesis.trip_shapes import DEPARTURES, PACES, Timing, count_timing
from geodp.curator.trips_publication import TripModelPublication
from geodp.geometry import Array, Grid, Region
from geodp.tables.trajectories.table import Trajectories

GRID, INNER, MOVES, TRIPS, LENGTHS = "grid", "inner cells", "moves", "trips", "lengths"
SHARES = {GRID: 0.10, INNER: 0.06, MOVES: 0.36, TRIPS: 0.34, LENGTHS: 0.08, DEPARTURES: 0.03, PACES: 0.03}
_MOST_CELLS = 220
_MOST_STEPS = 60
_WALKERS = 4_000


class AdaptiveMarkov(TripModelPublication):
    """Synthetic trips of a first-order chain on an adaptive grid, led from start to end (AdaTrace-style): a rival.

    Guarantee
    ---------
    As of `dpt`: ε-differential privacy for everything one person did (`unit: person`), or for one trip. What was
    repaired: the box is the public region (not the data's), and the second level of the grid, the number of trips and
    times are counted with noise, too.

    Reference
    ---------
    Gursoy et al. 2018, Utility-aware synthesis of differentially private and attack-resilient location traces
    (AdaTrace), sections 4 and 5 [recalled]: density-aware grid, Markov moves, trip distribution, lengths by start. The
    shares of ε, the law of lengths and the split of cells are ours; its checks against attacks are not built.
    """

    kind: ClassVar[str] = "adaptive_markov"

    top_cells: int = Field(default=6, ge=2, le=30)
    """Cells along the longer side of the first level."""

    def parts(self) -> dict[str, float]:
        """Return ε of every part of the release; together they are the ε of the guarantee."""
        return split(self.epsilon, SHARES)

    def _number_part(self) -> tuple[str, int]:
        return GRID, self.top_cells**2

    def _bound_counts_per_trip(self) -> dict[str, float]:
        return {}

    def fit(self, trajectories: Trajectories, region: Region, parts: EpsilonParts) -> AdaptiveChain:
        """Count cells, moves, trips and lengths, with noise from the parts of ε alone."""
        top = square_grid(region, self.top_cells)
        share = share_out(trajectories, top, parts.scale(GRID))
        noisy = parts.add_noise(GRID, share)
        number = max(1, round(float(noisy.sum())))
        cells = divide_cells(top, fit_total(noisy, float(number)), number / parts.scale(TRIPS))
        inner = fit_total(parts.add_noise(INNER, share_out(trajectories, cells, parts.scale(INNER))), float(number))
        first, way = find_ways(trajectories, cells)
        counts = np.diff(first)
        begin, end = way[first[:-1]] if way.size else way, way[first[1:] - 1] if way.size else way
        moves = _count_moves(cells, first, way, parts)
        pairs = parts.add_noise(TRIPS, np.bincount(begin * cells.size + end, minlength=cells.size**2))
        steps = np.minimum(counts, _MOST_STEPS).astype(np.float64)
        edges = whole_edges(_MOST_STEPS, 1.25)
        one = np.arange(top.size + 1, dtype=np.float64) - 0.5
        table = count_table(LENGTHS, (cells.parent[begin].astype(np.float64), one), (steps, edges), parts)
        timing = count_timing(trajectories, counts, parts, total=number, period_s=self.period_s)
        return AdaptiveChain(
            number=number,
            cells=cells,
            weight=inner,
            moves=moves,
            trips=fit_total(pairs, float(number)),
            lengths=_fit_lengths(table, edges, parts.scale(LENGTHS)),
            edges=edges,
            timing=timing,
            region=region,
            most_points=self.most_points,
        )


@dataclass(frozen=True, eq=False)
class TwoLevelCells:
    """Cells of two levels: every top cell is divided in squares of its own number."""

    top: Grid
    times: Integers
    """Divisions of each top cell along either side."""

    @cached_property
    def offset(self) -> Integers:
        """Number of each top cell's first cell; last the number of all."""
        return np.append(0, np.cumsum(self.times**2))

    @property
    def size(self) -> int:
        """Number of cells."""
        return int(self.offset[-1])

    @cached_property
    def parent(self) -> Integers:
        """Top cell of each cell."""
        return np.repeat(np.arange(self.times.size), self.times**2)

    def locate(self, x_m: Array, y_m: Array) -> Integers:
        """Return the cells of places."""
        top = self.top.locate(x_m, y_m)
        row, column = np.divmod(top, self.top.columns)
        times = self.times[top]
        across = (x_m - self.top.west_m) / self.top.cell_x_m - column
        along = (y_m - self.top.south_m) / self.top.cell_y_m - row
        inner_column, inner_row = (
            np.clip(np.floor(part * times), 0, times - 1).astype(np.int64) for part in (across, along)
        )
        return np.asarray(self.offset[top] + inner_row * times + inner_column)

    @cached_property
    def links(self) -> tuple[Integers, Integers]:
        """Cells that touch, in order: from which, to which (public)."""
        tail, head = np.nonzero(self.touching)
        return tail, head

    @cached_property
    def boxes(self) -> tuple[Array, Array, Array, Array]:
        """West, south, width and height of each cell (m)."""
        row, column = np.divmod(self.parent, self.top.columns)
        times = self.times[self.parent]
        inner_row, inner_column = np.divmod(np.arange(self.size) - self.offset[self.parent], times)
        wide, high = self.top.cell_x_m / times, self.top.cell_y_m / times
        west = self.top.west_m + column * self.top.cell_x_m + inner_column * wide
        return west, self.top.south_m + row * self.top.cell_y_m + inner_row * high, wide, high

    @cached_property
    def touching(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which cells touch which (public: it follows from the grid)."""
        west, south, wide, high = self.boxes
        slack = 1e-3
        across = (west[:, None] <= (west + wide) + slack) & (west <= (west + wide)[:, None] + slack)
        along = (south[:, None] <= (south + high) + slack) & (south <= (south + high)[:, None] + slack)
        return np.asarray(across & along & ~np.eye(self.size, dtype=np.bool_))


def divide_cells(top: Grid, counts: Array, worth: float, most: int = _MOST_CELLS) -> TwoLevelCells:
    """Divide top cells by their noisy counts; all cells together are as many as the noise on trips allows."""
    cells = float(np.clip(np.sqrt(worth) * 2, top.size, most))
    share = counts / max(counts.sum(), 1e-9)
    times = np.maximum(1, np.floor(np.sqrt(share * cells))).astype(np.int64)
    return TwoLevelCells(top, np.minimum(times, 6))


def share_out(trajectories: Trajectories, cells: Grid | TwoLevelCells, scale: float) -> Array:
    """Count every trip once, shared out over the cells of its points."""
    weight = round_down(1.0 / np.maximum(trajectories.counts, 1), scale)[trajectories.owner]
    return np.bincount(cells.locate(trajectories.x_m, trajectories.y_m), weight, cells.size).astype(np.float64)


def find_ways(trajectories: Trajectories, cells: TwoLevelCells) -> tuple[Integers, Integers]:
    """Return the cells of every trip, in order, without repeats; long steps pass the cells between."""
    least = min(float(side.min()) for side in cells.boxes[2:])
    dense = insert_points(trajectories, least)
    cell = cells.locate(dense.x_m, dense.y_m)
    new = np.append(True, np.diff(cell) != 0) if cell.size else np.empty(0, np.bool_)
    new[dense.first[:-1]] = True
    reached = np.append(0, np.cumsum(new))
    return reached[dense.first], cell[new]


def _count_moves(cells: TwoLevelCells, first: Integers, way: Integers, parts: EpsilonParts) -> Array:
    """Return the probabilities of moves to touching cells; every trip's moves together count once."""
    tail, head = cells.links
    code = tail * cells.size + head  # ascending
    inner = np.setdiff1d(np.arange(way.size), first[1:] - 1)
    found = way[inner] * cells.size + way[inner + 1] if inner.size else np.empty(0, np.int64)
    place = np.minimum(np.searchsorted(code, found), max(code.size - 1, 0))
    known = code[place] == found  # through a corner by chance: not a move to a touching cell
    counts = np.diff(first)
    weight = round_down(1.0 / np.maximum(counts - 1, 1), parts.scale(MOVES))
    owner = np.repeat(np.arange(counts.size), counts)[inner]
    noisy = parts.add_noise(MOVES, np.bincount(place[known], weight[owner[known]], code.size).astype(np.float64))
    table = np.zeros((cells.size, cells.size))
    table[tail, head] = fit_total(noisy, max(float(noisy.sum()), 1.0))
    table[tail, head] += 1e-6
    return np.asarray(table / np.maximum(table.sum(axis=1, keepdims=True), 1e-300))


def _fit_lengths(table: Array, edges: Array, scale: float) -> Array:
    """Return shares of lengths for trips from each top cell: their own law where it stands out, else that of all."""
    total = table.sum(axis=0)
    whole = max(float(total.sum()), 1.0)
    everyone = shrink(
        total, expect(fit_law(total, edges, "positive"), edges, whole), scale * np.sqrt(len(table)), whole
    )
    shares = []
    for row in table:
        mass = max(float(row.sum()), 1.0)
        shares.append(shrink(row, everyone / everyone.sum() * mass, scale, mass) / mass)
    return np.array(shares)


@dataclass(frozen=True, eq=False)
class AdaptiveChain:
    """Everything that was counted with noise; trips drawn from it cost nothing more."""

    number: int
    cells: TwoLevelCells
    weight: Array
    moves: Array
    trips: Array
    lengths: Array
    edges: Array
    timing: Timing
    region: Region
    most_points: int

    def draw(self, rng: np.random.Generator, count: int | None = None) -> Trajectories:
        """Draw as many synthetic trips as the noisy number of real ones, or `count`."""
        size = self.number if count is None else count
        pair = np.repeat(np.arange(self.trips.size), draw_whole_counts(self.trips, size, rng))
        rng.shuffle(pair)
        begin, end = np.divmod(pair, self.cells.size)
        steps = self._draw_steps(begin, rng)
        powers = self._powers()
        counts, passed = [np.zeros(1, np.int64)], [np.empty(0, np.int64)]
        for start in range(0, size, _WALKERS):
            some = slice(start, start + _WALKERS)
            way = self._walk(begin[some], end[some], steps[some], powers, rng)
            counts.append((way >= 0).sum(axis=1))
            passed.append(way[way >= 0])
        first, cell = np.cumsum(np.concatenate(counts)), np.concatenate(passed)
        west, south, wide, high = self.cells.boxes
        x_m, y_m = west[cell] + rng.random(cell.size) * wide[cell], south[cell] + rng.random(cell.size) * high[cell]
        x_m, y_m = move_inside(self.region, first, x_m, y_m, rng)
        return synthetic_trajectories(first, self.timing.times(first, rng), x_m, y_m)

    def _draw_steps(self, begin: Integers, rng: np.random.Generator) -> Integers:
        reached = np.cumsum(self.lengths, axis=1)[self.cells.parent[begin]]
        lot = rng.random(begin.size)[:, None] * reached[:, -1:]
        place = np.minimum((reached <= lot).sum(axis=1), self.edges.size - 2)
        low, high = self.edges[place], self.edges[place + 1]
        found = np.floor(low + rng.random(begin.size) * (high - low)).astype(np.int64)
        return np.asarray(np.clip(found, 2, min(_MOST_STEPS, self.most_points)), dtype=np.int64)

    def _powers(self) -> Array:
        """Return the probabilities of being anywhere after 0, 1, 2, … moves."""
        powers = [np.eye(self.cells.size)]
        for _ in range(_MOST_STEPS):
            powers.append(powers[-1] @ self.moves)
        return np.array(powers)

    def _walk(
        self, begin: Integers, end: Integers, steps: Integers, powers: Array, rng: np.random.Generator
    ) -> Integers:
        """Walk from start to end in so many cells, each move by how likely the end is reached in time; -1: over."""
        way = np.full((begin.size, int(steps.max(initial=2))), -1, dtype=np.int64)
        way[:, 0] = begin
        at = begin.copy()
        for step in range(1, way.shape[1]):
            going = np.flatnonzero(steps > step)
            left = steps[going] - 1 - step
            weight = self.moves[at[going]] * powers[left, :, end[going]]
            total = weight.sum(axis=1)
            lost = total <= 0
            reached = np.cumsum(weight, axis=1)
            lot = rng.random(going.size) * reached[:, -1]
            pick = np.minimum((reached <= lot[:, None]).sum(axis=1), self.cells.size - 1)
            pick = np.where(lost | (left == 0), end[going], pick)  # too far: a jump to the end
            at[going] = pick
            way[going, step] = pick
        return np.asarray(way, dtype=np.int64)
