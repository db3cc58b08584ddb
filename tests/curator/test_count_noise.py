"""Gaussian noise on counts: its size, its sensitivities, and that an auditor follows it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import geodp
from geodp.audit.transcript import Overheard, Retold
from geodp.curator.count_noise import CountNoise
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.curator.mechanisms.tree_counts import TreeCounts, count_levels
from geodp.geometry import Region
from geodp.privacy.noise import SimulatedNoise
from geodp.privacy.zcdp import largest_rho
from geodp.public.guarantee import Guarantee, Neighbours
from geodp.registry import PublicFacts

TOWN = Region(10.0, 50.0, 10.08, 50.05)
KINDS: dict[str, dict[str, Any]] = {
    "uniform_grid": {"cell_m": 1000.0},
    "contour": {"cell_m": 1000.0, "sigma_cells": 0},
    "hierarchical_grid": {"branching": (3, 4)},
    "quadtree": {"height": 4, "least_count": 0.0},
    "adaptive_grid": {"first_level": 6},
    "dpcube": {"cell_m": 500.0},
    "correlated_counts": {"household": 1, "cell_m": 1000.0},
    "kalman_counts": {"cells": {"kind": "uniform_grid", "cell_m": 1000.0}},
}
CHOOSING: dict[str, dict[str, Any]] = {
    "kd_tree": {"height": 4, "least_count": 0.0},
    "dawa": {"height": 4},
    "privtree": {"least_cell_m": 300.0},
}
"""Those that choose something as well: a person spends their ρ only where a choice tells all that it may."""


def make(kind: str, **fields: object) -> Mechanism:
    found: Mechanism = geodp.plugin(kind, noise="gaussian", epsilon=1.0, **(KINDS | CHOOSING)[kind], **fields)
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


@pytest.mark.parametrize("kind", CHOOSING)
def test_choices_and_counts_share_the_rho(kind: str) -> None:
    crowd = ([0.0, 100.0, -900.0], [0.0, 50.0, 300.0])
    promise = make(kind).guarantee()
    assert promise.rho == pytest.approx(largest_rho(1.0, 1e-6))
    assert promise.rho is not None
    spent = find_rho(make(kind), snap([2000.0, *crowd[0]], [900.0, *crowd[1]]), snap(*crowd))
    counts = make(kind)
    assert isinstance(counts, CountNoise)
    assert counts.counts_part * promise.rho * (1 - 1e-9) < spent <= promise.rho * (1 + 1e-9)
    half = counts.model_copy(update={"noise": "laplace"})
    assert half.find_choice_epsilon(0.5) == 0.5
    assert counts.find_choice_epsilon(0.5) ** 2 / 2 == pytest.approx(promise.rho / 2)


def test_a_number_of_workers_is_paid_for_in_the_same_currency() -> None:
    grid = geodp.plugin("uniform_grid", noise="gaussian", epsilon=1.0, count_share=0.2)
    spent = find_rho(grid, snap([5.0] * 9, [5.0] * 9), snap([5.0] * 8, [5.0] * 8))
    assert spent == pytest.approx(grid.guarantee().rho, rel=1e-9)


@pytest.mark.parametrize("fields", [{"sampling": "fixed", "measure_every": 2}, {"sampling": "pid", "samples": 3}])
def test_measured_releases_spend_their_parts(fields: dict[str, Any]) -> None:
    mechanism = geodp.plugin("kalman_counts", noise="gaussian", epsilon=1.0, **fields, **KINDS["kalman_counts"])
    spent = follow_series(mechanism, 6)
    whole = mechanism.presence_promise(6, 6)
    assert whole is not None
    assert whole.rho == pytest.approx(largest_rho(1.0, 1e-6) * (3 if fields["sampling"] == "fixed" else 1))
    parts = spent / whole.rho * 3  # of three, as many as were measured
    assert parts == pytest.approx(round(parts), rel=1e-6)
    assert 1 <= round(parts) <= 3
    assert fields["sampling"] == "pid" or round(parts) == 3


def test_written_out_settings_of_a_series_are_read_again() -> None:
    facts = PublicFacts(500, 0, 1, 0, TOWN.width_m, TOWN.height_m, releases=8)
    made = geodp.plugin("kalman_counts", noise="gaussian", epsilon=1.0, delta=1e-5).resolve(facts)
    assert made.cells.noise == "laplace"  # the series has its own, and the cells say nothing of it
    assert made.expected_noise() == pytest.approx(math.sqrt(1 / largest_rho(1.0, 1e-5) / math.pi))
    assert made.guarantee().delta == 1e-5


@pytest.mark.parametrize("scheme", ["bd", "ba"])
def test_a_window_spends_no_more_than_its_rho(scheme: str) -> None:
    mechanism = geodp.plugin(
        "w_event_counts", noise="gaussian", epsilon=2.0, window=3, scheme=scheme, cells={"cell_m": 2000.0}
    )
    spent, releases = follow_series(mechanism, 3, crowds=True), []
    rho = largest_rho(2.0, 1e-6)
    assert 0.5 * rho * (1 - 1e-9) <= spent <= rho * (1 + 1e-9)
    series = mechanism.begin_series(12)
    paid: list[Guarantee] = []
    for number in range(12):
        before = len(paid)
        series.release(snap([900.0 * number] * 300, [0.0] * 300), SimulatedNoise(np.random.default_rng(number)),
                       pay=paid.append)  # fmt: skip
        releases.append(sum(each.rho or math.nan for each in paid[before:]))
    assert max(sum(releases[at : at + 3]) for at in range(10)) <= rho * (1 + 1e-9)
    assert mechanism.presence_promise(12, 12).rho == pytest.approx(4 * rho)


def test_a_series_of_samples_has_less_noise_than_with_laplace() -> None:
    """Sixteen samples share ρ: each costs a sixteenth, and its noise grows by 4 instead of 16."""
    cells = {"kind": "uniform_grid", "cell_m": 1000.0}
    of = {noise: geodp.plugin("kalman_counts", noise=noise, epsilon=1.0, sampling="pid", samples=samples, cells=cells)
          .expected_noise() for noise, samples in (("laplace", 16), ("gaussian", 16))}  # fmt: skip
    one = geodp.plugin("kalman_counts", noise="gaussian", epsilon=1.0, sampling="pid", samples=1, cells=cells)
    assert of["laplace"] == pytest.approx(16.0)
    assert of["gaussian"] == pytest.approx(4 * one.expected_noise(), rel=1e-6)
    assert of["gaussian"] < of["laplace"]


def follow_series(mechanism: Mechanism, releases: int, *, crowds: bool = False) -> float:
    """Return the ρ of one person more at all releases of a series."""
    crowd = [[1000.0 * number] * (200 if crowds else 1) for number in range(releases)]

    def play(noise: Any, more: list[float]) -> None:
        series = mechanism.begin_series(releases)
        for at in crowd:
            series.release(snap([*more, *at], [*more, *at]), noise)

    overheard = Overheard(SimulatedNoise(np.random.default_rng(3)))
    play(overheard, [5.0])
    retold = Retold(overheard)
    play(retold, [])
    assert retold.finished
    return retold.spent_rho


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


@pytest.mark.parametrize("kind", ["pegasus", "pdp_exponential", "pdp_sample", "cloak", "no_privacy", "round_to"])
def test_who_has_no_such_noise_says_why(kind: str) -> None:
    with pytest.raises(ValueError, match="there is none here: .{15}"):
        geodp.plugin(kind, noise="gaussian")


def test_coins_and_own_cells_have_laplace_noise() -> None:
    with pytest.raises(ValueError, match="by how much no ρ is"):
        geodp.plugin("pdp_sample", cells={"kind": "uniform_grid", "noise": "gaussian"})
