"""Points along paths: as many as each trip has, denser where people are slower, and one wherever a path bends."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.densities import FLOOR, Density
from geodp.curator.synthesis.grids import Integers
from geodp.geometry import Array, Region
from geodp.tables.trajectories.table import Trajectories

Cells = npt.NDArray[np.int32]
_PIECES = 24
_PACE_ROUNDS = 2
_PACE_BLOCK = 5_000


class TravelPaths(Protocol):
    """Lines along which trips go."""

    @property
    def size(self) -> int:
        """Number of lines."""
        ...

    def at(self, share: Array, path: Integers) -> tuple[Array, Array]:
        """Return the place on a line at a share of its length."""
        ...

    def bends(self, path: Integers) -> Array:
        """Return at which shares of its length a line bends and needs a point, a row each; 1 for none."""
        ...


def place_points(paths: TravelPaths, points: Integers, density: Density) -> tuple[Integers, Array, Array]:
    """Place so many points on each path, its ends included; return offsets and places (m).

    Every cell gets a slowness, fitted twice by the ratio of the noisy density to the density of the points so far, so
    that points in a cell match it while every path keeps its number of points.
    """
    first = np.append(0, np.cumsum(points))
    floor = FLOOR / density.grid.size
    piece = _pieces(paths, density)
    slowness = np.ones(density.grid.size)
    worth = np.repeat(density.worth(points) / points, points)
    for _ in range(_PACE_ROUNDS):
        x_m, y_m = _place_in_time(paths, points, piece, slowness)
        now = np.bincount(density.grid.locate(x_m, y_m), worth, density.grid.size) / worth.sum()
        slowness *= np.clip((density.share + floor) / (now + floor), 0.5, 2.0)
    x_m, y_m = _place_in_time(paths, points, piece, slowness)
    return first, x_m, y_m


def _pieces(paths: TravelPaths, density: Density) -> Cells:
    """Return the cell in the middle of each piece of every path."""
    cells = np.empty((paths.size, _PIECES), dtype=np.int32)
    for begin in range(0, paths.size, _PACE_BLOCK):
        some = np.arange(begin, min(begin + _PACE_BLOCK, paths.size))
        middle = np.tile((np.arange(_PIECES) + 0.5) / _PIECES, some.size)
        cells[some] = density.grid.locate(*paths.at(middle, np.repeat(some, _PIECES))).reshape(-1, _PIECES)
    return cells


def _place_in_time(paths: TravelPaths, points: Integers, piece: Cells, slowness: Array) -> tuple[Array, Array]:
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
        share = _meet_bends(share, path, points[some], paths.bends(some))
        part = slice(filled, filled + path.size)
        x_m[part], y_m[part] = paths.at(share, some[path])
        filled += path.size
    return x_m, y_m


def _meet_bends(share: Array, path: Integers, points: Integers, bends: Array) -> Array:
    """Move the points nearest to where paths bend there, so that no corner is cut and lengths are kept."""
    if not bends.shape[1]:
        return share
    begin = np.cumsum(points) - points
    keys = share + 2.0 * path
    usable = (bends > 0) & (bends < 1)
    number = np.arange(points.size)[:, None]
    after = np.searchsorted(keys, (bends + 2.0 * number).ravel()).reshape(bends.shape)
    after = np.clip(after, begin[:, None] + 1, (begin + points - 1)[:, None])
    nearer = np.where(bends - share[after - 1] < share[np.minimum(after, share.size - 1)] - bends, after - 1, after)
    # One point for each bend: the k-th bend leaves k points before it, and as many behind as there are bends to come.
    rank = np.cumsum(usable, axis=1)
    to_come = usable.sum(axis=1, keepdims=True) - rank
    low, high = begin[:, None] + rank, (begin + points - 2)[:, None] - to_come
    chosen = np.clip(nearer, low, np.maximum(high, low))
    for bend in range(1, bends.shape[1]):
        chosen[:, bend] = np.maximum(chosen[:, bend], chosen[:, bend - 1] + 1)
    usable &= (chosen <= high) & (points[:, None] > 2)
    moved = keys.copy()
    moved[chosen[usable]] = (bends + 2.0 * number)[usable]
    return np.asarray(np.clip(np.sort(moved) - 2.0 * path, 0.0, 1.0))


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
