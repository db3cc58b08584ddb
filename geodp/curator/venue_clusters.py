"""Clusters of venues (public ones, or from private visits with noise), and a random place in them for every visit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import choose_in_bags, with_geometric, with_laplace
from geodp.tables.visits.hierarchy import Hierarchy, diameter_m
from geodp.tables.visits.histories import Histories, Integers, Names

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


def cluster_around(x_m: Array, y_m: Array, centre_x_m: Array, centre_y_m: Array) -> Clusters:
    """Give every venue to its nearest centre; centres without a venue are dropped."""
    label = _tree(centre_x_m, centre_y_m).query(np.column_stack([x_m, y_m]))[1]
    used, label = np.unique(label, return_inverse=True)
    return _describe(x_m, y_m, label.reshape(-1).astype(np.int64), centre_x_m[used], centre_y_m[used])


def cluster_by_units(hierarchy: Hierarchy, level: str, strata: Names | None = None) -> Clusters:
    """Make a cluster of every parent of a level, so that the unit of a visit is hidden among all units beside it.

    Who hides the city is moved between cities (book fig. 12.6); the parent of the coarsest level is everything. With
    `strata` a parent is divided by public category, as far as every unit of the level stays in every part.
    """
    parent = hierarchy.parent_of(level)
    label = np.zeros(hierarchy.x_m.size, dtype=np.int64) if parent is None else hierarchy.units[parent]
    if strata is not None:
        label = _divide(label, hierarchy.units[level], strata)
    label = np.unique(label, return_inverse=True)[1].reshape(-1).astype(np.int64)
    count = np.bincount(label)
    centres = [np.bincount(label, weights=values) / count for values in (hierarchy.x_m, hierarchy.y_m)]
    return _describe(hierarchy.x_m, hierarchy.y_m, label, *centres)


def _divide(label: Integers, unit: Integers, strata: Names) -> Integers:
    """Divide clusters by category; categories that some unit lacks stay together, with the smallest other one."""
    kind = np.unique(strata.astype(str), return_inverse=True)[1].reshape(-1)
    parts = np.empty_like(label)
    free = 0
    for number in np.unique(label):
        here = label == number
        units = np.unique(unit[here]).size
        sizes = {int(each): int(np.count_nonzero(here & (kind == each))) for each in np.unique(kind[here])}
        whole = [each for each in sizes if np.unique(unit[here & (kind == each)]).size == units]
        rest = here & ~np.isin(kind, whole)
        if whole and rest.any() and np.unique(unit[rest]).size < units:
            smallest = min(whole, key=lambda each: (sizes[each], each))
            whole.remove(smallest)
            rest |= here & (kind == smallest)
        for part in [*(here & (kind == each) for each in whole), rest]:
            parts[part] = free
            free += 1
    return parts


def _describe(x_m: Array, y_m: Array, label: Integers, centre_x_m: Array, centre_y_m: Array) -> Clusters:
    """Return clusters of these labels around these centres."""
    number = centre_x_m.size
    away = np.hypot(x_m - centre_x_m[label], y_m - centre_y_m[label])
    order = np.lexsort((np.arange(label.size), away, label))
    nearest = order[np.searchsorted(label[order], np.arange(number))]
    wide = np.array([diameter_m(x_m[label == each], y_m[label == each]) for each in range(number)])
    return Clusters(label=label, x_m=centre_x_m, y_m=centre_y_m, nearest=nearest, from_centre_m=away, diameter_m=wide)


def cluster_venues(x_m: Array, y_m: Array, number: int, *, seed: int = 0) -> Clusters:
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
    return cluster_around(x_m, y_m, *np.asarray(centres, dtype=np.float64).T)


def cluster_visits(
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
        count, total = sum_with_noise(whole, label, number, noise, epsilon=epsilon / rounds, half=half)
        centres = np.clip(total / np.maximum(1, count)[:, None], -half, half)
    return cluster_around(x_m, y_m, *centres.T)


def sum_with_noise(
    whole: Array, label: Integers, number: int, noise: Noise, *, epsilon: float, half: float
) -> tuple[Array, Array]:
    """Return the count and the sums of every cluster with their noise: ε for one visit."""
    count = np.bincount(label, minlength=number).astype(np.int64)
    count = with_geometric(count, 1 / (_COUNT_SHARE * epsilon), noise)
    exact = [np.bincount(label, weights=values, minlength=number).astype(np.int64) for values in whole.T]
    wide = 2 * half / ((1 - _COUNT_SHARE) * epsilon)
    total = np.column_stack([with_geometric(values, wide, noise) for values in exact])
    return count.astype(np.float64), total.astype(np.float64)


def cluster_literally(
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
    return cluster_around(x_m, y_m, *centres.T)


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


@dataclass(frozen=True, eq=False)
class Slots:
    """Visits to publish, before their places are drawn."""

    person: Integers
    venue: Integers
    """True place, or the one that pads."""
    survived: npt.NDArray[np.bool_]


def fill_slots(histories: Histories, clusters: Clusters, noise: Noise, *, scale: float) -> Slots:
    """Return as many slots per person and cluster as a noisy count says (book eq. 12.12), exactly.

    Noise goes to all clusters, also those a person never visited. Too many visits: the farthest from the centre go;
    too few: the venue nearest to the centre is appended, again and again. The true number shows nowhere. Counts are
    whole, so the noise is the discrete Laplace of the same scale.
    """
    people = len(histories.people)
    key = histories.person * clusters.size + clusters.label[histories.venue]
    count = np.bincount(key, minlength=people * clusters.size)
    wanted = np.maximum(0, with_geometric(count, scale, noise))
    order = np.lexsort((histories.venue, clusters.from_centre_m[histories.venue], key))
    first = np.cumsum(count) - count
    rank = np.arange(histories.size) - first[key[order]]
    kept = order[rank < wanted[key[order]]]
    padded = np.repeat(np.arange(count.size), np.maximum(wanted - count, 0))
    return Slots(
        np.concatenate([histories.person[kept], padded // clusters.size]),
        np.concatenate([histories.venue[kept], clusters.nearest[padded % clusters.size]]),
        np.concatenate([np.ones(kept.size, dtype=np.bool_), np.zeros(padded.size, dtype=np.bool_)]),
    )


def draw_in_clusters(
    slots: Slots, clusters: Clusters, x_m: Array, y_m: Array, rate_per_m: Array, noise: Noise
) -> Integers:
    """Draw a place for every slot from all of its public cluster, P ∝ exp(-rate·distance).

    Slots of one venue and one rate share their distribution, so each is worked out once.
    """
    members = [clusters.members(number) for number in range(clusters.size)]

    def laws() -> Iterator[tuple[Array, Integers]]:
        for venue, rate, group in _alike(slots.venue, rate_per_m):
            candidates = members[clusters.label[venue]]
            yield -rate * np.hypot(x_m[candidates] - x_m[venue], y_m[candidates] - y_m[venue]), group

    cluster = clusters.label[slots.venue]
    place = choose_in_bags(laws(), slots.person * clusters.size + cluster, noise)
    first = np.cumsum([0, *(found.size for found in members)])
    return np.asarray(np.concatenate([np.empty(0, np.int64), *members])[first[cluster] + place])


def draw_from_all(
    person: Integers, venue: Integers, x_m: Array, y_m: Array, rate_per_m: float, noise: Noise
) -> Integers:
    """Draw a place for every visit of every person from the whole public list, P ∝ exp(-rate·distance)."""
    laws = (
        (-rate * np.hypot(x_m - x_m[place], y_m - y_m[place]), group)
        for place, rate, group in _alike(venue, np.full(venue.size, rate_per_m))
    )
    return choose_in_bags(laws, person, noise)


def draw_from_own(
    slots: Slots, clusters: Clusters, x_m: Array, y_m: Array, rate_per_m: Array, noise: Noise
) -> Integers:
    """Draw from the person's own places in the cluster, as the book's text says: the support itself tells them."""
    chosen = np.empty(slots.venue.size, dtype=np.int64)
    key = slots.person * clusters.size + clusters.label[slots.venue]
    for _, _, group in _alike(key, np.zeros(key.size)):
        own = np.unique(slots.venue[group])
        here = slots.venue[group]
        away = np.hypot(x_m[own] - x_m[here][:, None], y_m[own] - y_m[here][:, None])
        chosen[group] = own[noise.choose(-rate_per_m[group][:, None] * away)]
    return chosen


def _alike(venue: Integers, rate: Array) -> Iterator[tuple[int, float, Integers]]:
    """Yield groups of slots with the same venue and rate."""
    order = np.lexsort((rate, venue))
    changes = (np.diff(venue[order]) != 0) | (np.diff(rate[order]) != 0)
    for group in np.split(order, np.flatnonzero(changes) + 1) if order.size else []:
        yield int(venue[group[0]]), float(rate[group[0]]), group
