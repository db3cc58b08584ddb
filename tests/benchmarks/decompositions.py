"""Private spatial decompositions of 70,000 and 1,000,000 generated workers at ε = 0.4: time, and errors of counts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.geometry import Region
from geodp.privacy.noise import SimulatedNoise
from geodp.registry import plugin
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import best_cpu_s

PHOENIX = Region(-112.8755, 32.8768, -111.6712, 33.8068)
EPSILON = 0.4
KINDS = ("adaptive_grid", "uniform_grid", "quadtree", "kd_tree", "dpcube")
MOST_S = 0.2
QUERIES = 300


@cache
def city(workers: int) -> Snapshot:
    """Return a generated city of so many workers in the Phoenix box."""
    source = plugin("synthetic_city", count=workers)
    people = source.load(PHOENIX, np.random.default_rng(0))
    return Snapshot(0.0, people.x_m, people.y_m, PHOENIX, float(workers))


def measure() -> Iterator[Figure]:
    """Time one release of every decomposition, then ask it about rectangles."""
    for kind in KINDS:
        mechanism: Mechanism = plugin(kind, epsilon=EPSILON)
        yield Figure(f"psd_build_{kind}_s_eps_0.4", _build_s(mechanism, city(70_000)), at_most=MOST_S)
        yield Figure(f"psd_build_{kind}_1000000_s_eps_0.4", _build_s(mechanism, city(1_000_000)))
    yield from _query_errors()


def _query_errors() -> Iterator[Figure]:
    """Ask every decomposition how many people are in 300 rectangles; |answer - truth| / max(truth, 0.1 % of all)."""
    people, rng = city(70_000), np.random.default_rng(5)
    west, south, _, _ = PHOENIX.box_m
    share_x, share_y, at_x, at_y = rng.random((4, QUERIES))
    wide, high = (0.02 + 0.18 * share_x) * PHOENIX.width_m, (0.02 + 0.18 * share_y) * PHOENIX.height_m
    x, y = west + at_x * (PHOENIX.width_m - wide), south + at_y * (PHOENIX.height_m - high)
    inside = (people.x_m >= x[:, None]) & (people.x_m < (x + wide)[:, None])
    inside &= (people.y_m >= y[:, None]) & (people.y_m < (y + high)[:, None])
    true = np.count_nonzero(inside, axis=1)
    for kind, fields in (*((kind, {}) for kind in KINDS), ("adaptive_grid", {"granularity": "original"})):
        errors = []
        for seed in range(5):
            made = plugin(kind, epsilon=EPSILON, **fields).release(people, SimulatedNoise(np.random.default_rng(seed)))
            across = np.minimum(made.east_m, (x + wide)[:, None]) - np.maximum(made.west_m, x[:, None])
            along = np.minimum(made.north_m, (y + high)[:, None]) - np.maximum(made.south_m, y[:, None])
            answer = (np.maximum(across, 0) * np.maximum(along, 0) / made.area_m2) @ made.count
            errors.append(np.mean(np.abs(answer - true) / np.maximum(true, 70)))
        name = "_".join([kind, *fields.values()])
        yield Figure(f"psd_query_error_{name}_eps_0.4", float(np.mean(errors)))


def _build_s(mechanism: Mechanism, snapshot: Snapshot) -> float:
    [spent] = best_cpu_s(lambda: mechanism.release(snapshot, SimulatedNoise(np.random.default_rng(1))), repeats=5)
    return spent
