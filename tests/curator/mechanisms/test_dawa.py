from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from geodp import plugin
from geodp.curator.decomposition import Boxes
from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms.dawa import deviations, draw_squares, weigh_quadtrees
from geodp.geometry import Region
from geodp.public.guarantee import Neighbours
from geodp.registry import PublicFacts
from tests.curator.mechanisms.crowds import REGION, RecordingNoise, crowd, noise
from tests.curator.mechanisms.forced import every_decision

TOWN = Region(-0.02, -0.02, 0.02, 0.02)


def on_cells(counts: np.ndarray, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Snapshot:
    """Return as many people as given in the middle of every cell of a square grid."""
    side = len(counts)
    west, south, _, _ = TOWN.box_m
    row, column = np.divmod(np.repeat(np.arange(side**2), counts.ravel()), side)
    x = west + (column + 0.5) * TOWN.width_m / side
    y = south + (row + 0.5) * TOWN.height_m / side
    return Snapshot(0.0, x, y, TOWN, 10.0, neighbours)


def leaf_score(counts: np.ndarray, boxes: Boxes, scale: float) -> float:
    edges = zip(boxes.west, boxes.south, boxes.east, boxes.north, strict=True)
    parts = [counts[s:n, w:e] for w, s, e, n in edges]
    return float(sum(np.abs(part - part.mean()).sum() + scale for part in parts))


def test_deviations_are_sums_of_distances_from_the_mean() -> None:
    counts = np.random.default_rng(0).poisson(3.0, (8, 8))
    for level, found in enumerate(deviations(counts)):
        wide = 8 >> level
        parts = [[counts[r : r + wide, c : c + wide] for c in range(0, 8, wide)] for r in range(0, 8, wide)]
        assert found == pytest.approx(np.array([[np.abs(p - p.mean()).sum() for p in row] for row in parts]))


def test_one_worker_changes_a_deviation_by_less_than_two() -> None:
    """The change is at most 2 (1 - 1/n), which is reached, and only in the squares that hold her cell."""
    rng, most = np.random.default_rng(1), {1: 0.0, 4: 0.0, 16: 0.0}
    for _ in range(400):
        counts = rng.poisson(rng.choice([0.0, 0.1, 3.0]), (4, 4))
        more = counts.copy()
        more[tuple(rng.integers(0, 4, 2))] += 1
        for one, other in zip(deviations(counts), deviations(more), strict=True):
            change = np.abs(one - other)
            assert np.count_nonzero(change > 1e-9) <= 1
            cells = 16 // one.size
            most[cells] = max(most[cells], float(change.max()))
    assert most[1] < 1e-12
    assert [most[4], most[16]] == pytest.approx([2 * 3 / 4, 2 * 15 / 16])


def test_quadtrees_are_drawn_by_their_scores_exactly() -> None:
    """All 17 quadtrees over 4 × 4 cells: probability ∝ prior · exp(-ε1 score / 4)."""
    counts = np.array([[9, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 3], [0, 0, 4, 0]])
    mechanism = plugin("dawa", epsilon=2.0, height=2, partition_share=0.3, divided=0.4)
    found = every_decision(partial(mechanism.release, on_cells(counts)))
    scale, side = 1 / 1.4, TOWN.width_m / 4
    wanted = {}
    for tree, (_, made) in found.items():
        edges = (
            np.rint((e - o) / side).astype(int) for e, o in ((made.west_m, TOWN.box_m[0]), (made.east_m, TOWN.box_m[0]))
        )
        west, east = edges
        south = np.rint((made.south_m - TOWN.box_m[1]) / (TOWN.height_m / 4)).astype(int)
        north = np.rint((made.north_m - TOWN.box_m[1]) / (TOWN.height_m / 4)).astype(int)
        quarters = (made.count.size - 4) // 3 if made.count.size > 1 else 0
        prior = (
            math.log(0.6)
            if made.count.size == 1
            else math.log(0.4) + quarters * math.log(0.4 / 0.6) + 4 * math.log(0.6)
        )
        wanted[tree] = prior - 0.6 / 4 * leaf_score(counts, Boxes(west, south, east, north), scale)
    total = np.logaddexp.reduce(list(wanted.values()))
    assert len(found) == 17
    for tree, (chance, _) in found.items():
        assert chance == pytest.approx(wanted[tree] - total)


@pytest.mark.parametrize("epsilon", [0.4, 5.0])
def test_exact_laws_of_all_quadtrees_differ_by_no_more_than_the_choice_pays(epsilon: float) -> None:
    counts = np.array([[9, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
    more, elsewhere = counts.copy(), counts.copy()
    more[3, 3] += 1
    elsewhere[0, 0] -= 1
    elsewhere[3, 3] += 1
    mechanism = plugin("dawa", epsilon=epsilon, height=2, partition_share=0.5)
    for other, neighbours in ((more, Neighbours.ADD_REMOVE), (elsewhere, Neighbours.REPLACE)):
        taken = [on_cells(at, neighbours) for at in (counts, other)]
        one, two = (every_decision(partial(mechanism.release, each)) for each in taken)
        ratio = max(abs(one[tree][0] - two[tree][0]) for tree in one)
        assert 0.1 * epsilon / 2 < ratio <= epsilon / 2


def test_weights_add_up_to_those_of_all_quadtrees() -> None:
    """With all weights 1 and a prior of 1/2 over three levels: 1/2 + 1/2 · 1 for a quarter, and so on."""
    whole = [np.zeros((2**level, 2**level)) for level in range(4)]
    stays, parts = weigh_quadtrees(whole, 0.5)
    assert [len(level) for level in parts] == [1, 2, 4]
    assert np.exp(np.logaddexp(stays[0], parts[0])) == pytest.approx(np.ones((1, 1)))
    boxes = draw_squares(stays, parts, noise(0))
    assert ((boxes.east - boxes.west) * (boxes.north - boxes.south)).sum() == 64


def test_squares_have_laplace_noise_of_their_own() -> None:
    """Kolmogorov–Smirnov at 1e-6 on all squares of 30 releases; their mean is 0 within six standard errors."""
    taken, mechanism = crowd(6000), plugin("dawa", epsilon=0.5, partition_share=0.4)
    errors = []
    for seed in range(30):
        release = mechanism.release(taken, noise(seed))
        true = np.bincount(release.locate(taken.x_m, taken.y_m), minlength=release.count.size)
        errors.append(release.count - true)
        assert release.noise_scale == pytest.approx(np.full(true.size, 1 / 0.3))
        assert release.noise_terms == pytest.approx(np.ones(true.size))
    pooled = np.concatenate(errors)
    assert pooled.size > 3000
    assert stats.kstest(pooled, stats.laplace(scale=1 / 0.3).cdf).pvalue > 1e-6
    assert abs(pooled.mean()) < 6 * math.sqrt(2) / 0.3 / math.sqrt(pooled.size)


def test_even_places_stay_whole_and_uneven_ones_are_divided() -> None:
    """A crowd fills one quarter evenly: the quarter and the rest are few squares, until the crowd is in one corner."""
    counts = np.zeros((16, 16), dtype=np.int64)
    counts[:8, :8] = 50
    mechanism = plugin("dawa", epsilon=20.0, height=4, divided=1e-4)
    even = mechanism.release(on_cells(counts), noise(1))
    assert even.count.size == 4
    assert np.sort(even.count) == pytest.approx([0, 0, 0, 3200], abs=2)
    counts[:8, :8] = 0
    counts[0, 0] = 3200
    corner = mechanism.release(on_cells(counts), noise(1))
    assert corner.count.size == 1 + 3 * 4


def test_the_shares_add_up_and_the_height_follows_the_guideline() -> None:
    source = RecordingNoise()
    plugin("dawa", epsilon=0.5, partition_share=0.2).release(crowd(900, Neighbours.REPLACE), source)
    assert float(source.laplaces[0][0][0]) == pytest.approx(2 / 0.4)
    facts = PublicFacts(70_000, 0, 1, 0, REGION.width_m, REGION.height_m)
    assert plugin("dawa", epsilon=0.4).resolve(facts).height == 6  # 52.9 cells per side, so 64
