"""Gaussian noise on counts: its size, its sensitivities, and that an auditor follows it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import geodp
from geodp.audit.transcript import Overheard, Retold
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.curator.mechanisms.tree_counts import TreeCounts, count_levels
from geodp.geometry import Region
from geodp.privacy.noise import SimulatedNoise
from geodp.privacy.zcdp import largest_rho
from geodp.public.guarantee import Neighbours

TOWN = Region(10.0, 50.0, 10.08, 50.05)
KINDS: dict[str, dict[str, Any]] = {
    "uniform_grid": {"cell_m": 1000.0},
    "contour": {"cell_m": 1000.0, "sigma_cells": 0},
    "hierarchical_grid": {"branching": (3, 4)},
    "quadtree": {"height": 4, "least_count": 0.0},
}


def make(kind: str, **fields: object) -> Mechanism:
    found: Mechanism = geodp.plugin(kind, noise="gaussian", epsilon=1.0, **KINDS[kind], **fields)
    return found


def snap(x_m: list[float], y_m: list[float], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Snapshot:
    return Snapshot(0.0, np.array(x_m), np.array(y_m), TOWN, expected_workers=100.0, neighbours=neighbours)


def find_rho(mechanism: Mechanism, one: Snapshot, other: Snapshot) -> float:
    overheard = Overheard(SimulatedNoise(np.random.default_rng(0)))
    mechanism.release(one, overheard)
    retold = Retold(overheard)
    mechanism.release(other, retold)
    assert retold.finished
    return retold.spent_rho


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_spends_the_rho_that_it_promises(kind: str) -> None:
    crowd = ([0.0, 100.0, -900.0], [0.0, 50.0, 300.0])
    promise = make(kind).guarantee()
    assert promise.rho == pytest.approx(largest_rho(1.0, 1e-6))
    assert promise.epsilon == pytest.approx(1.0)
    assert promise.rho is not None
    spent = find_rho(make(kind), snap([2000.0, *crowd[0]], [900.0, *crowd[1]]), snap(*crowd))
    assert spent == pytest.approx(promise.rho, rel=1e-9)
    moved = [snap([x, *crowd[0]], [y, *crowd[1]], Neighbours.REPLACE) for x, y in ((2000.0, 900.0), (-2000.0, -900.0))]
    assert find_rho(make(kind), *moved) <= promise.rho * (1 + 1e-9)


def test_a_household_is_hidden_together() -> None:
    three = make("uniform_grid", household=3)
    spent = find_rho(three, snap([5.0] * 3, [5.0] * 3), snap([], []))
    assert spent == pytest.approx(three.guarantee().rho)


def test_what_is_released_states_the_variance_of_its_noise() -> None:
    rng = np.random.default_rng(7)
    mechanism = geodp.plugin("uniform_grid", noise="gaussian", epsilon=1.0, cell_m=50.0)
    made = mechanism.release(snap([], []), SimulatedNoise(rng))
    sigma = 1 / math.sqrt(2 * largest_rho(1.0, 1e-6))
    assert made.noise_scale[0] * math.sqrt(2) == pytest.approx(sigma)
    size = made.count.size
    assert size > 10_000
    # Mean squares of normals have relative standard deviation √(2/n): five of them (1e-6).
    assert abs((made.count**2).mean() / sigma**2 - 1) < 5 * math.sqrt(2 / size)
    assert np.abs(made.count).mean() == pytest.approx(mechanism.expected_noise(), rel=0.05)
    assert made.noise_terms is not None


@pytest.mark.parametrize("stream", ["stays", "events"])
@pytest.mark.parametrize("cap", [1, 2, 3])
def test_partial_sums_of_a_tree_change_by_no_more_than_is_stated(stream: str, cap: int) -> None:
    """All ways to be in two cells, or away, at six moments: the root of the sum of squares over all partial sums."""
    mechanism = TreeCounts(noise="gaussian", stream=stream, cap=cap, cells={"kind": "uniform_grid", "cell_m": 4000})
    releases = 6
    levels, worst = count_levels(releases), 0.0
    for track in itertools.product((None, 0, 1), repeat=releases):
        counted, stays, before = np.zeros((releases + 1, 2), dtype=np.int64), 0, None
        for number, cell in enumerate(track):
            new = cell is not None and (stream == "events" or cell != before)
            stays += new
            if cell is not None and stays <= cap:
                counted[number + 1, cell] = 1
            before = cell
        total = np.cumsum(counted, axis=0) if stream == "events" else counted
        squares = sum(
            float(((total[end] - total[end - 2**level]) ** 2).sum())
            for level in range(levels)
            for end in range(2**level, releases + 1, 2**level)
        )
        worst = max(worst, squares)
    assert math.sqrt(worst) <= mechanism.find_node_l2(levels) + 1e-9
    if cap == 1:
        assert math.sqrt(worst) >= 0.6 * mechanism.find_node_l2(levels)  # not far too large


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="cells.noise has no effect"):
        TreeCounts(cells={"kind": "uniform_grid", "noise": "gaussian"})
    with pytest.raises(ValueError, match="count_share"):
        geodp.plugin("quadtree", noise="gaussian", count_share=0.1)
