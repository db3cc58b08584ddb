"""Synthetic trips from chains of first and second order on an adaptive grid, with ends calibrated: a rival."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.curator.publications.adaptive_markov import TwoLevelCells, divide_cells, find_ways, share_out
from geodp.curator.synthesis.epsilon_parts import EpsilonParts, round_down, split
from geodp.curator.synthesis.grids import Integers, square_grid
from geodp.curator.synthesis.noisy_histograms import draw_whole_counts, fit_total
from geodp.curator.synthesis.points_on_paths import move_inside, synthetic_trajectories
from geodp.curator.synthesis.trip_shapes import DEPARTURES, PACES, Timing, count_timing
from geodp.curator.trips_publication import TripModelPublication
from geodp.geometry import Array, Region
from geodp.tables.trajectories.table import Trajectories

GRID, MOVES, PAIRS_OF_MOVES = "grid", "moves", "pairs of moves"
SHARES = {GRID: 0.18, MOVES: 0.40, PAIRS_OF_MOVES: 0.36, DEPARTURES: 0.03, PACES: 0.03}
_CALIBRATION_ROUNDS = 30
_MOST_CELLS = 220
_WALKERS = 4_000
_STANDS_OUT = 2.0
_LEAST_STAYING = 1e-3


class SecondOrderMarkov(TripModelPublication):
    """Synthetic trips of chains of first and second order on an adaptive grid, ends calibrated: a rival.

    Guarantee
    ---------
    As of `dpt`: ε-differential privacy for everything one person did (`unit: person`), or for one trip. Grid, number of
    trips, moves, pairs of moves and times are all counted with noise; which cells get a chain of second order follows
    from noisy counts.

    Reference
    ---------
    Wang et al. 2023, PrivTrace: differentially private trajectory synthesis by adaptive Markov models [recalled].
    Theirs: two levels of cells, counts shared out over a trip's moves, second order only where it stands out, and a
    distribution of trips that fits the moves. Ours: the shares of ε, the calibration (chances of the chain's own ends,
    fitted to noisy starts and ends), and that walks are led to their ends.
    """

    kind: ClassVar[str] = "second_order_markov"

    top_cells: int = Field(default=6, ge=2, le=30)
    """Cells along the longer side of the first level."""

    def parts(self) -> dict[str, float]:
        """Return ε of every part of the release; together they are the ε of the guarantee."""
        return split(self.epsilon, SHARES)

    def _number_part(self) -> tuple[str, int]:
        return GRID, self.top_cells**2

    def _bound_counts_per_trip(self) -> dict[str, float]:
        return {}

    def fit(self, trajectories: Trajectories, region: Region, parts: EpsilonParts) -> SecondOrderChain:
        """Count cells, moves and pairs of moves, with noise from the parts of ε alone."""
        top = square_grid(region, self.top_cells)
        noisy = parts.add_noise(GRID, share_out(trajectories, top, parts.scale(GRID)))
        number = max(1, round(float(noisy.sum())))
        cells = divide_cells(top, fit_total(noisy, float(number)), number / parts.scale(MOVES), most=_MOST_CELLS)
        way = _CellWays(*find_ways(trajectories, cells), cells)
        counts = np.diff(way.first)
        moves, starts, ends, noisy_moves = _count_moves(way, parts)
        # Second order pays where many moves leave a cell: each of about nine rows must stand out of its own noise.
        leaving = np.bincount(cells.links[0], noisy_moves, cells.size)
        chosen = leaving > _STANDS_OUT * parts.scale(PAIRS_OF_MOVES) * np.bincount(cells.links[0], minlength=cells.size)
        return SecondOrderChain(
            number=number,
            cells=cells,
            moves=moves,
            starts=starts,
            ends=ends,
            pairs=_count_pairs(way, chosen, moves, parts),
            timing=count_timing(trajectories, counts, parts, total=number, period_s=self.period_s),
            region=region,
            most_points=self.most_points,
        )


@dataclass(frozen=True, eq=False)
class _CellWays:
    """Cells that trips pass, without repeats."""

    first: Integers
    cell: Integers
    cells: TwoLevelCells

    @cached_property
    def owner(self) -> Integers:
        return np.repeat(np.arange(self.first.size - 1), np.diff(self.first))

    @cached_property
    def link(self) -> Integers:
        """Number of the move that follows each cell; -1 at a trip's end, and where it is no move to a touching cell."""
        if not self.cell.size:
            return np.empty(0, np.int64)
        tail, head = self.cells.links
        code, asked = tail * self.cells.size + head, self.cell * self.cells.size + np.append(self.cell[1:], 0)
        place = np.minimum(np.searchsorted(code, asked), code.size - 1)
        found = np.where(code[place] == asked, place, -1)
        found[self.first[1:] - 1] = -1
        return found


def _count_moves(way: _CellWays, parts: EpsilonParts) -> tuple[Array, Array, Array, Array]:
    """Return chances of moves from each cell (the rest ends there), starts, ends, and noisy numbers of moves.

    A trip's start, end and moves together count once, evenly.
    """
    size, (tail, head) = way.cells.size, way.cells.links
    counts = np.diff(way.first)
    worth = round_down(1.0 / (counts + 1), parts.scale(MOVES))
    known = way.link >= 0
    moves = np.bincount(way.link[known], worth[way.owner[known]], tail.size)
    begin, end = (way.cell[way.first[:-1]], way.cell[way.first[1:] - 1]) if way.cell.size else (way.cell, way.cell)
    true = np.concatenate([np.bincount(begin, worth, size), np.bincount(end, worth, size), moves])
    noisy = parts.add_noise(MOVES, true)
    starts, ends, found = np.split(noisy, [size, 2 * size])
    whole = max(float(noisy.sum()), 1.0)
    fitted = fit_total(noisy, whole)
    leaving = fitted[2 * size :]
    total = np.bincount(tail, leaving, size) + fitted[size : 2 * size] + 1e-9
    table = np.zeros((size, size))
    table[tail, head] = leaving / total[tail]
    return table, fit_total(starts, max(starts.sum(), 1.0)), fit_total(ends, max(ends.sum(), 1.0)), found


def _count_pairs(way: _CellWays, chosen: npt.NDArray[np.bool_], moves: Array, parts: EpsilonParts) -> Array:
    """Return chances of the next cell for every move (a row each) into a chosen cell; a row of zeros elsewhere.

    Rows are drawn towards the chain of first order by the noise that they have.
    """
    tail, head = way.cells.links
    width = int(np.bincount(tail, minlength=way.cells.size).max(initial=1))
    offset = np.append(0, np.cumsum(np.bincount(tail, minlength=way.cells.size)))
    both = (way.link[:-1] >= 0) & (way.link[1:] >= 0) if way.link.size else np.empty(0, np.bool_)
    place = np.flatnonzero(both)
    before, after = way.link[place], way.link[place + 1]
    usable = chosen[tail[after]] if place.size else np.empty(0, np.bool_)
    owner, before, after = way.owner[place][usable], before[usable], after[usable]
    worth = round_down(
        1.0 / np.maximum(np.bincount(owner, minlength=way.first.size - 1), 1), parts.scale(PAIRS_OF_MOVES)
    )
    row = np.flatnonzero(chosen[head])
    of_row = np.full(tail.size, -1)
    of_row[row] = np.arange(row.size)
    key = of_row[before] * width + after - offset[tail[after]]
    noisy = parts.add_noise(PAIRS_OF_MOVES, np.bincount(key, worth[owner], row.size * width).astype(np.float64))
    table, scale = np.zeros((tail.size, width)), parts.scale(PAIRS_OF_MOVES)
    for number, link in enumerate(row.tolist()):
        at = head[link]
        exits = slice(offset[at], offset[at + 1])
        usual = moves[at, head[exits]] + 1e-9
        found = noisy[number * width : number * width + usual.size]
        mass = max(float(found.sum()), 0.0)
        expected = usual / usual.sum() * mass
        spread = max(float(((found - expected) ** 2).sum()) / usual.size - 2 * scale**2, 0.0)
        trust = spread / (spread + 2 * scale**2)
        mixed = np.maximum(expected + trust * (found - expected), 0.0)
        if mixed.sum() > 0:
            table[link, : usual.size] = mixed / mixed.sum() * usual.sum()
    return table


def find_reaching(moves: Array) -> Array:
    """Return the chance that a walk of a chain from each cell (rows) ends in each cell (columns)."""
    staying = np.clip(1 - moves.sum(axis=1), _LEAST_STAYING, 1.0)
    table = moves * ((1 - staying) / np.maximum(moves.sum(axis=1), 1e-9))[:, None]
    return np.maximum(np.linalg.solve(np.eye(len(moves)) - table, np.diag(staying)), 0.0)


def calibrate_trips(moves: Array, starts: Array, ends: Array) -> Array:
    """Return shares of trips from cell to cell: chances of the chain's ends, fitted to noisy starts and ends."""
    trips = find_reaching(moves) + 1e-9
    wanted = starts / max(float(starts.sum()), 1e-9), ends / max(float(ends.sum()), 1e-9)
    for _ in range(_CALIBRATION_ROUNDS):
        trips *= (wanted[0] / np.maximum(trips.sum(axis=1), 1e-12))[:, None]
        trips *= wanted[1] / np.maximum(trips.sum(axis=0), 1e-12)
    return np.asarray(trips / max(float(trips.sum()), 1e-12))


@dataclass(frozen=True, eq=False)
class SecondOrderChain:
    """Everything that was counted with noise; trips drawn from it cost nothing more."""

    number: int
    cells: TwoLevelCells
    moves: Array
    starts: Array
    ends: Array
    pairs: Array
    timing: Timing
    region: Region
    most_points: int

    @cached_property
    def _reaching(self) -> Array:
        return find_reaching(self.moves)

    def draw(self, rng: np.random.Generator, count: int | None = None) -> Trajectories:
        """Draw as many synthetic trips as the noisy number of real ones, or `count`."""
        size = self.number if count is None else count
        pair = np.repeat(
            np.arange(self.cells.size**2),
            draw_whole_counts(calibrate_trips(self.moves, self.starts, self.ends).ravel(), size, rng),
        )
        rng.shuffle(pair)
        begin, end = np.divmod(pair, self.cells.size)
        owners, passed = [np.arange(size)], [begin]
        for block in range(0, size, _WALKERS):
            some = slice(block, block + _WALKERS)
            for who, cell in self._walk(begin[some], end[some], rng):
                owners.append(who + block)
                passed.append(cell)
        owner, cell = np.concatenate(owners), np.concatenate(passed)
        order = np.argsort(owner, kind="stable")
        cell, first = cell[order], np.append(0, np.cumsum(np.bincount(owner, minlength=size)))
        west, south, wide, high = self.cells.boxes
        x_m, y_m = west[cell] + rng.random(cell.size) * wide[cell], south[cell] + rng.random(cell.size) * high[cell]
        x_m, y_m = move_inside(self.region, first, x_m, y_m, rng)
        return synthetic_trajectories(first, self.timing.times(first, rng), x_m, y_m)

    def _walk(self, begin: Integers, end: Integers, rng: np.random.Generator) -> list[tuple[Integers, Integers]]:
        """Walk until the end is reached and the walk ends there; every move by how likely that still is."""
        tail, head = self.cells.links
        offset = np.append(0, np.cumsum(np.bincount(tail, minlength=self.cells.size)))
        width = self.pairs.shape[1]
        at, link, who, steps = begin.copy(), np.full(begin.size, -1), np.arange(begin.size), []
        lengths = np.ones(begin.size, dtype=np.int64)
        staying = np.clip(1 - self.moves.sum(axis=1), _LEAST_STAYING, 1.0)
        while who.size:
            exits = offset[at][:, None] + np.arange(width)
            usable = exits < offset[at + 1][:, None]
            exits = np.minimum(exits, tail.size - 1)
            there = head[exits]
            chance = np.where(usable, self.moves[at[:, None], there], 0.0)
            second = self.pairs[link] * (link >= 0)[:, None]
            chance = np.where((second.sum(axis=1) > 0)[:, None], np.where(usable, second, 0.0), chance)
            weight = chance * self._reaching[there, end[who][:, None]]
            stop = np.where(at == end[who], staying[at], 0.0)
            total = weight.sum(axis=1) + stop
            lost = total <= 0
            lot = rng.random(who.size) * total
            reached = stop[:, None] + np.cumsum(weight, axis=1)
            over = lost | (lot < stop) | (lengths[who] >= self.most_points)
            pick = np.minimum((reached <= lot[:, None]).sum(axis=1), width - 1)
            jump = lost & (at != end[who])  # noise left no way: straight there
            single = over & (lengths[who] == 1) & ~jump  # a trip has two points
            steps += [(who[extra], end[who[extra]]) for extra in (jump, single) if extra.any()]
            going = ~over
            link = exits[np.arange(who.size), pick][going]
            who, at = who[going], head[link]
            lengths[who] += 1
            steps.append((who, at))
        return steps
