"""Whose rows are these? Matching published rows, names taken off, to people whose true visits are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.geometry import Array
from geodp.tables.visits.histories import Histories, Integers, Venues
from geodp.tables.visits.released_visits import ReleasedVisits

MOST_PEOPLE = 2000
_BLOCK = 250


@dataclass(frozen=True, eq=False)
class Matching:
    """How well every person looked for was matched."""

    nearer: Integers
    """How many others' true visits look more like the person's published rows than their own do."""
    alike: Integers
    """How many look exactly as like, the person among them."""
    people: int
    """Among how many they were looked for."""

    def shares(self, top: int) -> Array:
        """Return for each person the probability of being among the `top` best guesses (equals are drawn by lot)."""
        return np.asarray(np.clip((top - self.nearer) / self.alike, 0.0, 1.0))

    def share(self, top: int = 1) -> float:
        """Return the share of people who are among the `top` best guesses."""
        return float(self.shares(top).mean())


def matched(histories: Histories, released: ReleasedVisits, venues: Venues, most: int = MOST_PEOPLE) -> Matching:
    """Match the published rows of at most `most` people to all people.

    The adversary knows everyone's true visits and the public clusters. Published numbers per cluster are true ones with
    two-sided exponential noise, so the likeliest person is the one with the least sum of differences |published - true|
    over clusters (over venues where there are no clusters; a centroid counts as the venue nearest to it). Hiding single
    visits hides nobody: the rows of one person stay together and look like that person.
    """
    from scipy.spatial.distance import cdist

    bins = np.arange(venues.size) if released.cluster is None else released.cluster
    people, width = len(histories.people), int(bins.max()) + 1
    venue = _as_venues(released, venues)
    told = _numbers(released.person, bins[venue], people, width)[:most]
    true = _numbers(histories.person, bins[histories.venue], people, width)
    nearer, alike = np.zeros(len(told), dtype=np.int64), np.zeros(len(told), dtype=np.int64)
    for start in range(0, len(told), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(told)))
        apart = cdist(told[rows], true, "cityblock")
        own = apart[np.arange(rows.size), rows][:, None]
        nearer[rows] = np.count_nonzero(apart < own, axis=1)
        alike[rows] = np.count_nonzero(apart == own, axis=1)
    return Matching(nearer, alike, people)


def _as_venues(released: ReleasedVisits, venues: Venues) -> Integers:
    """Return the venue of every published visit; for a place that is none, the nearest."""
    from scipy.spatial import cKDTree

    venue = released.venue.copy()
    nowhere = venue < 0
    if nowhere.any():
        tree = cKDTree(np.column_stack(venues.places_m()))
        venue[nowhere] = tree.query(np.column_stack([released.x_m[nowhere], released.y_m[nowhere]]))[1]
    return venue


def _numbers(person: Integers, bins: Integers, people: int, width: int) -> Array:
    count = np.bincount(person * width + bins, minlength=people * width)
    return count.reshape(people, width).astype(np.float64)
