"""Points along paths: slower, hence denser, where the density says that more points are than paths pass by."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.density import Density
from geodp.curator.synthesis.detours import Paths
from geodp.curator.synthesis.reference_systems import Integers
from geodp.geometry import Array

_PIECES = 24
_ROUNDS = 2
_FLOOR = 0.05
_BLOCK = 5_000


def points_along(paths: Paths, points: Integers, density: Density) -> tuple[Integers, Array, Array]:
    """Place so many points on each path, its ends included; return offsets and places (m).

    Every cell gets a slowness, fitted twice by the ratio of the noisy density to the density of the points so far, so
    that points in a cell match it while every path keeps its number of points.
    """
    first = np.append(0, np.cumsum(points))
    floor = _FLOOR / density.grid.size
    piece = _pieces(paths, density)
    slowness = np.ones(density.grid.size)
    for _ in range(_ROUNDS):
        x_m, y_m = _placed(paths, points, piece, slowness)
        now = density.grid.count(x_m, y_m) / x_m.size
        slowness *= np.clip((density.share + floor) / (now + floor), 0.5, 2.0)
    x_m, y_m = _placed(paths, points, piece, slowness)
    return first, x_m, y_m


def _pieces(paths: Paths, density: Density) -> npt.NDArray[np.int32]:
    """Return the cell in the middle of each piece of every path."""
    cells = np.empty((paths.size, _PIECES), dtype=np.int32)
    for begin in range(0, paths.size, _BLOCK):
        some = np.arange(begin, min(begin + _BLOCK, paths.size))
        middle = np.tile((np.arange(_PIECES) + 0.5) / _PIECES, some.size)
        cells[some] = density.grid.locate(*paths.at(middle, np.repeat(some, _PIECES))).reshape(-1, _PIECES)
    return cells


def _placed(paths: Paths, points: Integers, piece: npt.NDArray[np.int32], slowness: Array) -> tuple[Array, Array]:
    """Place points at equal steps of time, time per metre being the slowness of the cell."""
    x_m, y_m = np.empty(int(points.sum())), np.empty(int(points.sum()))
    filled = 0
    for begin in range(0, paths.size, _BLOCK):
        some = np.arange(begin, min(begin + _BLOCK, paths.size))
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
