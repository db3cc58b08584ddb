"""Clusters of venues for PriLocation: from the public list, or from private visits with noise at every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import with_geometric, with_laplace
from geodp.tables.visits.hierarchy import diameter_m
from geodp.tables.visits.histories import Integers

_ROUNDS = 25
_COUNT_SHARE = 0.25
"""Of the budget of one round of private k-means, the part for the counts; the rest goes to the sums."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """A partition of the public venues."""

    label: Integers
    """Cluster of each venue."""
    x_m: Array
    y_m: Array
    """Centres."""
    nearest: Integers
    """The venue of each cluster that is nearest to its centre: it pads short histories (-1: the cluster is empty)."""
    from_centre_m: Array
    """Distance of each venue from the centre of its cluster."""
    diameter_m: Array

    @property
    def size(self) -> int:
        """Number of clusters."""
        return int(self.x_m.size)

    def members(self, cluster: int) -> Integers:
        """Return the venues of a cluster."""
        return np.flatnonzero(self.label == cluster)


def around(x_m: Array, y_m: Array, centre_x_m: Array, centre_y_m: Array) -> Clusters:
    """Give every venue to its nearest centre; centres without a venue are dropped."""
    label = _tree(centre_x_m, centre_y_m).query(np.column_stack([x_m, y_m]))[1]
    used, label = np.unique(label, return_inverse=True)
    label = label.reshape(-1).astype(np.int64)
    centre_x_m, centre_y_m = centre_x_m[used], centre_y_m[used]
    away = np.hypot(x_m - centre_x_m[label], y_m - centre_y_m[label])
    order = np.lexsort((np.arange(label.size), away, label))
    nearest = order[np.searchsorted(label[order], np.arange(used.size))]
    wide = np.array([diameter_m(x_m[label == number], y_m[label == number]) for number in range(used.size)])
    return Clusters(label, centre_x_m, centre_y_m, nearest, away, wide)


def public_clusters(x_m: Array, y_m: Array, number: int, *, seed: int = 0) -> Clusters:
    """Cluster the public list by k-means: no private data, no cost; `seed` is public, too."""
    require_number(number, x_m.size)
    rng = np.random.default_rng(seed)
    centres = _spread(np.column_stack([x_m, y_m]), number, rng)
    for _ in range(_ROUNDS):
        label = _tree(*centres.T).query(np.column_stack([x_m, y_m]))[1]
        count = np.bincount(label, minlength=number)
        total = np.column_stack([np.bincount(label, weights=values, minlength=number) for values in (x_m, y_m)])
        moved = np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], centres)
        if np.allclose(moved, centres, rtol=0, atol=0.01):
            break
        centres = moved
    return around(x_m, y_m, *np.asarray(centres, dtype=np.float64).T)


def noisy_clusters(
    x_m: Array, y_m: Array, visited: Integers, number: int, noise: Noise, *, epsilon: float, rounds: int
) -> Clusters:
    """Cluster private visits by k-means with noise on every count and sum (DPLloyd): ε for one visit in all rounds.

    The book adds noise to the scalar objective and then updates the centres without any: a noisy number determines no
    centre, so its centres are not private. Here each round spends ε/rounds: whole counts with noise 1/e_c, and sums of
    whole metres from the middle, |x| + |y| ≤ 2R, with noise 2R/e_s on either coordinate. Centres start at public
    venues drawn at random.
    """
    require_number(number, x_m.size)
    half = float(np.ceil(max(np.abs(x_m).max(), np.abs(y_m).max(), 1.0)))
    start = np.argsort(noise.uniform(x_m.size), kind="stable")[:number]
    centres = np.column_stack([x_m[start], y_m[start]])
    whole = np.round(np.column_stack([x_m, y_m])[visited])
    for _ in range(rounds):
        label = _tree(*centres.T).query(whole)[1] if visited.size else np.zeros(0, dtype=np.int64)
        count, total = noisy_sums(whole, label, number, noise, epsilon=epsilon / rounds, half=half)
        centres = np.clip(total / np.maximum(1, count)[:, None], -half, half)
    return around(x_m, y_m, *centres.T)


def noisy_sums(
    whole: Array, label: Integers, number: int, noise: Noise, *, epsilon: float, half: float
) -> tuple[Array, Array]:
    """Return the count and the sums of every cluster with their noise: ε for one visit."""
    count = np.bincount(label, minlength=number).astype(np.int64)
    count = with_geometric(count, 1 / (_COUNT_SHARE * epsilon), noise)
    exact = [np.bincount(label, weights=values, minlength=number).astype(np.int64) for values in whole.T]
    wide = 2 * half / ((1 - _COUNT_SHARE) * epsilon)
    total = np.column_stack([with_geometric(values, wide, noise) for values in exact])
    return count.astype(np.float64), total.astype(np.float64)


def literal_clusters(
    x_m: Array, y_m: Array, visited: Integers, number: int, noise: Noise, *, epsilon: float, rounds: int, hs_m: float
) -> Clusters:
    """Cluster private visits as printed (algorithm 2): noise on the objective only. The centres are not private."""
    require_number(number, x_m.size)
    start = np.argsort(noise.uniform(x_m.size), kind="stable")[:number]
    centres = np.column_stack([x_m[start], y_m[start]])
    points = np.column_stack([x_m, y_m])[visited]
    best = np.inf
    for _ in range(rounds if visited.size else 0):
        away, label = _tree(*centres.T).query(points)
        objective = float(with_laplace(np.array([away.sum()]), 2 * rounds * hs_m / epsilon, noise)[0])
        if objective >= best:
            break
        best = objective
        count = np.bincount(label, minlength=number)
        total = np.column_stack([np.bincount(label, weights=values, minlength=number) for values in points.T])
        centres = np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], centres)
    return around(x_m, y_m, *centres.T)


def require_number(number: int, venues: int) -> None:
    """Refuse more clusters than venues."""
    if number > venues:
        raise UsageError(
            f"{number} clusters are more than the {venues} venues of the public list: ask for fewer. "
            "Nothing was released or charged."
        )


def _spread(points: Array, number: int, rng: np.random.Generator) -> Array:
    """Draw starting centres far from one another (k-means++)."""
    chosen = [points[rng.integers(len(points))]]
    square = np.full(len(points), np.inf)
    for _ in range(number - 1):
        square = np.minimum(square, np.sum((points - chosen[-1]) ** 2, axis=1))
        total = float(square.sum())
        place = rng.integers(len(points)) if total == 0 else np.searchsorted(np.cumsum(square), rng.random() * total)
        chosen.append(points[min(int(place), len(points) - 1)])
    return np.array(chosen)


def _tree(x_m: Array, y_m: Array) -> Any:
    from scipy.spatial import cKDTree

    return cKDTree(np.column_stack([x_m, y_m]))
