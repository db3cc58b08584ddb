"""A town of six places in two clusters: PriLocation's exact law on it, and the pairs of histories to audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from geodp.curator.publications._clusters import Clusters, around, noisy_sums
from geodp.curator.publications._selection import Slots, drawn_from_all
from geodp.geometry import Array
from geodp.privacy.audit.exact import exact_epsilon
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import Noise
from geodp.visits.hierarchy import Hierarchy
from geodp.visits.histories import Histories, Integers

if TYPE_CHECKING:
    from geodp.curator.publications.prilocation import PriLocation

PLACES = 3
"""Places of the first cluster; what happens in the second is the same for both inputs and cancels."""
MOST = 10
"""Outputs with more places than this are taken together."""
Profile = tuple[int, ...]


def toy_town() -> tuple[Hierarchy, Clusters]:
    """Return two towns of three places each (metres), one cluster per town."""
    x_m = np.array([0.0, 400.0, 0.0, 5000.0, 5400.0, 5000.0])
    y_m = np.array([0.0, 0.0, 500.0, 0.0, 0.0, 500.0])
    town, street = np.array([0, 0, 0, 1, 1, 1]), np.arange(6)
    hierarchy = Hierarchy(("town", "street"), {"town": town, "street": street}, x_m, y_m)
    return hierarchy, around(x_m, y_m, np.array([60.0, 5060.0]), np.array([80.0, 80.0]))


def toy_profiles(most: int = 3) -> list[Profile]:
    """Return all histories of at most so many visits in the first town."""
    return [profile for size in range(most + 1) for profile in combinations_with_replacement(range(PLACES), size)]


def exact_law(mechanism: PriLocation, profile: Profile) -> Array:
    """Return the exact probability of every multiset of at most `MOST` places of the first town (the rest as one).

    Numbers: n = max(0, visits + G) with G discrete Laplace. Given n, the places are n independent draws, one per slot;
    the law of their counts is a product of polynomials, multiplied out slot by slot.
    """
    hierarchy, clusters = toy_town()
    crowd = mechanism.cap if mechanism.unit == "user" else 1
    ratio = math.exp(-mechanism.budgets()[1] / crowd)
    order = sorted(profile, key=lambda place: (clusters.from_centre_m[place], place))
    numbers = number_law(len(order), ratio)
    parts = []
    for n in range(MOST + 1):
        slots = [*order[:n], *[int(clusters.nearest[0])] * (n - len(order))]
        parts.append(numbers[n] * counts_law(selection_rows(mechanism, slots, hierarchy, clusters), n))
    return np.concatenate([*parts, [numbers[-1]]])


def number_law(visits: int, ratio: float) -> Array:
    """Return P(n) for n = 0 … MOST of max(0, visits + G), and last P(n > MOST)."""
    inside = [(1 - ratio) / (1 + ratio) * ratio ** abs(n - visits) for n in range(1, MOST + 1)]
    return np.array([ratio**visits / (1 + ratio), *inside, ratio ** (MOST + 1 - visits) / (1 + ratio)])


def selection_rows(mechanism: PriLocation, slots: Sequence[int], hierarchy: Hierarchy, clusters: Clusters) -> Array:
    """Return, per slot, the probability of each place of the first town."""
    venue = np.array(slots, dtype=np.int64)
    person = np.zeros(venue.size, dtype=np.int64)
    alone = Histories(np.array(["someone"], dtype=np.object_), person, venue)
    rate = mechanism.rates_per_m(Slots(person, venue, np.ones(venue.size, bool)), alone, clusters, hierarchy)
    x_m, y_m = hierarchy.x_m[:PLACES], hierarchy.y_m[:PLACES]
    away = np.hypot(x_m - hierarchy.x_m[venue][:, None], y_m - hierarchy.y_m[venue][:, None])
    weight = np.exp(-rate[:, None] * away)
    if mechanism.variant == "literal":
        weight[:, ~np.isin(np.arange(PLACES), venue)] = 0.0
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


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


def worst_visit(mechanism: PriLocation, most: int = 3) -> tuple[float, Profile, Profile]:
    """Return the largest exact epsilon of one visit more over all small histories, with the two histories."""
    found: tuple[float, Profile, Profile] = (0.0, (), (0,))
    for profile in toy_profiles(most):
        for place in range(PLACES):
            longer = (*profile, place)
            spent = exact_epsilon(exact_law(mechanism, longer), exact_law(mechanism, profile))
            found = max(found, (spent, profile, longer), key=lambda pair: pair[0])
    return found


def prilocation_cases(mechanism: PriLocation) -> list[AuditCase]:
    """Return the pairs to audit for a mechanism as it is set."""
    town = mechanism.model_copy(update={"level": "street", "personal_levels": {}, "cap": min(mechanism.cap, 3)})
    if mechanism.variant == "geoind_em":
        return [_one_place(town)]
    _, for_weights, for_selection = town.budgets()
    pairs: list[tuple[str, Profile, Profile]]
    if town.unit == "user":
        pairs = [("a person with as many visits as the cap", (), (1,) * town.cap)]
    else:
        pairs = [("one visit more", *worst_visit(town, 2)[1:]), ("one visit more, far out", (2, 2), (1, 2, 2))]
    cases = [_pair(name, town, longer, shorter, for_weights + for_selection) for name, shorter, longer in pairs]
    return [*cases, *([_one_point(mechanism)] if mechanism.clustering == "dplloyd" else [])]


def _pair(name: str, mechanism: PriLocation, longer: Profile, shorter: Profile, claimed: float) -> AuditCase:
    with_, without = exact_law(mechanism, longer), exact_law(mechanism, shorter)
    least = 1e-300  # outputs that one input alone can give are worth more than any other
    ratio = np.clip(np.log(np.maximum(with_, least)) - np.log(np.maximum(without, least)), -50, 50)
    vectors = [vector for n in range(MOST + 1) for vector in count_vectors(n)]
    lookup = np.full((MOST + 1, MOST + 1, MOST + 1), ratio[-1])
    for value, vector in zip(ratio, vectors, strict=False):
        lookup[vector] = value

    def score(counts: Array) -> Array:
        many = counts.sum(axis=1) > MOST
        first, second, third = np.minimum(counts, MOST).astype(np.int64).T
        return np.asarray(np.where(many, ratio[-1], lookup[first, second, third]))

    threshold = float(np.quantile(ratio, 0.9))
    return AuditCase(
        name, claimed, _drawing(mechanism, longer, shorter), score, threshold, exact=lambda: (with_, without)
    )


def _drawing(mechanism: PriLocation, longer: Profile, shorter: Profile) -> Callable[[Noise, bool, int], Array]:
    """Draw the release of many people with the same history: each is a trial of its own."""

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        hierarchy, clusters = toy_town()
        profile = longer if present else shorter
        person = np.repeat(np.arange(samples), len(profile))
        venue: Integers = np.tile(np.array(profile, dtype=np.int64), samples)
        people = np.arange(samples).astype(np.object_)
        released, _ = mechanism.moved(Histories(people, person, venue), clusters, hierarchy, noise)
        counts = np.bincount(released.person * 6 + released.venue, minlength=6 * samples).reshape(samples, 6)
        return counts[:, :PLACES].astype(np.float64)

    return draw


def _one_place(mechanism: PriLocation) -> AuditCase:
    """Return the pair of `geoind_em`: the two places of a town that are farthest apart."""
    hierarchy, _ = toy_town()
    x_m, y_m = hierarchy.x_m, hierarchy.y_m
    rate = mechanism.epsilon_per_m / 2

    def law(place: int) -> Array:
        weight = np.exp(-rate * np.hypot(x_m - x_m[place], y_m - y_m[place]))
        return np.asarray(weight / weight.sum())

    ratio = np.log(law(1)) - np.log(law(2))
    return AuditCase(
        "two places of a town",
        mechanism.epsilon_per_m * math.hypot(400.0, 500.0),
        lambda noise, present, samples: drawn_from_all(
            np.full(samples, 1 if present else 2), x_m, y_m, rate, noise
        ).astype(np.float64),
        lambda place: ratio[place.astype(np.int64)],
        threshold=float(ratio.max()),
        exact=lambda: (law(1), law(2)),
    )


def _one_point(mechanism: PriLocation) -> AuditCase:
    """Return the pair of one round of noisy centres: a visit in the far corner, or none."""
    half = 1000.0
    epsilon = mechanism.budgets()[0] / mechanism.rounds
    wide = np.array([4 / epsilon, 2 * half / (0.75 * epsilon), 2 * half / (0.75 * epsilon)])
    shift = np.array([1.0, half, half])

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        label = np.arange(samples if present else 0)
        count, total = noisy_sums(np.full((label.size, 2), half), label, samples, noise, epsilon=epsilon, half=half)
        return np.column_stack([count, total])

    def score(sums: Array) -> Array:
        return np.asarray(np.sum((np.abs(sums) - np.abs(sums - shift)) / wide, axis=1))

    return AuditCase("a visit in one round of noisy centres", epsilon, draw, score, threshold=0.5 * epsilon)
