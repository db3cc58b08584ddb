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
from geodp.curator.publications.prilocation import PriLocation
from geodp.curator.visits_publication import VisitsPublication
from geodp.privacy.audit_case import LARGE_EPSILON, TranscriptCase
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Unit
from geodp.tables.visits.hierarchy import hierarchy_of
from geodp.tables.visits.histories import Histories, Venues

Visits = list[list[int]]
"""Venues of every person's visits, in the order of the file."""
_CHANGED = 1
"""The person whose visits differ; others come before and after."""
_EMPTY = 60
"""People without visits."""
_BINDING = 3
"""A cap that binds in a small history."""


@chosen_pairs.of(VisitsPublication)
def choose_releases(publication: VisitsPublication) -> list[TranscriptCase]:
    """Return chosen pairs: a visit (a record, a place) at the far end of a town.

    A cap binds, and one visit more pushes another one out, at the other end. In one cluster of few visits its middle
    moves with each of them, and what pads many empty records must not show that.
    """
    venues = town(12, seed=0)
    others = [[0, 1, 5], [], [venue % 12 for venue in range(9)], [11]]
    apart = np.argsort(venues.lon).tolist()  # from west to east: its ends are far apart
    records = {
        "a record beyond the cap": [apart[0], *(apart[-1:] * _BINDING), apart[6]],
        "a record of one": apart[:1],
    }
    found = [
        _pair(method=method, venues=venues, others=others, record=record, at=0, name=name + at)
        for at, method in _at_either_epsilon(publication).items()
        for name, record in records.items()
    ]
    if "clusters" in type(publication).model_fields:
        alone: Visits = [[] for _ in range(_EMPTY)]
        method = publication.model_copy(update={"clusters": 1})
        ends = [apart[0], apart[-1]]
        found.append(_pair(method=method, venues=venues, others=alone, record=ends, at=0, name="two ends, one cluster"))
    return found


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
        if _may_move_by_level(publication) and number % 2:
            update |= {"clusters": None, "clusters_by": "level"}
        method = publication.model_copy(update=_select_fields(publication, update))
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
    ways = {"": update}
    if _may_move_by_level(publication):
        ways[" (by level)"] = {**update, "clusters": None, "clusters_by": "level"}
    tried = {name: publication.model_copy(update=_select_fields(publication, way)) for name, way in ways.items()}
    if "epsilon" in type(publication).model_fields:
        tried |= {
            f"{name} (ε = {LARGE_EPSILON:g})": method.model_copy(update={"epsilon": LARGE_EPSILON})
            for name, method in tried.items()
        }
    return tried


def _select_fields(publication: VisitsPublication, update: dict[str, Any]) -> dict[str, Any]:
    """Return the changes of fields that the publication has."""
    return {name: value for name, value in update.items() if name in type(publication).model_fields}


def _may_move_by_level(publication: VisitsPublication) -> bool:
    """Say whether a publication moves visits within areas of the hierarchy where the venues have levels."""
    return isinstance(publication, PriLocation) and publication.moves_by_level(hierarchy_of(town(4, seed=0)))


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
    return TranscriptCase(f"{name}, {what}", claimed, partial(_release, method, venues, with_, shorter), runs=1)


def _release(
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
    """Return a public list of venues with two levels and two categories."""
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(-0.02, 0.02, size), rng.uniform(-0.02, 0.02, size)
    names, side = (
        np.array([f"v{number}" for number in range(size)], dtype=np.object_),
        np.where(lon < 0, "west", "east"),
    )
    levels = {"side": side.astype(np.object_), "street": np.array([f"s{n}" for n in range(size)], dtype=np.object_)}
    kinds = np.array([("café", "park")[number % 2] for number in range(size)], dtype=np.object_)
    return Venues(names, lon, lat, levels, kinds)
