"""Records of small worlds on which a publication of any kind is followed, through `publish` itself.

A plug-in gets these pairs for nothing; it adds worse ones, and pairs at its own cap, by `audit_cases`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.audit.pairs.trips import TimedTrip, random_trips, world_of
from geodp.audit.pairs.visits import town
from geodp.curator.publications import Publication
from geodp.geometry import Region
from geodp.privacy.audit_case import TranscriptCase
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Unit
from geodp.tables.notices import gather_notices
from geodp.tables.visits.histories import Histories, Venues

if TYPE_CHECKING:
    from geodp.tables.trajectories.table import Trajectories

_TOWN = Region(-0.02, -0.02, 0.02, 0.02)
_PEOPLE = 6
_DAY_S = 86_400.0


class SmallRecords:
    """What a publication reads, without a world behind it."""

    region = _TOWN
    duration_s = _DAY_S

    def __init__(self, visits: Histories, venues: Venues, trips: Trajectories) -> None:
        self._visits, self._trips = (visits, venues), trips

    def visits(self) -> tuple[Histories, Venues]:
        """Return everyone's visits, and the public list of venues."""
        return self._visits

    def trajectories(self) -> Trajectories:
        """Return everyone's trips."""
        return self._trips


@chosen_pairs.of(Publication)
def four_releases(publication: Publication) -> list[TranscriptCase]:
    """Return four small worlds."""
    return random_releases(publication, np.random.default_rng(0), 4)


@random_pairs.of(Publication)
def random_releases(publication: Publication, rng: np.random.Generator, count: int) -> list[TranscriptCase]:
    """Return random small worlds: a person emptied, or one visit (one trip) more, as the promise has it."""
    promise = publication.guarantee()
    found = []
    for number in range(count):
        size = int(rng.integers(2, 12))
        visits = [[int(venue) for venue in rng.integers(0, size, int(rng.integers(0, 6)))] for _ in range(_PEOPLE)]
        trips = [random_trips(rng, f"p{who}", int(rng.integers(0, 4))) for who in range(_PEOPLE)]
        visits[1], trips[1] = [*visits[1], size - 1, 0], [*trips[1], *random_trips(rng, "p1", 3)]
        single = promise.unit in (Unit.EVENT, Unit.TRAJECTORY)
        fewer_visits = [*visits[:1], visits[1][:-1] if single else [], *visits[2:]]
        fewer_trips = [*trips[:1], trips[1][:-1] if single else [], *trips[2:]]
        venues = town(size, seed=number)
        release = partial(_publish, publication, venues, (visits, trips), (fewer_visits, fewer_trips))
        what = "one visit (trip) more" if single else "a record emptied"
        found.append(TranscriptCase(f"random records {number + 1}, {what}", promise.epsilon, release, runs=1))
    return found


World = tuple[list[list[int]], list[list[TimedTrip]]]


def _publish(
    publication: Publication, venues: Venues, with_: World, without: World, noise: Noise, present: bool
) -> Sequence[npt.ArrayLike]:
    visits, trips = with_ if present else without
    names = np.array([f"p{number}" for number in range(_PEOPLE)], dtype=np.object_)
    person = np.repeat(np.arange(_PEOPLE), [len(mine) for mine in visits]).astype(np.int64)
    venue = np.array([venue for mine in visits for venue in mine], dtype=np.int64)
    records: Any = SmallRecords(
        Histories(names, person, venue), venues, world_of([trip for mine in trips for trip in mine])
    )
    with gather_notices():  # of a made-up world: nobody need hear them
        published = publication.publish(records, noise)
    facts = json.dumps(published.facts, sort_keys=True, default=str)
    table = published.released
    return [np.array([*table.columns, facts], dtype=str), *(table[name].astype(str).to_numpy() for name in table)]
