"""A town of six places in two clusters: PriLocation's exact law on it, and the pairs of histories to audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from geodp.audit.pairs import chosen_pairs
from geodp.audit.pairs.prilocation_steps import larger_town, noisy_centres, plain_centres, two_places
from geodp.audit.pairs.visits import followed_releases
from geodp.curator.publications.prilocation import PriLocation
from geodp.curator.venue_clusters import Clusters, Slots, cluster_around
from geodp.geometry import Array
from geodp.privacy.audit_case import AnyCase, AuditCase
from geodp.privacy.noise import Noise
from geodp.tables.visits.hierarchy import Hierarchy
from geodp.tables.visits.histories import Histories, Integers

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
    """Return all histories of at most so many visits in the first town, whatever their order."""
    return [profile for size in range(most + 1) for profile in combinations_with_replacement(range(PLACES), size)]


def exact_law(mechanism: PriLocation, profile: Profile, town: int = 0) -> Array:
    """Return the exact probability of every multiset of at most `MOST` places of a town (the rest as one).

    Numbers: n = max(0, visits + G) with G discrete Laplace. Given n, the places are n independent draws, one per slot;
    the law of their counts is a product of polynomials, multiplied out slot by slot. The towns are independent and
    alike, so the second one is worked out as the first.
    """
    clusters, weights = toy_town()[1], selection_weights(mechanism)
    ratio = math.exp(-mechanism.budgets()[1] / mechanism.changed_visits())
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


def prilocation_cases(mechanism: PriLocation) -> list[AuditCase]:
    """Return the pairs to audit for a mechanism as it is set."""
    cap = None if mechanism.cap is None else min(mechanism.cap, 3 if mechanism.unit == "user" else 2)
    town = mechanism.model_copy(update={"level": "street", "personal_levels": {}, "level_shares": {}, "cap": cap})
    if mechanism.variant == "geoind_em":
        return [two_places(town)]
    _, for_weights, for_selection = town.budgets()
    pairs: list[tuple[str, Profile, Profile]]
    if town.unit == "user":
        pairs = [("a person with as many visits as the cap", (), (1,) * (town.cap or 1))]
    else:
        free = town.model_copy(update={"cap": None})
        pairs = [("one visit more", *worst_visit(free, 1)[1:]), ("one visit more, far out", (2,), (1, 2))]
    if town.unit == "event" and town.cap is not None:
        pairs.append(("one visit more, which the cap makes push out another", *worst_visit(town, town.cap)[1:]))
    cases = [_pair(name, town, longer, shorter, for_weights + for_selection) for name, shorter, longer in pairs]
    if mechanism.variant != "literal":
        cases.append(larger_town(mechanism))
    centres = {"dplloyd": [noisy_centres], "literal": [plain_centres]}.get(mechanism.clustering, [])
    return [*cases, *(case(town) for case in centres)]


def _pair(name: str, mechanism: PriLocation, longer: Profile, shorter: Profile, claimed: float) -> AuditCase:
    """Audit two histories: the score of an output is its log-likelihood ratio, added up over the towns.

    The event is named beforehand, from the exact laws: the one of which 100,000 samples can tell the most. Where it
    speaks for the shorter history, the two change places.
    """
    laws = [(exact_law(mechanism, longer, town), exact_law(mechanism, shorter, town)) for town in (0, 1)]
    (for_longer, _), (for_shorter, _) = _best_event(*_jointly(laws)), _best_event(*_jointly(laws)[::-1])
    if for_shorter > for_longer:
        longer, shorter, laws = shorter, longer, [(without, with_) for with_, without in laws]
    least = 1e-300  # outputs that one input alone can give are worth more than any other
    ratios = [
        np.clip(np.log(np.maximum(with_, least)) - np.log(np.maximum(without, least)), -50, 50)
        for with_, without in laws
    ]
    lookups = [_by_counts(ratio) for ratio in ratios]

    def score(counts: Array) -> Array:
        total = np.zeros(len(counts))
        for town, lookup in enumerate(lookups):
            here = counts[:, PLACES * town : PLACES * (town + 1)]
            many = here.sum(axis=1) > MOST
            first, second, third = np.minimum(here, MOST).astype(np.int64).T
            total += np.where(many, lookup[MOST, MOST, MOST], lookup[first, second, third])
        return total

    with_, without = _jointly(laws)
    threshold = _best_event(with_, without)[1]
    return AuditCase(
        name, claimed, _drawing(mechanism, longer, shorter), score, threshold, exact=lambda: (with_, without)
    )


def _jointly(laws: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the two laws of the outputs of both towns together."""
    with_, without = (np.outer(laws[0][side], laws[1][side]).reshape(-1) for side in (0, 1))
    return with_, without


def _best_event(with_: Array, without: Array, samples: int = 100_000, deviations: float = 3.0) -> tuple[float, float]:
    """Return the log-ratio that so many samples can be expected to certify, and the threshold of the event.

    A rare event has a larger ratio and a wider interval: the best one balances both.
    """
    ratio = np.clip(np.log(np.maximum(with_, 1e-300)) - np.log(np.maximum(without, 1e-300)), -50, 50)
    order = np.argsort(-ratio)
    hits, false = np.cumsum(with_[order]), np.cumsum(without[order])
    least = np.maximum(hits - deviations * np.sqrt(hits / samples), 1e-300)
    certified = np.log(least) - np.log(false + deviations * np.sqrt(false / samples) + 1 / samples)
    best = int(np.argmax(certified))
    return float(certified[best]), float(ratio[order[best]]) - 1e-9  # sums of logarithms differ in the last digits


def _by_counts(ratio: Array) -> Array:
    """Return the log-ratio of every output by its counts; more places than `MOST` share the last one."""
    lookup = np.full((MOST + 1, MOST + 1, MOST + 1), ratio[-1])
    vectors = [vector for n in range(MOST + 1) for vector in count_vectors(n)]
    for value, vector in zip(ratio, vectors, strict=False):
        lookup[vector] = value
    return lookup


def _drawing(mechanism: PriLocation, longer: Profile, shorter: Profile) -> Callable[[Noise, bool, int], Array]:
    """Draw the release of many people with the same history: each is a trial of its own."""

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        hierarchy, clusters = toy_town()
        profile = longer if present else shorter
        person = np.repeat(np.arange(samples), len(profile))
        venue: Integers = np.tile(np.array(profile, dtype=np.int64), samples)
        everyone = Histories(np.arange(samples).astype(np.object_), person, venue)
        released, _ = mechanism.moved(mechanism.cap_visits(everyone), clusters, hierarchy, noise)
        counts = np.bincount(released.person * 6 + released.venue, minlength=6 * samples).reshape(samples, 6)
        return counts.astype(np.float64)

    return draw


@chosen_pairs.of(PriLocation)
def pairs_of_prilocation(publication: PriLocation) -> list[AnyCase]:
    """Return pairs to sample, and whole releases to follow."""
    return [*prilocation_cases(publication), *followed_releases(publication)]
