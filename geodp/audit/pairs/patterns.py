"""Worlds of visits in which one person, with all she did, comes and goes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.curator.publications.location_patterns import LocationPatterns
from geodp.privacy.audit_case import LARGE_EPSILON, TranscriptCase
from geodp.privacy.noise import Noise
from geodp.tables.visits.histories import Histories, Integers, Venues

_CANARY = "canary"
_SIDE = 9
_LOW_BARS = {"divide_above": 1.0, "threshold": 0.5}
"""So low that every square is looked into, and every leaf published."""


@chosen_pairs.of(LocationPatterns)
def worst_patterns(publication: LocationPatterns) -> list[TranscriptCase]:
    """Return somebody with all her visits in one corner, or spread over all venues; as they come, and alone."""
    crowd = [(who, venue) for who in range(6) for venue in range(0, _SIDE**2, who + 2)]
    most = publication.cap + 3
    corner, spread = [0] * most, [(7 * visit) % _SIDE**2 for visit in range(most)]
    worlds = {
        "somebody in a corner": (crowd, corner),
        "somebody everywhere": (crowd, spread),
        "the only person": ([], corner),
    }
    return [
        _case(f"{name}{at}", method, others, visits)
        for at, method in _variants(publication).items()
        for name, (others, visits) in worlds.items()
    ]


@random_pairs.of(LocationPatterns)
def random_patterns(publication: LocationPatterns, rng: np.random.Generator, count: int) -> list[TranscriptCase]:
    """Return random crowds with a random person more."""
    found = []
    for number in range(count):
        methods = list(_variants(publication).values())
        method = methods[int(rng.integers(len(methods)))].model_copy(update={"cap": int(rng.integers(1, 6))})
        people = int(rng.integers(0, 8))
        others = [(who, int(venue)) for who in range(people) for venue in rng.integers(0, _SIDE**2, rng.integers(1, 9))]
        visits = rng.integers(0, _SIDE**2, int(rng.integers(1, 9))).tolist()
        found.append(_case(f"random visits {number + 1}", method, others, visits))
    return found


def _variants(publication: LocationPatterns) -> dict[str, LocationPatterns]:
    low = publication.model_copy(update=_LOW_BARS)
    return {
        "": publication,
        ", every square looked into": low,
        f", every square looked into (ε = {LARGE_EPSILON:g})": low.model_copy(update={"epsilon": LARGE_EPSILON}),
    }


def _case(
    name: str, method: LocationPatterns, others: Sequence[tuple[int, int]], visits: Sequence[int]
) -> TranscriptCase:
    return TranscriptCase(name, method.epsilon, partial(_publish, method, others, visits), runs=2)


def _publish(
    method: LocationPatterns, others: Sequence[tuple[int, int]], visits: Sequence[int], noise: Noise, present: bool
) -> Sequence[npt.ArrayLike]:
    names = np.array([_CANARY, *(f"p{who}" for who in range(8))], dtype=np.object_)
    rows = [(0, venue) for venue in visits] if present else []
    rows += [(who + 1, venue) for who, venue in others]
    person, venue = (np.array([row[column] for row in rows], dtype=np.int64) for column in (0, 1))
    found = method.find_patterns(Histories(names, person, venue), _venues(), noise)
    return [found.x_m, found.y_m, found.visits, found.west_m, found.south_m, found.side_x_m]


def _venues() -> Venues:
    number: Integers = np.arange(_SIDE**2)
    name = np.array([f"v{one}" for one in number.tolist()], dtype=np.object_)
    row, column = np.divmod(number.astype(np.float64), _SIDE)
    return Venues(name, lon=0.001 * column, lat=0.001 * row)
