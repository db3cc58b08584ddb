"""Shapes and timing of trips: lengths, detours, extents, distances between points, departures and paces, with noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.epsilon_parts import EpsilonParts
from geodp.curator.synthesis.grids import Integers
from geodp.curator.synthesis.noisy_histograms import (
    NoisyHistogram,
    bin_of,
    count_histogram,
    count_table,
    draw_whole_counts,
    grow_edges,
    thin_edges,
)
from geodp.curator.synthesis.shrinkage import Axis, expect, fit_law, shrink, shrink_to_law, spread_over
from geodp.geometry import Array
from geodp.tables.trajectories.table import Trajectories

SHAPES = "shapes"
_DETOUR_EDGES = np.array(
    [0.0, 0.01, 0.03, 0.06, 0.1, 0.14, 0.18, 0.22, 0.26, 0.3, 0.36, 0.45, 0.6, 0.8, 0.86, 0.92, 0.96, 1.0]
)
"""Share of a path's length that is not the way from its first to its last point as the crow flies."""
EXTENTS = "detours and extents"
_DETOUR_FROM = 0.2
"""Detour (as above) of trips that pass several places: what is longer than 1.25 times the distance of its ends."""
_LEAST_REACH, _MOST_REACH = 1 / 20, 2.5
"""Greatest extents that ends and a length allow, over the longer side of the region, that bins tell apart."""
_EXTENT_EDGES = np.linspace(0.0, 1.0, 13)
"""Extents over the greatest ones that ends and a length allow: 1 for a way out and back, the less the more it turns."""
_LONGEST, _LONGEST_IN_WIDE_NOISE, _WIDE_NOISE = 4.0, 3.0, 0.01
_SHORTEST, _SHORTEST_IN_WIDE_NOISE = 1 / 75, 1 / 20
"""Least and greatest lengths that bins tell apart, over the longer side of the region; fewer where noise is wide."""
_LEAST_ROWS = 8
"""Bins of lengths at least: a law is fitted to them."""
_DIRECTIONS = 8
_FITS = 2
SPACING = "spacing"
_SPACING_EDGES_M = grow_edges(2.0, 20_000.0, 1.26)
DEPARTURES, PACES = "departures", "paces"
_LEAST_BINS, _MOST_BINS = 4, 48
SCALES_PER_BIN = 6
_PACE_EDGES_S = grow_edges(0.5, 7200.0, 1.3)
_CELLS_PER_WORTH, _SHAPES_PER_WORTH = 0.5, 0.2
"""Cells of a table of counts per trip that the scale of its noise is worth; fewer where sums of rows matter most."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """Noisy numbers of trips by length and detour."""

    length_edges_m: Array
    counts: Array
    """Row per length, column per detour; not negative."""

    @property
    def detouring(self) -> float:
        """Noisy number of trips that pass several places."""
        return float(self.counts[:, _DETOUR_EDGES[:-1] >= _DETOUR_FROM].sum())

    def draw(self, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw lengths of paths, and distances between their ends (m)."""
        columns = self.counts.shape[1]
        bins = np.repeat(np.arange(self.counts.size), draw_whole_counts(self.counts.ravel(), size, rng))
        row, column = np.divmod(bins, columns)
        low, high = self.length_edges_m[row], self.length_edges_m[row + 1]
        length_m = low + rng.random(size) * (high - low)
        detour = _DETOUR_EDGES[column] + rng.random(size) * np.diff(_DETOUR_EDGES)[column]
        return length_m, length_m * (1 - detour)


def count_shapes(
    trajectories: Trajectories, parts: EpsilonParts, total: float, widest_m: float, weights: Array | None = None
) -> Shapes:
    """Count each trip once, by its length and its detour."""
    # In wide noise few trips in the bins of the longest ones would weigh more than all others.
    wide = parts.scale(SHAPES) >= _WIDE_NOISE * total
    least, most = (_SHORTEST_IN_WIDE_NOISE, _LONGEST_IN_WIDE_NOISE) if wide else (_SHORTEST, _LONGEST)
    edges = grow_edges(least * widest_m, most * widest_m, 1.25)
    rows = Axis(trajectories.lengths_m, edges, "positive", smooth=True)
    columns = Axis(measure_detours(trajectories), _DETOUR_EDGES, "share")
    counts = count_shrunk(
        SHAPES,
        rows,
        columns,
        parts,
        total=total,
        weights=weights,
        least_rows=_LEAST_ROWS,
        cells_per_worth=_SHAPES_PER_WORTH,
    )
    return Shapes(edges, counts)


@dataclass(frozen=True, eq=False)
class Extents:
    """Noisy numbers of trips by the greatest extent possible (rows) and by the share of it that they have (columns).

    A path of length L between ends d apart extends over (L + d)/2 at most. That tells extents better than detours do:
    among detours alike the long trips turn more often.
    """

    edges_m: Array
    counts: Array
    """Not negative."""

    def draw(self, length_m: Array, apart_m: Array, rng: np.random.Generator) -> Array:
        """Draw the extents of paths of given lengths between given ends (m)."""
        most_m = (length_m + apart_m) / 2
        row_of = bin_of(most_m, self.edges_m)
        share = np.empty(length_m.size)
        for row, counts in enumerate(self.counts):
            mine = np.flatnonzero(row_of == row)
            usable = counts if counts.sum() > 0 else self.counts.sum(axis=0) + 1e-9
            column = np.repeat(np.arange(counts.size), draw_whole_counts(usable, mine.size, rng))
            rng.shuffle(column)
            share[mine] = _EXTENT_EDGES[column] + rng.random(mine.size) * np.diff(_EXTENT_EDGES)[column]
        return np.asarray(np.maximum(share * most_m, apart_m))


def count_extents(
    trajectories: Trajectories, parts: EpsilonParts, total: float, widest_m: float, weights: Array | None = None
) -> Extents:
    """Count each trip that detours once, by its extent; `total` is a noisy number of such trips."""
    which = np.flatnonzero(measure_detours(trajectories) > _DETOUR_FROM)
    some = trajectories.select(which)
    most_m = (some.lengths_m + measure_apart(some)) / 2
    share = np.clip(measure_extents(some) / np.maximum(most_m, 1e-9), 0.0, 1.0)
    edges = grow_edges(_LEAST_REACH * widest_m, _MOST_REACH * widest_m, 1.35)
    rows, columns = Axis(most_m, edges, "positive"), Axis(share, _EXTENT_EDGES, "share")
    weights = None if weights is None else weights[which]
    return Extents(edges, count_shrunk(EXTENTS, rows, columns, parts, total=max(total, 1.0), weights=weights))


def count_shrunk(
    part: str,
    rows: Axis,
    columns: Axis,
    parts: EpsilonParts,
    *,
    total: float | None = None,
    weights: Array | None = None,
    least_rows: int = 1,
    cells_per_worth: float = _CELLS_PER_WORTH,
) -> Array:
    """Count each trip once by two numbers, and draw the noisy counts towards laws of either number.

    Bins are as many as the noise allows (`total` is a noisy number of trips); within a bin trips are spread as the
    laws say. Without `total` all bins are counted, and the total follows from them.
    """
    worth = np.inf if total is None else cells_per_worth * total / parts.scale(part)
    most = rows.edges.size - 1, columns.edges.size - 1
    row_bins = int(np.clip(np.sqrt(min(worth, 1e9) * most[0] / most[1]), least_rows, most[0]))
    row_edges = thin_edges(rows.edges, row_bins)
    column_edges = thin_edges(columns.edges, int(np.clip(min(worth, 1e9) / row_bins, 2, most[1])))
    noisy = count_table(part, (rows.values, row_edges), (columns.values, column_edges), parts, weights)
    found = max(float(noisy.sum()), 1.0) if total is None else total
    of_rows = fit_law(noisy.sum(axis=1), row_edges, rows.family)
    of_columns = fit_law(noisy.sum(axis=0), column_edges, columns.family)
    scale = parts.scale(part)
    of_sums = [float(scale * np.sqrt(size)) for size in noisy.shape]
    by_row, by_column = (
        shrink_to_law(noisy.sum(axis=1 - side), edges, axis.family, of_sums[1 - side], found, smooth=axis.smooth)
        for side, (axis, edges) in enumerate(((rows, row_edges), (columns, column_edges)))
    )
    counts = shrink(noisy, np.outer(by_row, by_column) / found, scale, found)
    # Cut at 0, the noise of many cells would add up to mass in rows and columns whose own sums say there is none.
    for _ in range(_FITS):
        counts *= (by_row / np.maximum(counts.sum(axis=1), 1e-9))[:, None]
        counts *= by_column / np.maximum(counts.sum(axis=0), 1e-9)
    counts = _spread_rows(counts, expect(of_rows, rows.edges, found), rows.edges, row_edges)
    return _spread_rows(counts.T, expect(of_columns, columns.edges, found), columns.edges, column_edges).T


def _spread_rows(counts: Array, fine: Array, edges: Array, coarse: Array) -> Array:
    """Return a table with a row for every fine bin, in which each coarse row is spread as the law says."""
    if coarse.size == edges.size:
        return counts
    share = spread_over(fine, edges, coarse, np.ones(coarse.size - 1))
    row = np.clip(np.searchsorted(coarse, (edges[:-1] + edges[1:]) / 2, side="right") - 1, 0, coarse.size - 2)
    return np.asarray(counts[row] * share[:, None])


def measure_apart(trajectories: Trajectories) -> Array:
    """Return the distance between the ends of every trip."""
    first, last = trajectories.first[:-1], trajectories.first[1:] - 1
    x_m, y_m = trajectories.x_m, trajectories.y_m
    return np.asarray(np.hypot(x_m[last] - x_m[first], y_m[last] - y_m[first]))


def measure_detours(trajectories: Trajectories) -> Array:
    """Return the share of every path's length that is not the distance of its ends."""
    length_m, apart_m = trajectories.lengths_m, measure_apart(trajectories)
    return np.asarray(1 - np.divide(apart_m, length_m, out=np.ones_like(length_m), where=length_m > 0))


def measure_extents(trajectories: Trajectories) -> Array:
    """Return the greatest distance between two points of every trip, to a percent: its width in eight directions."""
    widest = np.zeros(trajectories.size)
    if not trajectories.size:
        return widest
    for angle in np.arange(_DIRECTIONS) * np.pi / _DIRECTIONS:
        along, first = trajectories.x_m * np.cos(angle) + trajectories.y_m * np.sin(angle), trajectories.first[:-1]
        widest = np.maximum(widest, np.maximum.reduceat(along, first) - np.minimum.reduceat(along, first))
    # Between two directions the width falls short by up to 1 - cos(π/16), by a third of that on average.
    return np.asarray(widest / (1 - (1 - np.cos(np.pi / (2 * _DIRECTIONS))) / 3))


@dataclass(frozen=True, eq=False)
class Spacing:
    """Noisy numbers of trips by length (rows) and by mean distance between points (columns)."""

    length_edges_m: Array
    counts: Array
    most_points: int

    def points(self, length_m: Array, rng: np.random.Generator) -> Integers:
        """Draw a number of points, at least 2, for paths of given lengths."""
        row_of = bin_of(length_m, self.length_edges_m)
        points = np.full(length_m.size, 2)
        for row, counts in enumerate(self.counts):
            mine = np.flatnonzero(row_of == row)
            if not mine.size:
                continue
            usable = counts if counts.sum() > 0 else self.counts.sum(axis=0)
            column = np.repeat(np.arange(counts.size), draw_whole_counts(usable, mine.size, rng))
            rng.shuffle(column)
            low, high = np.log(np.maximum(_SPACING_EDGES_M, 1.0))[[column, column + 1]]
            spacing_m = np.exp(low + rng.random(mine.size) * (high - low))
            points[mine] = np.clip(np.rint(length_m[mine] / spacing_m) + 1, 2, self.most_points)
        return points


def count_spacing(
    trajectories: Trajectories,
    parts: EpsilonParts,
    widest_m: float,
    most_points: int,
    *,
    total: float | None = None,
    weights: Array | None = None,
) -> Spacing:
    """Count each trip once, by its length and by the mean distance between its points."""
    edges = grow_edges(widest_m / 30, 4 * widest_m, 1.7)
    length_m = trajectories.lengths_m
    spacing_m = length_m / np.maximum(trajectories.counts - 1, 1)
    rows, columns = Axis(length_m, edges, "positive"), Axis(spacing_m, _SPACING_EDGES_M, "positive")
    return Spacing(edges, count_shrunk(SPACING, rows, columns, parts, total=total, weights=weights), most_points)


@dataclass(frozen=True, eq=False)
class Timing:
    """Noisy laws of departures in a period (a day) and of the mean time between points."""

    departures: NoisyHistogram
    paces: NoisyHistogram

    def times(self, first: Integers, rng: np.random.Generator) -> Array:
        """Return a time for every point: trips depart in the period, and keep their pace."""
        trips = first.size - 1
        departure_s, pace_s = self.departures.draw(trips, rng), self.paces.draw(trips, rng)
        owner = np.repeat(np.arange(trips), np.diff(first))
        return np.asarray(departure_s[owner] + pace_s[owner] * (np.arange(owner.size) - first[owner]))


def count_timing(
    trajectories: Trajectories,
    points: Integers,
    parts: EpsilonParts,
    *,
    total: float,
    period_s: float,
    weights: Array | None = None,
) -> Timing:
    """Count departures by time of the period, and the mean time between points (of which there are `points`).

    Departures are counted in as many bins as the noise allows: a mean bin of `total` trips (a noisy number) is to hold
    six times the scale of its noise.
    """
    bins = int(np.clip(total / (SCALES_PER_BIN * parts.scale(DEPARTURES)), _LEAST_BINS, _MOST_BINS))
    edges = np.linspace(0.0, period_s, bins + 1)
    departures = np.mod(trajectories.departures_s, period_s)
    of_day = count_histogram(DEPARTURES, departures, edges, parts, weights=weights, shape="circular")
    pace_s = trajectories.durations_s / np.maximum(points - 1, 1)
    return Timing(of_day, count_histogram(PACES, pace_s, _PACE_EDGES_S, parts, weights=weights, total=total))
