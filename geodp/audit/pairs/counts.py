"""Small tables of visits on which whole releases of counts are followed, with one user more who changes most."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.curator.counts_publication import CountsPublication
from geodp.privacy.audit_case import LARGE_EPSILON, TranscriptCase
from geodp.privacy.keyed_choice import user_words
from geodp.privacy.noise import Noise
from geodp.tables.visits.visit_sets import VisitSets, visit_sets

Rows = dict[str, range | list[int]]
_FEW, _MANY = 8, 60
"""Fewest and most venues of a list."""


@chosen_pairs.of(CountsPublication)
def choose_releases(mechanism: CountsPublication) -> list[TranscriptCase]:
    """Return pairs of tables: a user at every venue (beyond the cap), at a venue of their own, or the only one.

    Two of the others have more venues than the cap, too, and the user comes between them: whose visits are left out
    must not depend on who else is there, before or after. Where everybody else is at one venue, a user at all of them
    moves the scores of DPSense-S both ways, as far as they go.
    """
    cap = int(getattr(mechanism, "cap", _FEW))
    venues = int(np.clip(2 * cap + 3, _FEW, _MANY))
    others: Rows = {
        "a": [0],
        "b": range(venues),
        "m": range(4),
        "n": range(venues),
        "x": range(2, 5),
        "z": range(1, _FEW, 2),
    }
    singles: Rows = {f"s{number}": [number % venues] for number in range(2 * venues)}
    short = min(cap, _MANY)
    pairs: dict[str, tuple[Rows, range | list[int], int]] = {
        "a user at every venue": (others, range(venues), venues),
        "a user where nobody else is": (others, [venues - 1], venues),
        "a user at every venue, everybody else at one": (singles, range(venues), venues),
        "the only user": ({}, range(venues), venues),
        "the only user of a short list": ({}, range(short), short),
        "the only user, of a list of one venue": ({}, range(1), 1),
    }
    tried = {"": mechanism}
    if "epsilon" in type(mechanism).model_fields:
        tried[f" (ε = {LARGE_EPSILON:g})"] = mechanism.model_copy(update={"epsilon": LARGE_EPSILON})
    found = [
        TranscriptCase(name + at, method.guarantee().epsilon, partial(_release, method, rows, more, listed))
        for at, method in tried.items()
        for name, (rows, more, listed) in pairs.items()
    ]
    for small in (1, 2) if "cap" in type(mechanism).model_fields else ():  # few numbers: samples certify more of it
        method = mechanism.model_copy(update={"cap": small})
        release = partial(_release, method, {}, range(small), small)
        found.append(TranscriptCase(f"the only user, a cap of {small}", method.guarantee().epsilon, release))
    return found


@random_pairs.of(CountsPublication)
def random_releases(mechanism: CountsPublication, rng: np.random.Generator, count: int) -> list[TranscriptCase]:
    """Return random tables with one user more, whose name comes anywhere; any cap, any ε."""
    found = []
    for number in range(count):
        venues, users = int(rng.integers(1, 15)), int(rng.choice([0, 1, 3, 12]))
        others: Rows = {f"u{rng.integers(10**6)}": _some(rng, venues) for _ in range(users)}
        epsilon = float(rng.choice([0.69, LARGE_EPSILON, 10 ** rng.uniform(-2, 1)]))
        sizes = {"epsilon": epsilon, "cap": int(rng.integers(1, 6)), "max_theta": int(rng.integers(1, 20))}
        kept = {"epsilon", *(name for name in ("cap", "max_theta") if rng.random() < 0.7)}
        fields = {name: value for name, value in sizes.items() if name in kept & set(type(mechanism).model_fields)}
        method = mechanism.model_copy(update=fields)
        called = str(rng.choice(["", "0", "u5", "zz"])) + str(rng.integers(100))
        release = partial(_release, method, others, _some(rng, venues), venues, called=called)
        name = f"random table {number + 1}: {users} users, {venues} venues, one user more"
        found.append(TranscriptCase(name, method.guarantee().epsilon, release, runs=1))
    return found


def _some(rng: np.random.Generator, venues: int) -> list[int]:
    """Return some venues: one, a few, or all of them."""
    size = int(rng.choice([1, int(rng.integers(1, venues + 1)), venues]))
    return sorted(int(venue) for venue in rng.choice(venues, size, replace=False))


def _release(
    mechanism: CountsPublication,
    others: Rows,
    more: range | list[int],
    venues: int,
    noise: Noise,
    present: bool,
    *,
    called: str = "canary",
) -> list[Any]:
    table = _table({**others, **({called: more} if present else {})}, venues)
    released = mechanism.release(table, noise, np.arange(venues))
    return [released.count, sorted(released.facts), [released.facts[name] for name in sorted(released.facts)]]


def _table(rows: Rows, venues: int) -> VisitSets:
    names = sorted(rows)
    number = np.repeat(np.arange(len(names)), [len(rows[name]) for name in names])
    venue = np.concatenate([np.empty(0, np.int64), *(np.asarray(rows[name], np.int64) for name in names)])
    return visit_sets(user_words(names), number.astype(np.int64), venue, venues)
