"""A town of six places in two clusters, and PriLocation's exact law on it: the code is compared with its formula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from geodp.curator.publications.prilocation import PriLocation
from geodp.curator.venue_clusters import Clusters, Slots, cluster_around
from geodp.geometry import Array
from geodp.tables.visits.hierarchy import Hierarchy
from geodp.tables.visits.histories import Histories

PLACES = 3
"""Places of each of the two towns: 0, 1, 2 and 3, 4, 5."""
MOST = 10
"""Outputs with more places than this are taken together."""
Profile = tuple[int, ...]
"""Places of one person's visits, in the order of the file."""


@cache
def toy_town() -> tuple[Hierarchy, Clusters]:
    """Return two towns of three places each (metres), one cluster per town."""
    x_m = np.array([0.0, 400.0, 0.0, 5000.0, 5400.0, 5000.0])
    y_m = np.array([0.0, 0.0, 500.0, 0.0, 0.0, 500.0])
    town, street = np.array([0, 0, 0, 1, 1, 1]), np.arange(6)
    hierarchy = Hierarchy(("town", "street"), {"town": town, "street": street}, x_m, y_m)
    return hierarchy, cluster_around(x_m, y_m, np.array([60.0, 5060.0]), np.array([80.0, 80.0]))


def toy_profiles(most: int = 3) -> list[Profile]:
    """Return all histories up to a maximum number of visits in the first town, whatever their order."""
    return [profile for size in range(most + 1) for profile in combinations_with_replacement(range(PLACES), size)]


def exact_law(mechanism: PriLocation, profile: Profile, town: int = 0) -> Array:
    """Return the exact probability of every multiset of at most `MOST` places of a town (the rest as one).

    Numbers: n = max(0, visits + G) with G discrete Laplace. Given n, the places are n independent draws, one per slot;
    the law of their counts is a product of polynomials, multiplied out slot by slot. The towns are independent and
    alike, so the second one is worked out as the first.
    """
    clusters, weights = toy_town()[1], selection_weights(mechanism)
    ratio = math.exp(-mechanism.budgets()[1] / mechanism.count_changed_visits())
    here = [place - PLACES * town for place in kept_visits(mechanism, profile) if place // PLACES == town]
    order = sorted(here, key=lambda place: (clusters.from_centre_m[place], place))
    numbers = number_law(len(order), ratio)
    parts = []
    for n in range(MOST + 1):
        slots = [*order[:n], *[int(clusters.nearest[0])] * (n - len(order))]
        parts.append(numbers[n] * counts_law(selection_rows(mechanism, slots, weights), n))
    return np.concatenate([*parts, [numbers[-1]]])


def kept_visits(mechanism: PriLocation, profile: Profile) -> Profile:
    """Return the visits that the mechanism's cap leaves, by the code that applies it."""
    venue = np.array(profile, dtype=np.int64)
    alone = Histories(np.array(["someone"], dtype=np.object_), np.zeros(venue.size, dtype=np.int64), venue)
    return tuple(mechanism.cap_visits(alone).venue.tolist())


def number_law(visits: int, ratio: float) -> Array:
    """Return P(n) for n = 0 … MOST of max(0, visits + G), and last P(n > MOST)."""
    inside = [(1 - ratio) / (1 + ratio) * ratio ** abs(n - visits) for n in range(1, MOST + 1)]
    return np.array([ratio**visits / (1 + ratio), *inside, ratio ** (MOST + 1 - visits) / (1 + ratio)])


def selection_weights(mechanism: PriLocation) -> Array:
    """Return, per true place of a town, the unnormalised probability of each place of it."""
    hierarchy, clusters = toy_town()
    venue = np.arange(PLACES)
    person = np.zeros(PLACES, dtype=np.int64)
    alone = Histories(np.array(["someone"], dtype=np.object_), person, venue)
    rate = mechanism.rates_per_m(Slots(person, venue, np.ones(PLACES, bool)), alone, clusters, hierarchy)
    x_m, y_m = hierarchy.x_m[:PLACES], hierarchy.y_m[:PLACES]
    away = np.hypot(x_m - x_m[:, None], y_m - y_m[:, None])
    return np.asarray(np.exp(-rate[:, None] * away))


def selection_rows(mechanism: PriLocation, slots: Sequence[int], weights: Array) -> Array:
    """Return, per slot, the probability of each place of the town."""
    rows = weights[np.array(slots, dtype=np.int64)]
    if mechanism.variant == "literal":
        rows = np.where(np.isin(np.arange(PLACES), slots), rows, 0.0)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def counts_law(rows: Array, n: int) -> Array:
    """Return the probability of every way to split n places among the three, in the order of `count_vectors`."""
    table = np.zeros((n + 1, n + 1))
    table[0, 0] = 1.0
    for row in rows:
        grown = row[2] * table
        grown[1:, :] += row[0] * table[:-1, :]
        grown[:, 1:] += row[1] * table[:, :-1]
        table = grown
    return np.array([table[first, second] for first, second, _ in count_vectors(n)])


def count_vectors(n: int) -> list[tuple[int, int, int]]:
    """Return all ways to split n places among the three of the town."""
    return [(first, second, n - first - second) for first in range(n + 1) for second in range(n + 1 - first)]


def spent_on(mechanism: PriLocation, longer: Profile, shorter: Profile) -> float:
    """Return the exact epsilon between the releases of two histories, both towns together.

    The towns are independent, so the largest log-ratio of the pair is the sum of the largest ones of either town.
    """
    both = [(exact_law(mechanism, longer, town), exact_law(mechanism, shorter, town)) for town in (0, 1)]
    if any(((with_ > 0) != (without > 0)).any() for with_, without in both):
        return math.inf
    logs = [np.log(with_[with_ > 0]) - np.log(without[without > 0]) for with_, without in both]
    return float(max(sum(ratio.max() for ratio in logs), sum((-ratio).max() for ratio in logs)))


def worst_visit(mechanism: PriLocation, most: int = 3) -> tuple[float, Profile, Profile]:
    """Return the largest exact epsilon of one visit more over all small histories, with the two histories.

    The visit comes first in the file: under a cap that binds it pushes the last one out, in either town.
    """
    found: tuple[float, Profile, Profile] = (0.0, (), (0,))
    binding = mechanism.cap is not None and mechanism.cap <= most
    histories = toy_profiles(most)
    if binding:  # what is pushed out may be in the other town
        histories += [(*profile[:-1], PLACES + last) for profile in histories if profile for last in range(PLACES)]
    for profile in histories:
        for place in range(PLACES):
            longer = (place, *profile)
            found = max(found, (spent_on(mechanism, longer, profile), profile, longer), key=lambda pair: pair[0])
    return found
