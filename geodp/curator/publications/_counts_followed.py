"""Small tables of visits on which whole releases of counts are followed, with one user more who changes most."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.privacy.audit_case import LARGE_EPSILON, TranscriptCase
from geodp.privacy.keyed_choice import user_words
from geodp.privacy.noise import Noise
from geodp.visits.visit_sets import VisitSets, visit_sets

if TYPE_CHECKING:
    from geodp.curator.publications._counts_publication import CountsPublication

Rows = dict[str, range | list[int]]
_FEW, _MANY = 8, 60
"""Fewest and most venues of a list."""


def followed_releases(mechanism: CountsPublication) -> list[TranscriptCase]:
    """Return pairs of tables: a user at every venue (beyond the cap), at a venue of their own, or the only one.

    One of the others has more venues than the cap, too, and the user comes before some of them: whose visits are left
    out must not depend on who else is there.
    """
    cap = int(getattr(mechanism, "cap", _FEW))
    venues = int(np.clip(2 * cap + 3, _FEW, _MANY))
    others: Rows = {"a": [0], "b": range(venues), "m": range(4), "x": range(2, 5), "z": range(1, _FEW, 2)}
    short = min(cap, _MANY)
    pairs: dict[str, tuple[Rows, range | list[int], int]] = {
        "a user at every venue": (others, range(venues), venues),
        "a user where nobody else is": (others, [venues - 1], venues),
        "the only user": ({}, range(venues), venues),
        "the only user of a short list": ({}, range(short), short),
    }
    tried = {"": mechanism}
    if "epsilon" in type(mechanism).model_fields:
        tried[f" (ε = {LARGE_EPSILON:g})"] = mechanism.model_copy(update={"epsilon": LARGE_EPSILON})
    return [
        TranscriptCase(name + at, method.guarantee().epsilon, partial(_released, method, rows, more, listed))
        for at, method in tried.items()
        for name, (rows, more, listed) in pairs.items()
    ]


def _released(
    mechanism: CountsPublication, others: Rows, more: range | list[int], venues: int, noise: Noise, present: bool
) -> list[Any]:
    table = _table({**others, **({"canary": more} if present else {})}, venues)
    released = mechanism.release(table, noise, np.arange(venues))
    return [released.count, sorted(released.facts), [released.facts[name] for name in sorted(released.facts)]]


def _table(rows: Rows, venues: int) -> VisitSets:
    names = sorted(rows)
    number = np.repeat(np.arange(len(names)), [len(rows[name]) for name in names])
    venue = np.concatenate([np.empty(0, np.int64), *(np.asarray(rows[name], np.int64) for name in names)])
    return visit_sets(user_words(names), number.astype(np.int64), venue, venues)
