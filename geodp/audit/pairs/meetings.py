"""Worlds in which one person, or the meeting of one pair, comes and goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.curator.publications.meetings import Meetings
from geodp.privacy.audit_case import LARGE_EPSILON, TranscriptCase
from geodp.privacy.noise import Noise
from geodp.tables.trajectories.table import Trajectories

Edge = tuple[int, int]
_APART_M = 1e5
"""Far beyond any radius: people there meet nobody."""


@dataclass(frozen=True)
class Staged:
    """Who meets whom: pair number i meets at step i of the clock, and everybody else is far away then."""

    people: int
    edges: tuple[Edge, ...]


@chosen_pairs.of(Meetings)
def worst_meetings(publication: Meetings) -> list[TranscriptCase]:
    """Return the hub of a star that comes and goes, one beyond everybody's maximum, and one pair more or less."""
    most = min(publication.max_degree, 6)
    method = publication.model_copy(update={"max_degree": most})
    star = Staged(most + 3, tuple((0, other) for other in range(1, most + 3)))
    clique = Staged(most + 2, tuple(combinations(range(most + 2), 2)))
    lone = Staged(1, ())
    staged = {"the hub of a star": star, "one of a crowd in which all met": clique, "the only person": lone}
    found = []
    for epsilon in (method.epsilon, LARGE_EPSILON):
        at = "" if epsilon == method.epsilon else f" (ε = {epsilon:g})"
        same = method.model_copy(update={"epsilon": epsilon})
        found += [_case(f"{name}{at}", same, world) for name, world in staged.items() if _fits(same, world)]
    return found


@random_pairs.of(Meetings)
def random_meetings(publication: Meetings, rng: np.random.Generator, count: int) -> list[TranscriptCase]:
    """Return random graphs of up to eight people with a person, or a pair, that comes and goes."""
    found = []
    for number in range(count):
        people = int(rng.integers(2, 9))
        pairs = [pair for pair in combinations(range(people), 2) if rng.random() < rng.choice([0.2, 0.6, 1.0])]
        world = Staged(people, tuple(pairs) or ((0, 1),))
        method = publication.model_copy(update={"max_degree": int(rng.integers(1, 6))})
        found.append(_case(f"random meetings {number + 1}", method, world))
    return found


def _fits(method: Meetings, world: Staged) -> bool:
    return method.hides == "person" or bool(world.edges)


def _case(name: str, method: Meetings, world: Staged) -> TranscriptCase:
    whole, fewer = _table(world, None, None), _table(world, *((0, None) if method.hides == "person" else (None, 0)))
    return TranscriptCase(name, method.epsilon, partial(_publish, method, whole, fewer), runs=1)


def _publish(
    method: Meetings, whole: Trajectories, fewer: Trajectories, noise: Noise, present: bool
) -> Sequence[npt.ArrayLike]:
    trips = whole if present else fewer
    records: Any = type("Trips", (), {"trajectories": staticmethod(lambda: trips)})
    published = method.publish(records, noise)
    return [published.released[name].astype(str).to_numpy() for name in published.released]


def _table(world: Staged, without_person: int | None, without_edge: int | None) -> Trajectories:
    """Return the trips of a staged world: at step i the pair i stands together, all others far from each other."""
    meetings = Meetings()
    steps = max(len(world.edges), 1)
    kept = [person for person in range(world.people) if person != without_person]
    x_m = np.array([[_APART_M * (person + 1)] * steps for person in range(world.people)])
    y_m = np.zeros_like(x_m)
    for step, (one, other) in enumerate(world.edges):
        if step != without_edge:
            x_m[[one, other], step] = 0.0
    points = len(kept) * steps
    return Trajectories(
        people=np.array([f"p{person}" for person in range(world.people)], dtype=np.object_),
        first=np.arange(0, points + 1, steps) if points else np.zeros(1, dtype=np.int64),
        person=np.array(kept, dtype=np.int64),
        time_s=np.tile(np.arange(steps) * meetings.every_s, len(kept)),
        x_m=x_m[kept].reshape(-1),
        y_m=y_m[kept].reshape(-1),
    )
