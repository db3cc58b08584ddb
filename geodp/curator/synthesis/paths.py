"""Paths of given lengths between given ends, and points along them, so that points fall where the noisy density is.

A path over V has exactly the length L when V lies on the ellipse around both ends with |OV| + |VD| = L. A trip that
detours far passes several places, drawn in from a disc of its extent until its legs add up to its length. Of several
such paths one is chosen by the noisy density along it; weights per cell are fitted until all paths together have that
density (iterative proportional fitting, free of charge). Points are denser where people are slower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.densities import FLOOR, Density
from geodp.curator.synthesis.grids import Integers
from geodp.curator.synthesis.trip_ends import Ends, choose_columns
from geodp.geometry import Array, Region

Cells = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
SEVERAL_LEGS_FROM = 1.25
"""Length over distance from which a trip passes several places on its way."""
LEAST_VIAS, MOST_VIAS = 2, 6
_CANDIDATES = 9
_PROBES = 12
_ROUNDS = 6
_LEARNING = 0.5
_FITTED_TRIPS = 20_000
"""Weights are fitted on so many trips; the cost of more is linear, and nothing is gained."""
_PILOT_TRIPS, _UNSEEN = 5_000, 0.05
_OUTSIDE = -50.0
_TRIES = 4
_BLOCK = 1_000
_NEWTON_ROUNDS = 5
_OPTIONS = 7
_EASY_LEGS = 3.0
_LEG_OF_EXTENT, _LEG_OF_LONG_WAYS = (0.33, 1.0), (0.33, 0.7)
"""Length of a leg over the extent of its path: where a way is twice as long as its extent, and three times or more."""
_EXTENT_SPREAD = 0.05
"""How far (in logarithms) a path's extent may be from the one wanted before another path is preferred."""
_TOO_SHORT = 500.0
_FARTHEST = 3.0


@dataclass(frozen=True, eq=False)
class Paths:
    """Paths of straight legs, a row of corners each, both ends included; paths of fewer legs repeat their last one."""

    x_m: Array
    y_m: Array

    @property
    def size(self) -> int:
        """Number of paths."""
        return len(self.x_m)

    @cached_property
    def reached_m(self) -> Array:
        """Length of every path up to each of its corners."""
        legs = np.hypot(np.diff(self.x_m, axis=1), np.diff(self.y_m, axis=1))
        return np.concatenate([np.zeros((self.size, 1)), np.cumsum(legs, axis=1)], axis=1)

    def at(self, share: Array, path: Integers) -> tuple[Array, Array]:
        """Return the place on a path at a share of its length."""
        reached, corners = self.reached_m, self.x_m.shape[1]
        gone = share * reached[path, -1]
        leg = np.zeros(path.size, dtype=np.int64)
        for corner in range(1, corners - 1):
            leg += gone > reached[path, corner]
        low, high = reached[path, leg], reached[path, leg + 1]
        on_leg = np.clip((gone - low) / np.maximum(high - low, 1e-9), 0.0, 1.0)
        x_m, y_m = self.x_m[path, leg], self.y_m[path, leg]
        x_m += on_leg * (self.x_m[path, leg + 1] - x_m)
        y_m += on_leg * (self.y_m[path, leg + 1] - y_m)
        return x_m, y_m

    def bends(self, path: Integers) -> Array:
        """Return at which shares of its length a path bends, a row each; 1 where there are fewer bends."""
        return np.asarray(self.reached_m[path, 1:-1] / np.maximum(self.reached_m[path, -1:], 1e-9))


@dataclass(frozen=True, eq=False)
class WantedTrips:
    """What paths are to be like."""

    ends: Ends
    length_m: Array
    extent_m: Array
    """Greatest distance between two places of a path."""
    points: Integers

    def select(self, which: slice | Integers) -> WantedTrips:
        """Return some of them."""
        return WantedTrips(self.ends.select(which), self.length_m[which], self.extent_m[which], self.points[which])

    @property
    def several_legs(self) -> Mask:
        """Tell which trips detour so far that they pass several places (and have points enough to show it)."""
        return np.asarray((self.length_m > SEVERAL_LEGS_FROM * self.ends.apart_m) & (self.points >= LEAST_VIAS + 2))


@dataclass(frozen=True, eq=False)
class _ViaCandidates:
    """Some paths for each trip: corners (trips × candidates × corners), and how well each fits apart from density."""

    x_m: Array
    y_m: Array
    score: Array


def choose_paths(wanted: WantedTrips, density: Density, region: Region, rng: np.random.Generator) -> Paths:
    """Return paths of given lengths and extents between given ends, along which the density is met."""
    log_weight: Array | None = None
    size = wanted.points.size
    x_m, y_m = np.empty((size, MOST_VIAS + 2)), np.empty((size, MOST_VIAS + 2))
    for begin in range(0, size, _FITTED_TRIPS):
        some = wanted.select(slice(begin, begin + _FITTED_TRIPS))
        order = np.argsort(some.several_legs, kind="stable")
        straight = int(np.count_nonzero(~some.several_legs))
        bent = _on_ellipses(some.select(order[:straight]), region, rng)
        roaming = _over_several_places(some.select(order[straight:]), density, region, rng)
        cell = np.concatenate([_cells_along(bent, density), _cells_along(roaming, density)])
        score = np.concatenate([bent.score, roaming.score])
        if log_weight is None:
            worth = density.worth(some.points[order])
            log_weight = _fit_weights(cell, score, worth / worth.sum(), density)
        pick = choose_columns(_chances(log_weight, cell, score), rng)
        for place, candidates, chosen in ((slice(0, straight), bent, 3), (slice(straight, None), roaming, None)):
            rows, column = begin + order[place], pick[place]
            for out, values in ((x_m, candidates.x_m), (y_m, candidates.y_m)):
                corners = values[np.arange(column.size), column]
                out[rows, :chosen] = corners
                out[rows, corners.shape[1] :] = corners[:, -1:]
    return Paths(x_m, y_m)


def sharpen_along_lines(wanted: WantedTrips, density: Density, region: Region, rng: np.random.Generator) -> Density:
    """Return the density on finer cells: where lines between the ends alone lead, drawn towards the noisy counts."""
    some, flat = wanted.select(slice(0, _PILOT_TRIPS)), density.flatten()
    order = np.argsort(some.several_legs, kind="stable")
    straight = int(np.count_nonzero(~some.several_legs))
    mass = np.zeros(flat.grid.size)
    for candidates, which in (
        (_on_ellipses(some.select(order[:straight]), region, rng), order[:straight]),
        (_over_several_places(some.select(order[straight:]), flat, region, rng), order[straight:]),
    ):
        cell = _cells_along(candidates, flat)
        share = np.exp(candidates.score) + 1e-30
        share *= (density.worth(some.points[which]) / share.sum(axis=1))[:, None]
        mass += np.bincount(cell.ravel(), np.repeat(share.ravel(), _PROBES), mass.size)
    return density.sharpen(replace(flat, share=mass / mass.sum() + _UNSEEN / mass.size))


def _on_ellipses(wanted: WantedTrips, region: Region, rng: np.random.Generator) -> _ViaCandidates:
    """Draw places V with |OV| + |VD| = L; where that is possible, none further from an end than the ends are apart.

    What falls outside the region is drawn again. Where nothing that was tried is inside (long ways between ends in a
    corner), V is moved inside, and the path is chosen only if there is no other.
    """
    ends, shape = wanted.ends, (wanted.points.size, _CANDIDATES)
    x_m, y_m = np.empty(shape), np.empty(shape)
    outside = np.ones(shape, dtype=np.bool_)
    for _ in range(_TRIES):
        trip, candidate = np.nonzero(outside)
        found_x, found_y = draw_on_ellipse(ends.select(trip), wanted.length_m[trip], rng)
        x_m[trip, candidate], y_m[trip, candidate] = found_x, found_y
        outside[trip, candidate] = ~region.contains(found_x, found_y)
    x_m, y_m = region.clamp(x_m, y_m)
    one = np.ones_like(x_m)
    return _ViaCandidates(
        np.stack([ends.from_x_m[:, None] * one, x_m, ends.to_x_m[:, None] * one], axis=2),
        np.stack([ends.from_y_m[:, None] * one, y_m, ends.to_y_m[:, None] * one], axis=2),
        np.where(outside, _OUTSIDE, 0.0),
    )


def draw_on_ellipse(ends: Ends, length_m: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw a place V per trip with |OV| + |VD| = L."""
    apart_m = np.maximum(ends.apart_m, 1e-9)
    half = length_m / 2
    height = np.sqrt(np.maximum(half**2 - (apart_m / 2) ** 2, 0.0))
    # |OV| = L/2 + d/2·cos, so |OV|, |VD| ≤ d means |cos| ≤ 2 - L/d; beyond L = 2d it is impossible.
    ratio = length_m / apart_m
    reach = np.where(ratio < 2, np.clip(2 - ratio, 0.0, 1.0), 1.0)
    cosine = rng.uniform(-1.0, 1.0, length_m.size) * reach
    sine = np.sqrt(1 - cosine**2) * np.where(rng.random(length_m.size) < 0.5, -1.0, 1.0)
    east, north = (ends.to_x_m - ends.from_x_m) / apart_m, (ends.to_y_m - ends.from_y_m) / apart_m
    along, across = half * cosine, height * sine
    x_m = (ends.from_x_m + ends.to_x_m) / 2 + along * east - across * north
    y_m = (ends.from_y_m + ends.to_y_m) / 2 + along * north + across * east
    return x_m, y_m


def _over_several_places(
    wanted: WantedTrips, density: Density, region: Region, rng: np.random.Generator
) -> _ViaCandidates:
    """Return paths over two to six places, and how far they are from the extent and the length wanted."""
    x_m, y_m, _, short = _spread_legs(wanted, density, region, rng, candidates=_CANDIDATES)
    off = np.log(np.maximum(_extent_of_corners(x_m, y_m), 1.0) / np.maximum(wanted.extent_m, 1.0)[:, None])
    score = -0.5 * (off / _EXTENT_SPREAD) ** 2 - _TOO_SHORT * short
    score = np.where(region.contains(x_m, y_m).all(axis=2), score, score + _OUTSIDE)
    return _ViaCandidates(x_m, y_m, np.maximum(score, 2 * _OUTSIDE))


def draw_over_several_places(
    wanted: WantedTrips, density: Density, region: Region, rng: np.random.Generator, *, candidates: int
) -> tuple[Array, Array, Integers]:
    """Draw so many lists of two to six places for each trip, over which its path has the length; return their number.

    Lists are rows of six places; those beyond the number repeat the trip's end.
    """
    x_m, y_m, vias, _ = _spread_legs(wanted, density, region, rng, candidates=candidates)
    return x_m[:, :, 1:-1], y_m[:, :, 1:-1], vias


def _spread_legs(
    wanted: WantedTrips, density: Density, region: Region, rng: np.random.Generator, *, candidates: int
) -> tuple[Array, Array, Integers, Array]:
    """Draw two to six places, one as far away as the trip extends, and draw the others in until legs have the length.

    All others are moved by the same share towards the two lines over the far place: their path becomes shorter evenly,
    down to those lines, and stays in the region where that is convex. Of the shares there is one with the right length,
    unless even the places themselves are too near for it. Legs are so many that little has to be drawn in.
    """
    shape, ends = (wanted.points.size, candidates), wanted.ends
    legs = wanted.length_m / np.maximum(wanted.extent_m, 1e-9)
    longer = np.clip(legs - 2, 0.0, 1.0)[:, None]
    low, high = (one + longer * (other - one) for one, other in zip(_LEG_OF_EXTENT, _LEG_OF_LONG_WAYS, strict=True))
    vias = np.rint(legs[:, None] / (low + rng.random(shape) * (high - low))).astype(np.int64) - 1
    vias = np.clip(vias, LEAST_VIAS, np.minimum(MOST_VIAS, wanted.points - 2)[:, None])
    anchored = _anchor(wanted, density, region, rng, candidates=candidates)
    via_x, via_y = _draw_places(wanted, anchored, density, region, rng)
    number = np.arange(1, MOST_VIAS + 1)
    turn = 1 + (rng.random(shape) * vias).astype(np.int64)[:, :, None]  # which of the places is the far one
    before = np.minimum(number / turn, 1.0)
    behind = np.clip((number - turn) / (vias[:, :, None] + 1 - turn), 0.0, 1.0)  # fewer places repeat the trip's end
    moving = (number != turn) & (behind < 1)
    x_m, by_x = _spread_out((ends.from_x_m, anchored.x_m, ends.to_x_m), before, behind, np.where(moving, via_x, np.nan))
    y_m, by_y = _spread_out((ends.from_y_m, anchored.y_m, ends.to_y_m), before, behind, np.where(moving, via_y, np.nan))
    west, south, east, north = region.box_m
    most = np.minimum(_room(x_m, by_x, west, east), _room(y_m, by_y, south, north))
    drawn_in, short = _draw_in((x_m, y_m), (by_x, by_y), wanted.length_m, most)
    return np.clip(x_m + drawn_in * by_x, west, east), np.clip(y_m + drawn_in * by_y, south, north), vias, short


@dataclass(frozen=True, eq=False)
class _Anchors:
    """The farthest place of each candidate path, as far from one of its ends as the path is to extend."""

    x_m: Array
    y_m: Array
    centre_x_m: Array
    """Middle between the place and the end that it is far from."""
    centre_y_m: Array


def _anchor(
    wanted: WantedTrips, density: Density, region: Region, rng: np.random.Generator, *, candidates: int
) -> _Anchors:
    """Draw a place at the distance E of a trip's extent from one end, not farther than L - E and E from the other.

    Where L, E and the ends' distance d are a real trip's there is one, since L ≥ 2E - d.
    """
    ends, shape = wanted.ends, (wanted.points.size, candidates)
    swap = rng.random(shape) < 0.5
    begin_x, begin_y, end_x, end_y = (
        values[:, None] for values in (ends.from_x_m, ends.from_y_m, ends.to_x_m, ends.to_y_m)
    )
    one_x, one_y = np.where(swap, end_x, begin_x), np.where(swap, end_y, begin_y)
    other_x, other_y = np.where(swap, begin_x, end_x), np.where(swap, begin_y, end_y)
    apart_m = np.maximum(ends.apart_m, 1e-9)
    extent_m = np.maximum(wanted.extent_m, apart_m)
    left_m = np.maximum(np.minimum(extent_m, wanted.length_m - extent_m), 0.0)
    widest = np.arccos(np.clip((extent_m**2 + apart_m**2 - left_m**2) / (2 * extent_m * apart_m), -1.0, 1.0))
    ahead = np.arctan2(other_y - one_y, other_x - one_x)
    x_m, y_m = _choose_places(
        lambda: _go(one_x, one_y, extent_m[:, None], ahead + rng.uniform(-1, 1, shape) * widest[:, None]),
        density,
        region,
        rng,
    )
    return _Anchors(x_m, y_m, (one_x + x_m) / 2, (one_y + y_m) / 2)


def _go(x_m: Array, y_m: Array, far_m: Array, angle: Array) -> tuple[Array, Array]:
    return np.asarray(x_m + far_m * np.cos(angle)), np.asarray(y_m + far_m * np.sin(angle))


def _choose_places(
    draw: Callable[[], tuple[Array, Array]], density: Density, region: Region, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw places several times, and choose one each by the density there."""
    weight = density.share + FLOOR / density.grid.size
    best_x, best_y = region.clamp(*draw())
    lot = weight[density.grid.locate(best_x, best_y)] / rng.standard_exponential(best_x.shape)
    for _ in range(_OPTIONS - 1):
        x_m, y_m = region.clamp(*draw())
        # The greatest of weights over exponential variables is a draw in proportion to the weights.
        found = weight[density.grid.locate(x_m, y_m)] / rng.standard_exponential(x_m.shape)
        better = found > lot
        best_x[better], best_y[better], lot[better] = x_m[better], y_m[better], found[better]
    return best_x, best_y


def _draw_places(
    wanted: WantedTrips, anchored: _Anchors, density: Density, region: Region, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw places in discs of the trips' extents, between the far place and the end that it is far from."""
    shape = anchored.x_m.shape
    radius = np.maximum(wanted.extent_m, wanted.ends.apart_m)[:, None, None] / 2
    # Half of the paths go to and fro across the disc (long ones must), the others anyhow.
    turn = np.where(rng.random(shape) < 0.5, np.pi, 0.0)[:, :, None] * np.arange(MOST_VIAS)
    spread = np.where(turn[:, :, 1:2] > 0, 0.4, 1.0) * np.pi
    angle = rng.uniform(0, 2 * np.pi, (*shape, 1)) + turn
    # Evenly in the disc; near its rim where legs must be long for six places to make the length.
    legs = wanted.length_m / np.maximum(wanted.extent_m, 1e-9)
    power = (0.5 * np.minimum(1.0, _EASY_LEGS / legs) ** 3)[:, None, None]

    def draw() -> tuple[Array, Array]:
        at = angle + rng.uniform(-1, 1, (*shape, MOST_VIAS)) * spread
        far = radius * rng.random((*shape, MOST_VIAS)) ** power
        return _go(anchored.centre_x_m[:, :, None], anchored.centre_y_m[:, :, None], far, at)

    return _choose_places(draw, density, region, rng)


def _spread_out(along: tuple[Array, Array, Array], before: Array, behind: Array, via: Array) -> tuple[Array, Array]:
    """Return corners on the two lines over the far place (ends included), and the way from each to its own place."""
    begin, far, end = along[0][:, None, None], along[1][:, :, None], along[2][:, None, None]
    base = begin + before * (far - begin) + behind * (end - far)
    nothing = np.zeros((*far.shape[:2], 1))
    corners = np.concatenate([nothing + begin, base, nothing + end], axis=2)
    return corners, np.concatenate([nothing, np.nan_to_num(via - base), nothing], axis=2)


def _room(corner: Array, by: Array, low: float, high: float) -> Array:
    """Return how many times the way from the chord to its place every corner of a path can go inside the box."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(by > 0, (high - corner) / by, np.where(by < 0, (low - corner) / by, np.inf))
    return np.asarray(np.clip(times.min(axis=2), 1.0, _FARTHEST))


def _draw_in(
    corners: tuple[Array, Array], by: tuple[Array, Array], length_m: Array, most: Array
) -> tuple[Array, Array]:
    """Return by which share to move places out from the chord for the wanted length, and how short the longest is.

    The length is a convex function of the share that grows from the chord's on, so Newton's steps from the greatest
    share on approach the solution from above.
    """
    (leg_x, leg_y), (by_x, by_y) = (tuple(np.diff(values, axis=2) for values in pair) for pair in (corners, by))
    share = most[:, :, None]
    short: Array | None = None
    for _ in range(_NEWTON_ROUNDS):
        now_x, now_y = leg_x + share * by_x, leg_y + share * by_y
        leg = np.maximum(np.hypot(now_x, now_y), 1e-9)
        over = leg.sum(axis=2) - length_m[:, None]
        if short is None:
            short = np.log(np.maximum(length_m[:, None] / np.maximum(leg.sum(axis=2), 1e-9), 1.0))
        slope = ((now_x * by_x + now_y * by_y) / leg).sum(axis=2)
        share = np.maximum(share - (np.maximum(over, 0.0) / np.maximum(slope, 1e-9))[:, :, None], 0.0)
    return share, np.zeros(most.shape) if short is None else short


def _extent_of_corners(x_m: Array, y_m: Array) -> Array:
    """Return the greatest distance between two corners of each path."""
    best = np.zeros(x_m.shape[:2])
    corners = x_m.shape[2]
    for one in range(corners):
        for other in range(one + 1, corners):
            best = np.maximum(best, np.hypot(x_m[:, :, one] - x_m[:, :, other], y_m[:, :, one] - y_m[:, :, other]))
    return best


def _cells_along(candidates: _ViaCandidates, density: Density) -> Cells:
    """Return the cells of evenly spaced probes along every candidate path (trips × candidates × probes)."""
    size, number, corners = candidates.x_m.shape
    cells = np.empty((size, number, _PROBES), dtype=np.int32)
    for begin in range(0, size, _BLOCK):  # a block at a time: what is worked out on the way is many times as large
        part = slice(begin, min(begin + _BLOCK, size))
        paths = Paths(candidates.x_m[part].reshape(-1, corners), candidates.y_m[part].reshape(-1, corners))
        path = np.repeat(np.arange(paths.size), _PROBES)
        share = np.tile((np.arange(_PROBES) + 0.5) / _PROBES, paths.size)
        cells[part] = density.grid.locate(*paths.at(share, path)).reshape(-1, number, _PROBES)
    return cells


def _chances(log_weight: Array, cell: Cells, score: Array) -> Array:
    total = log_weight[cell].sum(axis=2) / 2 + score
    chance = np.exp(total - total.max(axis=1, keepdims=True))
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def _fit_weights(cell: Cells, score: Array, share: Array, density: Density) -> Array:
    """Return log-weights per cell under which the chosen paths have the density; paths count by their points."""
    floor = FLOOR / density.grid.size
    log_weight = np.log(density.share + 2 * floor)
    for _ in range(_ROUNDS):
        mass = _chances(log_weight, cell, score) * (share / _PROBES)[:, None]
        now = np.bincount(cell.ravel(), np.repeat(mass.ravel(), _PROBES), density.grid.size)
        log_weight += _LEARNING * np.clip(np.log((density.share + floor) / (now + floor)), -2.0, 2.0)
    return log_weight
