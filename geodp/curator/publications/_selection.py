"""PriLocation's two steps on visits: noisy numbers per cluster, and a random place for every visit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.curator.publications._clusters import Clusters
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import choose_in_bags, with_geometric
from geodp.tables.visits.histories import Histories, Integers


@dataclass(frozen=True, eq=False)
class Slots:
    """Visits to publish, before their places are drawn."""

    person: Integers
    venue: Integers
    """True place, or the one that pads."""
    survived: npt.NDArray[np.bool_]


def slots_of(histories: Histories, clusters: Clusters, noise: Noise, *, scale: float) -> Slots:
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


def drawn_in_clusters(
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


def drawn_from_all(
    person: Integers, venue: Integers, x_m: Array, y_m: Array, rate_per_m: float, noise: Noise
) -> Integers:
    """Draw a place for every visit of every person from the whole public list, P ∝ exp(-rate·distance)."""
    laws = (
        (-rate * np.hypot(x_m - x_m[place], y_m - y_m[place]), group)
        for place, rate, group in _alike(venue, np.full(venue.size, rate_per_m))
    )
    return choose_in_bags(laws, person, noise)


def drawn_from_own(
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
