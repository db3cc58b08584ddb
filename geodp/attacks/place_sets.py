"""What reports that name a set of places tell: a rectangle, or several places of which one is true.

Such reports follow no law, so the adversary goes by what is public: the prior within the set, and how far people get
between two reports. Of several places one is true; of a rectangle any place may be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from geodp.attacks.inference import SIDE_OF_WINDOWS, Prior, Windows, best_cells
from geodp.geometry import Array, Region
from geodp.public.place_sets import Candidates, Cloaks, PlaceSets

Mask = npt.NDArray[np.bool_]
_AT_ONCE = 2000


def locate_in_sets(release: PlaceSets, rows: slice, prior: Prior, region: Region) -> tuple[Array, Array]:
    """Return the best guess for each of some reports: the least expected distance under the prior within the set."""
    if isinstance(release, Candidates):
        x, y = release.list_places(rows)
        return choose_candidate(x, y, weigh_candidates(prior, x, y))
    if not isinstance(release, Cloaks):
        return region.clamp(release.x_m[rows], release.y_m[rows])
    guess_x, guess_y = release.x_m[rows].copy(), release.y_m[rows].copy()
    edges = [edge[rows] for edge in (release.west_m, release.south_m, release.east_m, release.north_m)]
    for start in range(0, guess_x.size, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        west, south, east, north = (edge[part] for edge in edges)
        windows = window_of(west, south, east, north)
        x, y = windows.places()
        inside = within(x, y, (west, south, east, north))
        weight = inside * prior.at(x, y)
        lost = ~(weight > 0).any(axis=1)  # a prior that knows of nobody there
        weight[lost] = inside[lost]
        found_x, found_y = windows.pick(best_cells(weight, windows.side))
        guess_x[part], guess_y[part] = np.clip(found_x, west, east), np.clip(found_y, south, north)
    return guess_x, guess_y


def window_of(west: Array, south: Array, east: Array, north: Array) -> Windows:
    """Return the square windows around rectangles."""
    side_m = np.maximum(np.maximum(east - west, north - south), 1.0)
    return Windows((west + east) / 2, (south + north) / 2, side_m / SIDE_OF_WINDOWS, SIDE_OF_WINDOWS)


def within(x: Array, y: Array, edges: tuple[Array, Array, Array, Array]) -> Array:
    """Return 1 for the cells of windows that lie in the rectangle, 0 for others; the nearest where none does.

    Cells are rows of places, rectangles (west, south, east, north) one for each row.
    """
    west, south, east, north = edges
    off_x = np.maximum(np.maximum(west[:, None] - x, x - east[:, None]), 0.0)
    off_y = np.maximum(np.maximum(south[:, None] - y, y - north[:, None]), 0.0)
    off = np.hypot(off_x, off_y)
    return np.asarray(off <= off.min(axis=1, keepdims=True), dtype=np.float64)


def weigh_candidates(prior: Prior, x_m: Array, y_m: Array) -> Array:
    """Return the probability of each of the places of each report, in proportion to the prior."""
    weight = prior.at(x_m, y_m)
    total = weight.sum(axis=1, keepdims=True)
    even = np.full(weight.shape, 1 / weight.shape[1])
    return np.where(total > 0, weight / np.where(total > 0, total, 1.0), even)


def choose_candidate(x_m: Array, y_m: Array, weight: Array) -> tuple[Array, Array]:
    """Return the place with the least expected distance to the true one; places and weights have a row per report."""
    far = np.hypot(x_m[:, :, None] - x_m[:, None, :], y_m[:, :, None] - y_m[:, None, :])
    best = np.einsum("nij,nj->ni", far, weight).argmin(axis=1)
    row = np.arange(len(best))
    return x_m[row, best], y_m[row, best]


def can_follow(before: tuple[Array, Array], after: tuple[Array, Array], most_m: float) -> Mask:
    """Tell which places of one report can be reached from which of the report before: [person, before, after].

    A place of the later report that can be reached from none is made up, if nobody gets further than `most_m`.
    """
    x = before[0][:, :, None] - after[0][:, None, :]
    y = before[1][:, :, None] - after[1][:, None, :]
    return np.asarray(np.hypot(x, y) <= most_m)


def follow_candidates(start: Array, steps: Sequence[Array]) -> Array:
    """Return the probability of each place of each report, given all reports: [person, time, place].

    Parameters
    ----------
    start
        Probabilities of the places of the first report.
    steps
        How likely each step from one report to the next is: [person, before, after] for each time but the last.
    """
    times = len(steps) + 1
    seen = np.empty((len(start), times, start.shape[1]))
    seen[:, 0] = start
    for t in range(1, times):
        seen[:, t] = _scale(np.einsum("ni,nij->nj", seen[:, t - 1], steps[t - 1]))
    later = np.ones_like(start)
    for t in range(times - 2, -1, -1):
        later = _scale(np.einsum("nij,nj->ni", steps[t], later))
        seen[:, t] = _scale(seen[:, t] * later)
    return seen


def find_likeliest_candidates(start: Array, steps: Sequence[Array]) -> npt.NDArray[np.int64]:
    """Return the places of the likeliest path: [person, time]; arguments as of `follow_candidates`."""
    with np.errstate(divide="ignore"):
        score, logs = np.log(start), [np.log(step) for step in steps]
    people, times = len(start), len(steps) + 1
    before = np.zeros((people, times, start.shape[1]), dtype=np.int64)
    for t in range(1, times):
        reached = score[:, :, None] + logs[t - 1]
        before[:, t], score = reached.argmax(axis=1), reached.max(axis=1)
    path = np.empty((people, times), dtype=np.int64)
    path[:, -1] = score.argmax(axis=1)
    for t in range(times - 1, 0, -1):
        path[:, t - 1] = before[np.arange(people), t, path[:, t]]
    return path


def _scale(weight: Array) -> Array:
    total = weight.sum(axis=1, keepdims=True)
    return np.where(total > 0, weight / np.where(total > 0, total, 1.0), 1 / weight.shape[1])
