"""Budgets of a million single people over 200 releases: who is still counted, in exact sums."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geodp.privacy.ledger import Ledger
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import cpu_s

PEOPLE = 1_000_000
RELEASES = 200
PRESENT = 0.8
EPSILON, BUDGET = 0.3, 30.0
ONE = Guarantee(EPSILON, Unit.SNAPSHOT, Neighbours.ADD_REMOVE, Trust.CENTRAL)


def measure() -> Iterator[Figure]:
    """Ask the filter about four fifths of a million people, two hundred times."""
    rng = np.random.default_rng(0)
    there = [np.flatnonzero(rng.random(PEOPLE) < PRESENT) for _ in range(4)]
    spent, (ledger, counted) = cpu_s(lambda: _admit(there))
    paid = ledger.sum_filtered()
    if abs(paid.sum() - counted * EPSILON) > 1e-6 * paid.sum() or paid.max() > BUDGET * (1 + 1e-12):
        raise RuntimeError(f"people spent {paid.sum()} by being counted {counted} times, at most {paid.max()} each")
    yield Figure("personal_levels_filter_1000000_people_200_releases_s", spent, at_most=5.0)


def _admit(there: list[np.ndarray[tuple[int], np.dtype[np.int64]]]) -> tuple[Ledger, int]:
    ledger, counted = Ledger(), 0
    for number in range(RELEASES):
        who = there[number % len(there)]
        fits = ledger.admit(ONE, who, time_s=600.0 * number, mechanism="uniform_grid", budget=BUDGET, people=PEOPLE)
        counted += int(np.count_nonzero(fits))
    return ledger, counted
