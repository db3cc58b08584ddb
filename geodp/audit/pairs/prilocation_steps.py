"""Pairs that audit single steps of PriLocation: metric selection, centres with noise and without, a larger town."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from geodp.curator.venue_clusters import cluster_literally, cluster_venues, draw_from_all, sum_with_noise
from geodp.geometry import Array
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import Noise
from geodp.tables.visits.hierarchy import Hierarchy
from geodp.tables.visits.histories import Histories, Integers

if TYPE_CHECKING:
    from geodp.curator.publications.prilocation import PriLocation


def two_places(mechanism: PriLocation) -> AuditCase:
    """Return the pair of `geoind_em`: the two places of a town that are farthest apart."""
    x_m, y_m = np.array([0.0, 400.0, 0.0, 5000.0]), np.array([0.0, 0.0, 500.0, 0.0])
    rate = mechanism.epsilon_per_m / 2

    def law(place: int) -> Array:
        weight = np.exp(-rate * np.hypot(x_m - x_m[place], y_m - y_m[place]))
        return np.asarray(weight / weight.sum())

    ratio = np.log(law(1)) - np.log(law(2))
    return AuditCase(
        "two places of a town",
        mechanism.epsilon_per_m * math.hypot(400.0, 500.0),
        lambda noise, present, samples: draw_from_all(
            np.arange(samples), np.full(samples, 1 if present else 2), x_m, y_m, rate, noise
        ).astype(np.float64),
        lambda place: ratio[place.astype(np.int64)],
        threshold=float(ratio.max()),
        exact=lambda: (law(1), law(2)),
    )


def noisy_centres(mechanism: PriLocation) -> AuditCase:
    """Return the pair of one round of noisy centres: visits in the far corner of a cluster, or not.

    A user brings as many as the cap allows. One visit under a cap pushes out one in the corner of another cluster.
    """
    half = 1000.0
    claimed = mechanism.budgets()[0] / mechanism.rounds
    epsilon = claimed / mechanism.changed_visits()
    come = mechanism.cap or 1 if mechanism.unit == "user" else 1
    gone = 1 if mechanism.unit == "event" and mechanism.cap is not None else 0
    wide = np.array([4 / epsilon, 2 * half / (0.75 * epsilon), 2 * half / (0.75 * epsilon)])
    shift = np.array([1.0, half, half])

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        label = np.repeat(np.arange(samples), come) if present else np.repeat(np.arange(samples) + samples, gone)
        corner = np.full((label.size, 2), half)
        count, total = sum_with_noise(corner, label, 2 * samples, noise, epsilon=epsilon, half=half)
        return np.column_stack([count, total]).reshape(2, samples, 3).transpose(1, 0, 2).reshape(samples, 6)

    def score(sums: Array) -> Array:
        here, there = sums[:, :3], sums[:, 3:]
        nearer = np.abs(here) - np.abs(here - come * shift) + np.abs(there - gone * shift) - np.abs(there)
        return np.asarray(np.sum(nearer / wide, axis=1))

    return AuditCase("visits in one round of noisy centres", claimed, draw, score, threshold=0.5 * claimed)


def plain_centres(mechanism: PriLocation) -> AuditCase:
    """Return the pair of the printed clustering: two visits, or one more. Their mean is the centre, without noise."""
    x_m, y_m = np.array([0.0, 400.0, 0.0, 5000.0]), np.array([0.0, 0.0, 500.0, 0.0])
    claimed = mechanism.budgets()[0]

    def centre(noise: Noise, visited: tuple[int, ...]) -> float:
        found = cluster_literally(
            x_m, y_m, np.array(visited), 1, noise, epsilon=claimed, rounds=mechanism.rounds, hs_m=5_000.0
        )
        return float(found.x_m[0])

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        visited = (0, 1, 1) if present else (0, 1)
        tried = {centre(noise, visited) for _ in range(min(samples, 50))}  # one cluster: no draw changes its centre
        return np.resize(np.array(sorted(tried)), samples)

    middle = (400.0 * 2 / 3 + 200.0) / 2
    return AuditCase(
        "one visit more in a centre without noise",
        claimed,
        draw,
        lambda x: x - middle,
        threshold=0.0,
        exact=lambda: (np.array([1.0, 0.0]), np.array([0.0, 1.0])),
    )


def larger_town(mechanism: PriLocation) -> AuditCase:
    """Return a pair that is sampled only: a visit more among a dozen, 60 places in six public clusters.

    The score is the log-likelihood ratio of the step that counts visits, plus that of the one that draws places as if
    the visit had taken the place of padding: not the best event, and as every event a valid one.
    """
    x_m, y_m, hierarchy = _sixty_places()
    clusters = cluster_venues(x_m, y_m, 6)
    away = np.where(clusters.label == clusters.label[0], clusters.from_centre_m, -1.0)
    added = int(np.argmax(away))  # the far end of a cluster
    cap = 13 if mechanism.cap is not None else None
    town = mechanism.model_copy(update={"level": None, "personal_levels": {}, "cap": cap})
    others: Integers = np.random.default_rng(3).integers(0, x_m.size, 12)
    more = 13 if town.unit == "user" else 1
    shorter = others[:0] if town.unit == "user" else others
    longer = np.append(shorter, np.full(more, added))
    _, for_weights, for_selection = town.budgets()
    members = clusters.members(int(clusters.label[added]))
    gain = _gain(town, x_m, y_m, members, added, int(clusters.nearest[clusters.label[added]]))

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        profile = longer if present else shorter
        everyone = Histories(
            np.arange(samples).astype(np.object_),
            np.repeat(np.arange(samples), profile.size),
            np.tile(profile, samples),
        )
        released, _ = town.moved(town.cap_visits(everyone), clusters, hierarchy, noise)
        here = np.isin(released.venue, members)
        number = np.bincount(released.person[here], minlength=samples)
        weight = np.bincount(released.person[here], weights=gain[released.venue[here]], minlength=samples)
        return np.column_stack([number, weight])

    def score(outputs: Array) -> Array:
        number, weight = outputs.T
        base = np.count_nonzero(np.isin(shorter, members))
        rate = for_weights / town.changed_visits()
        return np.asarray(rate * (np.abs(number - base) - np.abs(number - base - more)) + weight)

    claimed = for_weights + for_selection
    return AuditCase("a visit more in a larger town", claimed, draw, score, threshold=0.5 * claimed)


def _sixty_places() -> tuple[Array, Array, Hierarchy]:
    rng = np.random.default_rng(1)
    middle = rng.uniform(-4000, 4000, (6, 2))
    places = np.repeat(middle, 10, axis=0) + rng.normal(0, 400, (60, 2))
    x_m, y_m = np.asarray(places[:, 0]), np.asarray(places[:, 1])
    return x_m, y_m, Hierarchy((), {}, x_m, y_m)


def _gain(town: PriLocation, x_m: Array, y_m: Array, members: Integers, added: int, padding: int) -> Array:
    """Return ln P(place | visit) - ln P(place | padding) of one draw, by place (0 outside the cluster)."""
    from geodp.tables.visits.hierarchy import diameter_m

    wide = diameter_m(x_m[members], y_m[members]) if town.variant == "em_local" else diameter_m(x_m, y_m)
    rate = town.budgets()[2] / town.changed_visits() / (2 * wide)
    logs = []
    for place in (added, padding):
        odds = -rate * np.hypot(x_m[members] - x_m[place], y_m[members] - y_m[place])
        logs.append(odds - math.log(float(np.exp(odds).sum())))
    gain = np.zeros(x_m.size)
    gain[members] = logs[0] - logs[1]
    return gain
