"""A person who alone decides as many lists as one person can."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs
from geodp.audit.pairs.records import four_releases
from geodp.curator.publications.venue_lists import VenueLists
from geodp.privacy.audit_case import LARGE_EPSILON, TranscriptCase
from geodp.privacy.keyed_choice import draw_key
from geodp.privacy.noise import Noise
from geodp.tables.visits.histories import Histories
from geodp.tables.visits.visit_sets import sets_of


@chosen_pairs.of(VenueLists)
def worst_lists(publication: VenueLists) -> list[TranscriptCase]:
    """Return small worlds, and a person with more venues than count, alone and among equals."""
    cases = four_releases(publication)
    busy = list(range(publication.cap + 2))
    alone, equals = [busy], [busy, busy[::2], busy[1::2], busy]
    for epsilon in (publication.epsilon, LARGE_EPSILON):
        method = publication.model_copy(update={"epsilon": epsilon})
        for name, world in {"the only person": alone, "one among equals": equals}.items():
            release = partial(_choose, method, world)
            cases.append(TranscriptCase(f"{name} (ε = {epsilon:g})", epsilon, release, runs=1))
    return cases


def _choose(method: VenueLists, world: Sequence[Sequence[int]], noise: Noise, present: bool) -> list[npt.ArrayLike]:
    people = world if present else world[1:]
    number = len(world)
    person = np.repeat(np.arange(number - len(people), number), [len(mine) for mine in people]).astype(np.int64)
    venue = np.array(list(chain.from_iterable(people)), dtype=np.int64)
    names = np.array([f"p{who}" for who in range(number)], dtype=np.object_)
    sets = sets_of(Histories(names, person, venue), method.cap + 4)
    return [method.choose_venues(sets.keep_at_most(method.cap, draw_key(noise)), noise)]
