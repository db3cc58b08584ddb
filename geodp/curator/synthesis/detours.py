"""Paths of a given length between given ends: over one place on the way, chosen so that points fall where they should.

A path over V has exactly the length L when V lies on the ellipse around both ends with |OV| + |VD| = L. Of several such
places one is chosen by the noisy density along the path; weights per cell are fitted until all paths together have
that density (iterative proportional fitting, free of charge).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.density import Density
from geodp.curator.synthesis.reference_systems import Integers
from geodp.curator.synthesis.trip_ends import Ends, chosen
from geodp.geometry import Array, Region

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


def over_places(
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
            log_weight = _fitted(cell, usable, points[part] / points[part].sum(), density)
        pick = chosen(_chances(log_weight, cell, usable), rng)
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


def _fitted(cell: Cells, usable: Mask, share: Array, density: Density) -> Array:
    """Return log-weights per cell under which the chosen paths have the density; paths count by their points."""
    floor = _FLOOR / density.grid.size
    log_weight = np.log(density.share + 2 * floor)
    for _ in range(_ROUNDS):
        mass = _chances(log_weight, cell, usable) * (share / _PROBES)[:, None]
        now = np.bincount(cell.ravel(), np.repeat(mass.ravel(), _PROBES), density.grid.size)
        log_weight += _LEARNING * np.clip(np.log((density.share + floor) / (now + floor)), -2.0, 2.0)
    return log_weight
