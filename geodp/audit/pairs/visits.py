"""Small towns and histories on which whole releases of visits are followed, with one visit, or a record, more or less.

Names of people are public where visits are published, so a person's record is emptied, and stays in the list.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.curator.visits_publication import VisitsPublication
from geodp.privacy.audit_case import LARGE_EPSILON, TranscriptCase
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Unit
from geodp.tables.visits.histories import Histories, Venues

Visits = list[list[int]]
"""Venues of every person's visits, in the order of the file."""
_CHANGED = 1
"""The person whose visits differ; others come before and after."""
_BINDING = 3
"""A cap that binds in a small history."""


@chosen_pairs.of(VisitsPublication)
def followed_releases(publication: VisitsPublication) -> list[TranscriptCase]:
    """Return chosen pairs: a visit (a record, a place) at the far end of a town.

    A cap binds, and one visit more pushes another one out, at the other end.
    """
    venues = town(12, seed=0)
    others = [[0, 1, 5], [], [venue % 12 for venue in range(9)], [11]]
    apart = np.argsort(venues.lon).tolist()  # from west to east: its ends are far apart
    records = {
        "a record beyond the cap": [apart[0], *(apart[-1:] * _BINDING), apart[6]],
        "a record of one": apart[:1],
    }
    return [
        _pair(method=method, venues=venues, others=others, record=record, at=0, name=name + at)
        for at, method in _at_either_epsilon(publication).items()
        for name, record in records.items()
    ]


@random_pairs.of(VisitsPublication)
def random_releases(publication: VisitsPublication, rng: np.random.Generator, count: int) -> list[TranscriptCase]:
    """Return random towns and histories with one visit, one record or one place changed; any cap, any ε."""
    found = []
    for number in range(count):
        size = int(rng.integers(1, 15))
        venues = town(size, seed=int(rng.integers(10**6)))
        people = int(rng.integers(2, 5))
        lengths = rng.choice([0, 1, 2, 6], people)
        visits = [[int(venue) for venue in rng.integers(0, size, length)] for length in lengths]
        record = [int(venue) for venue in rng.integers(0, size, int(rng.integers(1, 7)))]
        update: dict[str, Any] = {"clusters": int(rng.integers(1, size + 1)), "public_seed": int(rng.integers(9))}
        update["epsilon"] = float(rng.choice([1.0, LARGE_EPSILON, 10 ** rng.uniform(-2, 1)]))
        if publication.most_visits() is not None:
            update["cap"] = int(rng.choice([1, 2, 3, 100]))
        known = {name: value for name, value in update.items() if name in type(publication).model_fields}
        method = publication.model_copy(update=known)
        at = int(rng.integers(len(record)))
        found.append(
            _pair(
                method=method,
                venues=venues,
                others=visits,
                record=record,
                at=at,
                name=f"random histories {number + 1}",
                rng=rng,
            )
        )
    return found


def _at_either_epsilon(publication: VisitsPublication) -> dict[str, VisitsPublication]:
    update: dict[str, Any] = {"clusters": 3}
    if publication.most_visits() is not None:
        update["cap"] = _BINDING
    known = {name: value for name, value in update.items() if name in type(publication).model_fields}
    tried = {"": publication.model_copy(update=known)}
    if "epsilon" in type(publication).model_fields:
        tried[f" (ε = {LARGE_EPSILON:g})"] = publication.model_copy(update={**known, "epsilon": LARGE_EPSILON})
    return tried


def _pair(
    method: VisitsPublication,
    venues: Venues,
    others: Visits,
    record: list[int],
    at: int,
    name: str,
    rng: np.random.Generator | None = None,
) -> TranscriptCase:
    """Return the pair that the promise is about: a record emptied, one visit more, or one place changed."""
    promise = method.guarantee()
    claimed = promise.epsilon
    without: list[int] = []
    what = "emptied"
    if promise.unit is Unit.EVENT:
        without, what = [*record[:at], *record[at + 1 :]], "without one visit"
    elif promise.unit is Unit.POINT:
        place = venues.size - 1 - record[at] if rng is None else int(rng.integers(venues.size))
        without, what = [*record[:at], place, *record[at + 1 :]], "with one place changed"
        x_m, y_m = venues.places_m()
        apart = math.hypot(x_m[place] - x_m[record[at]], y_m[place] - y_m[record[at]])
        claimed = promise.at_distance(float(apart))
    with_, shorter = ([*others[:_CHANGED], mine, *others[_CHANGED + 1 :]] for mine in (record, without))
    return TranscriptCase(f"{name}, {what}", claimed, partial(_released, method, venues, with_, shorter), runs=1)


def _released(
    method: VisitsPublication, venues: Venues, with_: Visits, without: Visits, noise: Noise, present: bool
) -> Sequence[npt.ArrayLike]:
    visits = with_ if present else without
    person = np.repeat(np.arange(len(visits)), [len(mine) for mine in visits]).astype(np.int64)
    venue = np.array([venue for mine in visits for venue in mine], dtype=np.int64)
    names = np.array([f"p{number}" for number in range(len(visits))], dtype=np.object_)
    released = method.release(Histories(names, person, venue), venues, noise)
    label = np.empty(0) if released.cluster is None else released.cluster
    return [released.people.astype(str), released.person, released.venue, released.x_m, released.y_m, label]


def town(size: int, seed: int) -> Venues:
    """Return a public list of venues with two levels."""
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(-0.02, 0.02, size), rng.uniform(-0.02, 0.02, size)
    names, side = (
        np.array([f"v{number}" for number in range(size)], dtype=np.object_),
        np.where(lon < 0, "west", "east"),
    )
    levels = {"side": side.astype(np.object_), "street": np.array([f"s{n}" for n in range(size)], dtype=np.object_)}
    return Venues(names, lon, lat, levels)
