"""Where trips begin and end: noisy counts on two grids, zones of about equally many ends, and trips between zones."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodp.curator.synthesis.epsilon_parts import EpsilonParts, round_down
from geodp.curator.synthesis.grids import (
    Integers,
    from_blocks,
    reconcile_counts,
    refine_grid,
    side_cells,
    square_grid,
    to_blocks,
)
from geodp.curator.synthesis.noisy_histograms import draw_whole_counts, fit_total
from geodp.curator.synthesis.shrinkage import shrink_map
from geodp.geometry import Array, Grid, Region
from geodp.tables.trajectories.table import Trajectories

COARSE_ENDS, FINE_ENDS, TRIPS = "ends, coarse", "ends, fine", "trips between zones"
_FINER = 4
_COARSE_CELLS_PER_WORTH, _MOST_SIDE = 0.3, 32
_ZONES_PER_WORTH, _ZONES_PER_LITTLE_WORTH, _MOST_ZONES = 1.0, 0.5, 200
_LITTLE_WORTH = 500.0
"""Trips over the scale of their noise below which fewer and fuller zones say more."""
_CANDIDATES = 8
_DISTANCES = 24
_ROUNDS = 1
"""More would draw noisy zones apart until distances are met that are noisy, too."""
_DISTANCE_CLASSES = 12
_GRAVITY_ROUNDS = 8
_SCATTERS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.2, 1.6, 2.2, 3.0)
"""How far (in logarithms) real numbers of trips may lie off what is expected."""
_STEPS = np.linspace(-3.0, 3.0, 25)
_PAIRS_AT_ONCE = 5_000


@dataclass(frozen=True, eq=False)
class Ends:
    """First and last places of trips (m)."""

    from_x_m: Array
    from_y_m: Array
    to_x_m: Array
    to_y_m: Array

    @property
    def apart_m(self) -> Array:
        """Distance between first and last place."""
        return np.asarray(np.hypot(self.to_x_m - self.from_x_m, self.to_y_m - self.from_y_m))

    def select(self, which: slice | Integers) -> Ends:
        """Return some of them."""
        return Ends(self.from_x_m[which], self.from_y_m[which], self.to_x_m[which], self.to_y_m[which])


@dataclass(frozen=True, eq=False)
class TripEnds:
    """Noisy trips from zone to zone."""

    zones: Zones
    trips: Array

    def draw(self, apart_m: Array, rng: np.random.Generator) -> Ends:
        """Draw a trip for each entry of `apart_m`, the distances between ends that are wanted (in any order).

        Zones say nothing about distances within a zone, so several ends are tried for each trip, and one of them is
        chosen with weights per distance under which the chosen distances are spread as those wanted.
        """
        size = apart_m.size
        pair = np.repeat(np.arange(self.trips.size), draw_whole_counts(self.trips.ravel(), size, rng))
        rng.shuffle(pair)
        begin, end = np.divmod(pair, self.zones.count)
        from_x, from_y = self.zones.places(begin, _CANDIDATES, rng)
        to_x, to_y = self.zones.places(end, _CANDIDATES, rng)
        found_m = np.hypot(to_x - from_x, to_y - from_y)
        edges = np.unique(np.quantile(apart_m, np.linspace(0, 1, _DISTANCES + 1)))[1:-1]
        wanted = np.bincount(np.searchsorted(edges, apart_m, side="right"), minlength=edges.size + 1) + 0.5
        distance = np.searchsorted(edges, found_m, side="right")
        log_weight = np.zeros(edges.size + 1)
        for _ in range(_ROUNDS):
            chance = np.exp(log_weight)[distance]
            chance /= chance.sum(axis=1, keepdims=True)
            now = np.bincount(distance.ravel(), chance.ravel(), edges.size + 1) + 0.5
            log_weight += np.clip(np.log(wanted / now), -1.0, 1.0)
        pick = choose_columns(np.exp(log_weight)[distance], rng)
        return Ends(*(values[np.arange(size), pick] for values in (from_x, from_y, to_x, to_y)))


def count_trip_ends(
    trajectories: Trajectories, region: Region, parts: EpsilonParts, total: float, weights: Array | None = None
) -> TripEnds:
    """Count both ends of every trip by place, divide the region by that, and count trips from zone to zone."""
    first, last = trajectories.first[:-1], trajectories.first[1:] - 1
    x_m, y_m = trajectories.x_m, trajectories.y_m
    worth = _COARSE_CELLS_PER_WORTH * total / parts.scale(COARSE_ENDS)
    coarse = square_grid(region, side_cells(worth, _MOST_SIDE))
    fine = refine_grid(coarse, _FINER)
    both = fine.locate(np.append(x_m[first], x_m[last]), np.append(y_m[first], y_m[last]))
    of_ends = None if weights is None else np.tile(round_down(weights, parts.scale(FINE_ENDS, 2.0)), 2)
    blocks = to_blocks(np.bincount(both, of_ends, fine.size).astype(np.float64), coarse, _FINER)
    of_coarse = parts.add_noise(COARSE_ENDS, blocks.sum(axis=1), 2.0)  # a trip has two ends
    of_fine = parts.add_noise(FINE_ENDS, blocks, 2.0)
    of_fine = to_blocks(
        shrink_map(from_blocks(of_fine, coarse, _FINER).reshape(fine.rows, fine.columns), parts.scale(FINE_ENDS, 2.0)),
        coarse,
        _FINER,
    )
    of_coarse = shrink_map(of_coarse.reshape(coarse.rows, coarse.columns), parts.scale(COARSE_ENDS, 2.0)).ravel()
    weight = reconcile_counts(of_coarse, of_fine, parts.scale(COARSE_ENDS, 2.0), parts.scale(FINE_ENDS, 2.0))
    worth = total / parts.scale(TRIPS)
    worth *= _ZONES_PER_LITTLE_WORTH if worth < _LITTLE_WORTH else _ZONES_PER_WORTH
    count = side_cells(worth, _MOST_ZONES, least=2)
    zones = divide_into_zones(from_blocks(weight, coarse, _FINER), fine, count)
    pair = zones.of(x_m[first], y_m[first]) * zones.count + zones.of(x_m[last], y_m[last])
    of_trips = None if weights is None else round_down(weights, parts.scale(TRIPS))
    noisy = parts.add_noise(TRIPS, np.bincount(pair, of_trips, zones.count**2))
    trips = smooth_trips(noisy.reshape(zones.count, -1), zones, parts.scale(TRIPS), total)
    return TripEnds(zones, trips)


def choose_columns(weights: Array, rng: np.random.Generator) -> Integers:
    """Choose one column per row, in proportion to the weights."""
    reached = np.cumsum(weights, axis=1)
    target = rng.random(len(weights)) * reached[:, -1]
    return np.asarray(np.minimum((reached <= target[:, None]).sum(axis=1), weights.shape[1] - 1))


@dataclass(frozen=True, eq=False)
class Zones:
    """A division of a grid's cells into zones, and where in its zone a trip is likely to end."""

    grid: Grid
    label: Integers
    """Zone of each cell."""
    count: int
    weight: Array
    """Noisy number of ends in each cell, not negative."""

    def of(self, x_m: Array, y_m: Array) -> Integers:
        """Return the zones of places."""
        return self.label[self.grid.locate(x_m, y_m)]

    @cached_property
    def centres(self) -> tuple[Array, Array]:
        """Mean place of each zone's cells (m)."""
        x, y = self.grid.centres()
        cells = np.bincount(self.label, minlength=self.count)
        column, row = np.tile(x, self.grid.rows), np.repeat(y, self.grid.columns)
        return np.bincount(self.label, column, self.count) / cells, np.bincount(self.label, row, self.count) / cells

    def places(self, zone: Integers, candidates: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw so many places in each of the zones given: cells by their weight, evenly within a cell."""
        order = np.argsort(self.label, kind="stable")
        reached = np.append(0.0, np.cumsum(self.weight[order] + 1e-6))
        begin = np.searchsorted(self.label[order], np.arange(self.count + 1))
        low, high = reached[begin[zone]][:, None], reached[begin[zone + 1]][:, None]
        target = low + rng.random((zone.size, candidates)) * (high - low)
        place = np.searchsorted(reached, target, side="right") - 1
        cell = order[np.clip(place, begin[zone][:, None], begin[zone + 1][:, None] - 1)]
        row, column = np.divmod(cell, self.grid.columns)
        x_m = self.grid.west_m + (column + rng.random(cell.shape)) * self.grid.cell_x_m
        y_m = self.grid.south_m + (row + rng.random(cell.shape)) * self.grid.cell_y_m
        return x_m, y_m


def divide_into_zones(weight: Array, grid: Grid, zones: int) -> Zones:
    """Divide the fullest rectangle of cells in two equally full ones, until there are so many zones."""
    table = weight.reshape(grid.rows, grid.columns)
    sums = np.zeros((grid.rows + 1, grid.columns + 1))
    sums[1:, 1:] = table.cumsum(axis=0).cumsum(axis=1)

    def mass(box: tuple[int, int, int, int]) -> float:
        south, north, west, east = box
        return float(sums[north, east] - sums[south, east] - sums[north, west] + sums[south, west])

    whole = (0, grid.rows, 0, grid.columns)
    waiting = [(-mass(whole), whole)]
    done: list[tuple[int, int, int, int]] = []
    while waiting and len(waiting) + len(done) < zones:
        _, box = heapq.heappop(waiting)
        halves = _halves(table, box, upright=_is_high(box, grid))
        if halves is None:
            done.append(box)
            continue
        for half in halves:
            heapq.heappush(waiting, (-mass(half), half))
    label = np.zeros_like(table, dtype=np.int64)
    boxes = sorted([*done, *(box for _, box in waiting)])
    for number, (south, north, west, east) in enumerate(boxes):
        label[south:north, west:east] = number
    return Zones(grid, label.ravel(), len(boxes), weight)


def _is_high(box: tuple[int, int, int, int], grid: Grid) -> bool:
    south, north, west, east = box
    return bool((north - south) * grid.cell_y_m >= (east - west) * grid.cell_x_m)


def _halves(table: Array, box: tuple[int, int, int, int], *, upright: bool) -> list[tuple[int, int, int, int]] | None:
    """Cut a rectangle across its longer side where either part has about half of what is in it; None: a single cell."""
    south, north, west, east = box
    if (north - south) * (east - west) == 1:
        return None
    upright = (upright and north - south > 1) or east - west == 1
    reached = np.cumsum(table[south:north, west:east].sum(axis=1 if upright else 0))
    cut = int(np.argmin(np.abs(reached[:-1] - reached[-1] / 2))) + 1
    if upright:
        return [(south, south + cut, west, east), (south + cut, north, west, east)]
    return [(south, north, west, west + cut), (south, north, west + cut, east)]


def smooth_trips(noisy: Array, zones: Zones, scale: float, total: float) -> Array:
    """Return trips from zone to zone, not negative, `total` together.

    A gravity model (trips in proportion to those that leave, those that arrive, and a factor for the distance) is
    fitted to sums of the noisy counts, which are far more exact than single ones. Real counts scatter around the model
    log-normally, as widely as the noisy counts make most likely (empirical Bayes); every count becomes its expectation
    given the noisy one: where the noise says nothing, the model does.
    """
    from scipy.special import logsumexp

    expected, flat = np.maximum(_gravity(noisy, zones, total).ravel(), 1e-3), noisy.ravel()
    best, mean = -np.inf, expected
    log_chance = -(_STEPS**2) / 2
    log_chance -= logsumexp(log_chance)
    for scatter in _SCATTERS:
        # Where noise is narrow against the scatter, sums over steps are too rough: there both are taken as normal.
        variance = expected**2 * math.expm1(scatter**2)
        guess = expected + variance / (variance + 2 * scale**2) * (flat - expected)
        whole = -((flat - expected) ** 2) / (variance + 2 * scale**2) / 2 - np.log(variance + 2 * scale**2) / 2
        whole -= math.log(2 * math.pi) / 2
        wide = np.flatnonzero(expected * scatter * (_STEPS[1] - _STEPS[0]) < scale)
        for begin in range(0, wide.size, _PAIRS_AT_ONCE):
            some = wide[begin : begin + _PAIRS_AT_ONCE]
            count = expected[some, None] * np.exp(scatter * _STEPS - scatter**2 / 2)
            log_likely = log_chance - np.abs(flat[some, None] - count) / scale - math.log(2 * scale)
            whole[some] = logsumexp(log_likely, axis=1)
            guess[some] = (np.exp(log_likely - whole[some, None]) * count).sum(axis=1)
        if whole.sum() < best:
            break  # wider and wider: the fit has passed its best
        best, mean = float(whole.sum()), guess
    return fit_total(mean, total).reshape(noisy.shape)


def _gravity(noisy: Array, zones: Zones, total: float) -> Array:
    leaving = fit_total(noisy.sum(axis=1), total) + 1e-6
    arriving = fit_total(noisy.sum(axis=0), total) + 1e-6
    x_m, y_m = zones.centres
    away = np.hypot(x_m[:, None] - x_m, y_m[:, None] - y_m)
    edges = np.quantile(away, np.linspace(0, 1, _DISTANCE_CLASSES + 1))
    distance = np.clip(np.searchsorted(edges, away, side="right") - 1, 0, _DISTANCE_CLASSES - 1)
    np.fill_diagonal(distance, _DISTANCE_CLASSES)
    by_class = np.bincount(distance.ravel(), noisy.ravel(), _DISTANCE_CLASSES + 1).astype(np.float64)
    of_class = fit_total(by_class, total) + 1e-6
    expected = np.outer(leaving, arriving) / total
    for _ in range(_GRAVITY_ROUNDS):  # iterative proportional fitting
        now = np.bincount(distance.ravel(), expected.ravel(), _DISTANCE_CLASSES + 1)
        expected *= (of_class / np.maximum(now, 1e-9))[distance]
        expected *= (leaving / np.maximum(expected.sum(axis=1), 1e-9))[:, None]
        expected *= arriving / np.maximum(expected.sum(axis=0), 1e-9)
    return expected
