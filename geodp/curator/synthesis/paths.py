"""Paths of given lengths between given ends, and points along them, so that points fall where the noisy density is.

A path over V has exactly the length L when V lies on the ellipse around both ends with |OV| + |VD| = L. Of several such
places one is chosen by the noisy density along the path; weights per cell are fitted until all paths together have
that density (iterative proportional fitting, free of charge). Points are denser where people are slower.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.epsilon_parts import EpsilonParts, round_down
from geodp.curator.synthesis.grids import Integers, side_cells, square_grid
from geodp.curator.synthesis.noisy_histograms import count_histogram, fit_total, whole_edges
from geodp.curator.synthesis.trip_ends import Ends, choose_columns
from geodp.geometry import Array, Grid, Region
from geodp.tables.trajectories.table import Trajectories

Cells = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
_CANDIDATES = 12
_PROBES = 12
_ROUNDS = 6
_LEARNING = 0.3
_FLOOR = 0.05
"""Share of a mean cell below which densities are taken to be alike."""
_FITTED_TRIPS = 20_000
"""Weights are fitted on so many trips; the cost of more is linear, and nothing is gained."""
_OUTSIDE = -50.0
_BLOCK = 1_000
_PIECES = 24
_PACE_ROUNDS = 2
_PACE_BLOCK = 5_000
POINTS, DENSITY = "points", "density"
_BOUND_QUANTILE = 0.8
_CELLS_PER_WORTH = 0.3
_MOST_SIDE = 96


@dataclass(frozen=True, eq=False)
class Density:
    """Shares of points in the cells of a grid, none below 0."""

    grid: Grid
    share: Array
    bound: int
    """Most points that one trip counted for."""


def count_density(
    trajectories: Trajectories, region: Region, parts: EpsilonParts, *, total: float, most_points: int
) -> Density:
    """Count points per cell; a trip of more points than most trips have counts less per point.

    The bound is a quantile of a noisy histogram, hence paid for. Cells are as many as the noise allows: with K cells
    the relative noise of a mean cell is K·b/(N·bound).
    """
    lengths = count_histogram(POINTS, trajectories.counts.astype(np.float64), whole_edges(most_points, 1.15), parts)
    reached = np.cumsum(lengths.shares())
    place = int(np.searchsorted(reached, _BOUND_QUANTILE * reached[-1]))
    bound = int(lengths.edges[min(place + 1, lengths.edges.size - 1)])
    grid = square_grid(region, side_cells(_CELLS_PER_WORTH * total / parts.scale(DENSITY), _MOST_SIDE))
    weights = round_down(np.minimum(1.0, bound / trajectories.counts), parts.scale(DENSITY, bound))
    cell = grid.locate(trajectories.x_m, trajectories.y_m)
    noisy = parts.add_noise(DENSITY, np.bincount(cell, weights[trajectories.owner], grid.size), bound)
    fitted = fit_total(noisy, max(float(noisy.sum()), 1.0))
    return Density(grid, fitted / fitted.sum(), bound)


@dataclass(frozen=True, eq=False)
class Paths:
    """Paths of two straight legs each."""

    ends: Ends
    via_x_m: Array
    via_y_m: Array

    @property
    def size(self) -> int:
        """Number of paths."""
        return int(self.via_x_m.size)

    def at(self, share: Array, path: Integers) -> tuple[Array, Array]:
        """Return the place on a path at a share of its length."""
        x_m, y_m = self.ends.from_x_m[path], self.ends.from_y_m[path]
        first_x, first_y = self.via_x_m[path] - x_m, self.via_y_m[path] - y_m
        second_x, second_y = self.ends.to_x_m[path] - self.via_x_m[path], self.ends.to_y_m[path] - self.via_y_m[path]
        first, second = np.hypot(first_x, first_y), np.hypot(second_x, second_y)
        gone = share * (first + second)
        on_first = np.clip(gone / np.maximum(first, 1e-9), 0.0, 1.0)
        on_second = np.clip((gone - first) / np.maximum(second, 1e-9), 0.0, 1.0)
        x_m += on_first * first_x + on_second * second_x
        y_m += on_first * first_y + on_second * second_y
        return x_m, y_m


def choose_detours(
    ends: Ends, length_m: Array, points: Integers, density: Density, region: Region, rng: np.random.Generator
) -> Paths:
    """Return paths of given lengths between given ends, along which the density is met."""
    log_weight: Array | None = None
    via_x, via_y = np.empty(length_m.size), np.empty(length_m.size)
    for begin in range(0, length_m.size, _FITTED_TRIPS):
        part = slice(begin, begin + _FITTED_TRIPS)
        some = Ends(ends.from_x_m[part], ends.from_y_m[part], ends.to_x_m[part], ends.to_y_m[part])
        x_m, y_m = _on_ellipses(some, length_m[part], rng)
        usable = region.contains(x_m, y_m)
        x_m, y_m = region.clamp(x_m, y_m)
        cell = _cells_along(some, x_m, y_m, density)
        if log_weight is None:
            log_weight = _fit_weights(cell, usable, points[part] / points[part].sum(), density)
        pick = choose_columns(_chances(log_weight, cell, usable), rng)
        row = np.arange(pick.size)
        via_x[part], via_y[part] = x_m[row, pick], y_m[row, pick]
    return Paths(ends, via_x, via_y)


def _on_ellipses(ends: Ends, length_m: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw places V with |OV| + |VD| = L; where that is possible, none further from an end than the ends are apart."""
    apart_m = np.maximum(ends.apart_m, 1e-9)
    half = length_m / 2
    height = np.sqrt(np.maximum(half**2 - (apart_m / 2) ** 2, 0.0))
    # |OV| = L/2 + d/2·cos, so |OV|, |VD| ≤ d means |cos| ≤ 2 - L/d; beyond L = 2d it is impossible.
    ratio = length_m / apart_m
    reach = np.where(ratio < 2, np.clip(2 - ratio, 0.0, 1.0), 1.0)
    cosine = rng.uniform(-1.0, 1.0, (length_m.size, _CANDIDATES)) * reach[:, None]
    sine = np.sqrt(1 - cosine**2) * np.where(rng.random(cosine.shape) < 0.5, -1.0, 1.0)
    east, north = (ends.to_x_m - ends.from_x_m) / apart_m, (ends.to_y_m - ends.from_y_m) / apart_m
    along, across = half[:, None] * cosine, height[:, None] * sine
    x_m = (ends.from_x_m + ends.to_x_m)[:, None] / 2 + along * east[:, None] - across * north[:, None]
    y_m = (ends.from_y_m + ends.to_y_m)[:, None] / 2 + along * north[:, None] + across * east[:, None]
    return x_m, y_m


def _cells_along(ends: Ends, x_m: Array, y_m: Array, density: Density) -> Cells:
    """Return the cells of evenly spaced probes along every candidate path (trips × candidates × probes)."""
    size, candidates = x_m.shape
    cells = np.empty((size, candidates, _PROBES), dtype=np.int32)
    for begin in range(0, size, _BLOCK):  # a block at a time: what is worked out on the way is many times as large
        part = slice(begin, min(begin + _BLOCK, size))
        every = Ends(*(np.repeat(values[part], candidates) for values in vars(ends).values()))
        paths = Paths(every, x_m[part].ravel(), y_m[part].ravel())
        path = np.repeat(np.arange(paths.size), _PROBES)
        share = np.tile((np.arange(_PROBES) + 0.5) / _PROBES, paths.size)
        cells[part] = density.grid.locate(*paths.at(share, path)).reshape(-1, candidates, _PROBES)
    return cells


def _chances(log_weight: Array, cell: Cells, usable: Mask) -> Array:
    score = log_weight[cell].sum(axis=2) / 2 + np.where(usable, 0.0, _OUTSIDE)
    chance = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def _fit_weights(cell: Cells, usable: Mask, share: Array, density: Density) -> Array:
    """Return log-weights per cell under which the chosen paths have the density; paths count by their points."""
    floor = _FLOOR / density.grid.size
    log_weight = np.log(density.share + 2 * floor)
    for _ in range(_ROUNDS):
        mass = _chances(log_weight, cell, usable) * (share / _PROBES)[:, None]
        now = np.bincount(cell.ravel(), np.repeat(mass.ravel(), _PROBES), density.grid.size)
        log_weight += _LEARNING * np.clip(np.log((density.share + floor) / (now + floor)), -2.0, 2.0)
    return log_weight


def place_points(paths: Paths, points: Integers, density: Density) -> tuple[Integers, Array, Array]:
    """Place so many points on each path, its ends included; return offsets and places (m).

    Every cell gets a slowness, fitted twice by the ratio of the noisy density to the density of the points so far, so
    that points in a cell match it while every path keeps its number of points.
    """
    first = np.append(0, np.cumsum(points))
    floor = _FLOOR / density.grid.size
    piece = _pieces(paths, density)
    slowness = np.ones(density.grid.size)
    for _ in range(_PACE_ROUNDS):
        x_m, y_m = _place_in_time(paths, points, piece, slowness)
        now = density.grid.count(x_m, y_m) / x_m.size
        slowness *= np.clip((density.share + floor) / (now + floor), 0.5, 2.0)
    x_m, y_m = _place_in_time(paths, points, piece, slowness)
    return first, x_m, y_m


def _pieces(paths: Paths, density: Density) -> Cells:
    """Return the cell in the middle of each piece of every path."""
    cells = np.empty((paths.size, _PIECES), dtype=np.int32)
    for begin in range(0, paths.size, _PACE_BLOCK):
        some = np.arange(begin, min(begin + _PACE_BLOCK, paths.size))
        middle = np.tile((np.arange(_PIECES) + 0.5) / _PIECES, some.size)
        cells[some] = density.grid.locate(*paths.at(middle, np.repeat(some, _PIECES))).reshape(-1, _PIECES)
    return cells


def _place_in_time(paths: Paths, points: Integers, piece: Cells, slowness: Array) -> tuple[Array, Array]:
    """Place points at equal steps of time, time per metre being the slowness of the cell."""
    x_m, y_m = np.empty(int(points.sum())), np.empty(int(points.sum()))
    filled = 0
    for begin in range(0, paths.size, _PACE_BLOCK):
        some = np.arange(begin, min(begin + _PACE_BLOCK, paths.size))
        gone = np.cumsum(slowness[piece[some]], axis=1)
        gone = np.concatenate([np.zeros((some.size, 1)), gone], axis=1) / gone[:, -1:]
        path = np.repeat(np.arange(some.size), points[some])
        rank = np.arange(path.size) - np.repeat(np.cumsum(points[some]) - points[some], points[some])
        time = rank / np.maximum(points[some][path] - 1, 1)
        keys = (gone + 2.0 * np.arange(some.size)[:, None]).ravel()  # one ascending sequence for all paths
        place = np.searchsorted(keys, time + 2.0 * path, side="right") - 1 - path * (_PIECES + 1)
        place = np.clip(place, 0, _PIECES - 1)
        low, high = gone[path, place], gone[path, place + 1]
        share = np.clip((place + (time - low) / np.maximum(high - low, 1e-12)) / _PIECES, 0.0, 1.0)
        part = slice(filled, filled + path.size)
        x_m[part], y_m[part] = paths.at(share, some[path])
        filled += path.size
    return x_m, y_m


def move_inside(
    region: Region, first: np.ndarray, x_m: Array, y_m: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Move points outside a polygon to the last point inside before them; a path that never is inside, at random."""
    inside = region.contains(x_m, y_m)
    if inside.all():
        return x_m, y_m
    x_m, y_m = region.clamp(x_m, y_m)
    inside = region.contains(x_m, y_m)
    owner = np.repeat(np.arange(first.size - 1), np.diff(first))
    last = np.maximum.accumulate(np.where(inside, np.arange(x_m.size), -1))
    usable = (last >= 0) & (owner[np.maximum(last, 0)] == owner)
    x_m, y_m = np.where(usable, x_m[last], np.nan), np.where(usable, y_m[last], np.nan)
    missing = np.flatnonzero(~usable)
    x_m[missing], y_m[missing] = region.sample(missing.size, rng)
    return x_m, y_m


def synthetic_trajectories(first: Integers, time_s: Array, x_m: Array, y_m: Array) -> Trajectories:
    """Return synthetic trips under made-up names."""
    trips = first.size - 1
    people = np.array([f"synthetic-{number}" for number in range(trips)], dtype=np.object_)
    return Trajectories(people=people, first=first, person=np.arange(trips), time_s=time_s, x_m=x_m, y_m=y_m)
