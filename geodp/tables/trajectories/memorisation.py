"""Whether a synthesiser repeats the trajectories it has seen: nearest real ones, against those of unseen people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.tables.trajectories.table import Integers, Mask, Trajectories

_WAYPOINTS = 16
_MOST_TRIED = 2_000
_MOST_KNOWN = 20_000
_SPLIT_SEED = 160_616  # the halves are the same for every method
_NEAR_SHARE = 0.05
_LEAST_M = 1e-3  # held-out trips that repeat known ones to the millimetre: there is no distance to compare with


@dataclass(frozen=True)
class Memorisation:
    """Distances to the nearest real trajectory, of synthetic and of held-out ones."""

    ratio: float | None
    """Median distance of a synthetic trajectory over that of a held-out one: near or above 1 is no memorising."""
    near_share: float | None
    """Share of the synthetic ones nearer than all but 5 % of the held-out ones: 5 % when nothing is memorised."""


def memorisation(real: Trajectories, synthetic: Trajectories) -> Memorisation:
    """Compare distances to the nearest of one half of the real trajectories: of synthetic ones and of the other half.

    The halves are people, so that nobody's repeated trips stand on both sides; with a single person, trajectories.
    Both groups are drawn down to at most 2,000 trajectories, the half they are compared with to 20,000. The distance
    of two trajectories is the root mean square distance between 16 places spread evenly along each.
    """
    if real.size < 2 or not synthetic.size:
        return Memorisation(None, None)
    rng = np.random.default_rng(_SPLIT_SEED)
    known = _half(real, rng)
    if known.all() or not known.any():
        return Memorisation(None, None)
    shapes = waypoints(real.chosen(_some(np.flatnonzero(known), _MOST_KNOWN, rng)))
    unseen = waypoints(real.chosen(_some(np.flatnonzero(~known), _MOST_TRIED, rng)))
    made = waypoints(synthetic.chosen(_some(np.arange(synthetic.size), _MOST_TRIED, rng)))
    of_unseen, of_made = nearest_m(unseen, shapes), nearest_m(made, shapes)
    usual = float(np.median(of_unseen))
    return Memorisation(
        float(np.median(of_made)) / usual if usual >= _LEAST_M else None,
        float(np.mean(of_made < np.quantile(of_unseen, _NEAR_SHARE))),
    )


def waypoints(trajectories: Trajectories, number: int = _WAYPOINTS) -> Array:
    """Return places spread evenly along each trajectory's path, ends included: x of all, then y of all, a row each."""
    along = np.cumsum(trajectories.steps_m) - trajectories.steps_m
    start = along[trajectories.first[:-1]]
    # One line through all of them: a gap before each keeps the search for a place on its own trajectory.
    gap = np.arange(trajectories.size) * (float(trajectories.lengths_m.max(initial=0.0)) + 1.0)
    at = along - start[trajectories.owner] + gap[trajectories.owner]
    wanted = gap[:, None] + np.linspace(0, 1, number) * trajectories.lengths_m[:, None]
    return np.hstack([np.interp(wanted, at, trajectories.x_m), np.interp(wanted, at, trajectories.y_m)])


def nearest_m(shapes: Array, known: Array) -> Array:
    """Return each shape's distance to the nearest known one (root mean square over the places)."""
    best = np.empty(len(shapes))
    centre = known.mean(axis=0)  # small numbers keep the differences of squares exact to millimetres
    known, shapes = known - centre, shapes - centre
    squares = np.einsum("ij,ij->i", known, known)
    for begin in range(0, len(shapes), 256):
        part = shapes[begin : begin + 256]
        close = np.argmin(squares - 2 * part @ known.T, axis=1)
        best[begin : begin + 256] = np.linalg.norm(part - known[close], axis=1)
    return np.asarray(best / np.sqrt(known.shape[1] / 2), dtype=np.float64)


def _half(real: Trajectories, rng: np.random.Generator) -> Mask:
    """Choose about half of the trajectories: whole people where there are several."""
    here = np.unique(real.person)
    if here.size == 1:
        return np.asarray(rng.permutation(real.size) < real.size // 2)
    order = rng.permutation(here)
    number = np.bincount(real.person, minlength=int(here.max()) + 1)[order]
    until = int(np.argmin(np.abs(np.cumsum(number)[:-1] - real.size / 2))) + 1
    return np.asarray(np.isin(real.person, order[:until]))


def _some(which: npt.NDArray[np.integer], most: int, rng: np.random.Generator) -> Integers:
    chosen = which if which.size <= most else np.sort(rng.choice(which, most, replace=False))
    return np.asarray(chosen, dtype=np.int64)
