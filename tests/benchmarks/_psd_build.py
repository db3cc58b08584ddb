"""Building private spatial decompositions of 70,000 and of 1,000,000 generated workers at ε = 0.4."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.geometry import Region
from geodp.plugins import plugin
from geodp.privacy.noise import SimulatedNoise
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import best_cpu_s

PHOENIX = Region(-112.8755, 32.8768, -111.6712, 33.8068)
EPSILON = 0.4
KINDS = ("adaptive_grid", "uniform_grid", "quadtree", "kd_tree", "dpcube")
MOST_S = 0.2


@cache
def city(workers: int) -> Snapshot:
    """Return a generated city of so many workers in the Phoenix box."""
    source = plugin("synthetic_city", count=workers)
    people = source.load(PHOENIX, np.random.default_rng(0))
    return Snapshot(0.0, people.x_m, people.y_m, PHOENIX, float(workers))


def psd_build() -> Iterator[Figure]:
    """Time one release of every decomposition; the adaptive grid is the one that the target speaks of."""
    for kind in KINDS:
        mechanism: Mechanism = plugin(kind, epsilon=EPSILON)
        name = "psd_build" if kind == "adaptive_grid" else f"psd_build_{kind}"
        yield Figure(f"{name}_s_eps_0.4", _build_s(mechanism, city(70_000)), at_most=MOST_S)
        yield Figure(f"{name}_1000000_s_eps_0.4", _build_s(mechanism, city(1_000_000)))


def _build_s(mechanism: Mechanism, snapshot: Snapshot) -> float:
    [spent] = best_cpu_s(lambda: mechanism.release(snapshot, SimulatedNoise(np.random.default_rng(1))), repeats=5)
    return spent
