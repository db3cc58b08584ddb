"""Private spatial decompositions: time at 70,000 and 1,000,000 generated workers, and errors of range queries.

The sets of the range queries, and which of them defaults were chosen on, are described in `_ranges.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.privacy.noise import SimulatedNoise
from geodp.registry import plugin
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import best_cpu_s
from tests.benchmarks._ranges import KINDS, PHOENIX, Rectangles, generated, measure_ranges, range_error

EPSILON = 0.4
MOST_S = 0.2


@cache
def city(workers: int) -> Snapshot:
    """Return a generated city of so many workers in the Phoenix box."""
    return generated(PHOENIX, 0, count=workers)


def measure() -> Iterator[Figure]:
    """Time one release of every decomposition, then ask it about rectangles."""
    for kind in KINDS:
        mechanism: Mechanism = plugin(kind, epsilon=EPSILON)
        yield Figure(f"psd_build_{kind}_s_eps_0.4", _build_s(mechanism, city(70_000)), at_most=MOST_S)
        yield Figure(f"psd_build_{kind}_1000000_s_eps_0.4", _build_s(mechanism, city(1_000_000)))
    yield from _query_errors()
    yield from measure_ranges()


def _query_errors() -> Iterator[Figure]:
    """Ask every decomposition how many people are in 300 rectangles; |answer - truth| / max(truth, 0.1 % of all)."""
    people = city(70_000)
    asked = Rectangles.draw(people)
    for kind, fields in (*((kind, {}) for kind in KINDS), ("adaptive_grid", {"granularity": "original"})):
        error = range_error(people, asked, kind, EPSILON, tuple(range(5)), **fields)
        yield Figure(f"psd_query_error_{'_'.join([kind, *fields.values()])}_eps_0.4", error)


def _build_s(mechanism: Mechanism, snapshot: Snapshot) -> float:
    [spent] = best_cpu_s(lambda: mechanism.release(snapshot, SimulatedNoise(np.random.default_rng(1))), repeats=5)
    return spent
