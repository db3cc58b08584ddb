from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from geodp import plugin
from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms.privtree import MAX_DEPTH, SortedPlaces, decay_of, division_logits
from geodp.errors import DataError
from geodp.geometry import Region
from geodp.public.guarantee import Neighbours
from tests.curator.mechanisms.crowds import REGION, RecordingNoise, crowd, noise
from tests.curator.mechanisms.forced import every_decision

TOWN = Region(-0.02, -0.02, 0.02, 0.02)


def places(*points: tuple[float, float], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Snapshot:
    """Return people at places given as shares of the region's sides."""
    west, south, _, _ = TOWN.box_m
    at = np.array(points).reshape(-1, 2)
    x, y = west + at[:, 0] * TOWN.width_m, south + at[:, 1] * TOWN.height_m
    return Snapshot(0.0, x, y, TOWN, 10.0, neighbours)


def test_a_node_is_divided_as_often_as_laplace_noise_lifts_it_above_zero() -> None:
    biased = np.array([-30.0, -1.0, 0.0, 0.5, 40.0])
    logits = division_logits(biased, 3.0)
    law = stats.laplace(loc=biased, scale=3.0)
    assert np.exp(logits) == pytest.approx(np.column_stack([law.cdf(0), law.sf(0)]))
    assert np.exp(logits).sum(axis=1) == pytest.approx(1.0)


def test_an_empty_node_below_the_root_is_divided_once_in_eight() -> None:
    assert np.exp(division_logits(np.array([-decay_of(7.0)]), 7.0)[0, 1]) == pytest.approx(1 / 8)


def path_cost(places: np.ndarray, scale: float) -> float:
    """Return ln of what one worker multiplies the divisions of her path by, from c - d δ of its nodes with her."""
    least = -decay_of(scale)
    with_her, without = (
        division_logits(np.maximum(at, least), scale)[:, 1] for at in (np.asarray(places), np.asarray(places) - 1)
    )
    return float((with_her - without).sum())


@pytest.mark.parametrize("scale", [0.01, 0.3, 0.7, 1.0, 4.0, 50.0])
def test_no_path_costs_more_than_seven_thirds_of_one_worker_over_the_scale(scale: float) -> None:
    """Nodes δ apart at any offset (the closest there can be), and random ones at least δ apart."""
    decay, most = decay_of(scale), 7 / (3 * scale)
    offsets = np.linspace(0.0, max(decay, 1.0), 400)
    steps = np.arange(200) * decay
    costs = [path_cost(-decay + offset + steps, scale) for offset in offsets]
    rng = np.random.default_rng(0)
    costs += [path_cost(-decay + np.cumsum(decay + rng.exponential(1, 50) * rng.random()), scale) for _ in range(300)]
    assert max(costs) <= most
    exact = (
        1 + sum(1 / (2 * 4**k - 1) for k in range(40))
    ) / scale  # where the scale is wide: the derivation, unrounded
    if scale >= 4:
        assert max(costs) == pytest.approx(exact, rel=0.15)


@pytest.mark.parametrize(
    ("with_", "without", "neighbours"),
    [
        (places((0.1, 0.1)), places(), Neighbours.ADD_REMOVE),
        (places((0.1, 0.1), (0.1, 0.1), (0.9, 0.2)), places((0.1, 0.1), (0.9, 0.2)), Neighbours.ADD_REMOVE),
        (places((0.1, 0.1), (0.1, 0.1)), places((0.1, 0.1), (0.9, 0.9)), Neighbours.REPLACE),
    ],
)
@pytest.mark.parametrize("epsilon", [0.4, 3.0, 40.0])
def test_exact_laws_of_all_trees_differ_by_no_more_than_the_tree_pays(
    with_: Snapshot, without: Snapshot, neighbours: Neighbours, epsilon: float
) -> None:
    """Every tree of depth 2: one root, or 2^4 ways to divide its quarters."""
    mechanism = plugin("privtree", epsilon=epsilon, tree_share=0.5, least_cell_m=1000.0)
    laws = []
    for people in (with_, without):
        taken = Snapshot(0.0, people.x_m, people.y_m, TOWN, 10.0, neighbours)
        laws.append(every_decision(partial(mechanism.release, taken)))
    assert len(laws[0]) == 17
    for law in laws:
        assert np.exp([chance for chance, _ in law.values()]).sum() == pytest.approx(1.0)
    assert laws[0].keys() == laws[1].keys()
    ratio = max(abs(laws[0][tree][0] - laws[1][tree][0]) for tree in laws[0])
    assert 0.1 * epsilon / 2 < ratio <= epsilon / 2


def test_leaves_have_laplace_noise_of_their_own_and_the_tree_none_of_it() -> None:
    """Kolmogorov–Smirnov at 1e-6 on all leaves of 30 trees; their mean is 0 within six standard errors."""
    taken, mechanism = crowd(6000), plugin("privtree", epsilon=0.5, tree_share=0.4)
    errors = []
    for seed in range(30):
        release = mechanism.release(taken, noise(seed))
        true = np.bincount(release.locate(taken.x_m, taken.y_m), minlength=release.count.size)
        errors.append(release.count - true)
        assert set(release.noise_scale) == {1 / (0.5 - 0.4 * 0.5)}
        assert release.noise_terms is None
    pooled = np.concatenate(errors)
    scale = 1 / 0.3
    assert pooled.size > 5000
    assert stats.kstest(pooled, stats.laplace(scale=scale).cdf).pvalue > 1e-6
    assert abs(pooled.mean()) < 6 * math.sqrt(2) * scale / math.sqrt(pooled.size)


def test_where_nobody_is_trees_end_after_four_leaves_on_average() -> None:
    """The root is divided once in two, every other node once in eight: 1/2 + 1/2 · 4 · (1/8 + …) = 1 division each."""
    mechanism, nobody = plugin("privtree"), places()
    leaves = np.array([mechanism.release(nobody, noise(seed)).count.size for seed in range(3000)])
    assert leaves.mean() == pytest.approx(4.0, abs=6 * leaves.std() / math.sqrt(leaves.size))


def test_with_hardly_any_noise_a_crowd_is_followed_down_to_the_least_cell() -> None:
    taken = places(*[(0.3001, 0.7001)] * 50)
    release = plugin("privtree", epsilon=1e4, least_cell_m=1.0).release(taken, noise(0))
    cell = release.locate(taken.x_m[:1], taken.y_m[:1])[0]
    assert release.count[cell] == pytest.approx(50, abs=0.01)
    assert 1.0 <= release.east_m[cell] - release.west_m[cell] < 2.0
    deep = plugin("privtree", epsilon=1e6, least_cell_m=1e-9).release(taken, noise(0))
    narrow = deep.east_m - deep.west_m
    assert narrow.min() == pytest.approx(TOWN.width_m / 2**MAX_DEPTH, rel=1e-6)


def test_counts_of_squares_are_those_of_a_direct_count() -> None:
    taken = crowd(3000)
    people = SortedPlaces.of(taken, 5)
    release = plugin("privtree", epsilon=30.0, least_cell_m=REGION.height_m / 40).release(taken, RecordingNoise())
    x, y = taken.x_m, taken.y_m
    edges = zip(release.west_m, release.south_m, release.east_m, release.north_m, strict=True)
    direct = [np.count_nonzero((x >= w) & (x < e) & (y >= s) & (y < n)) for w, s, e, n in edges]
    assert release.count.size > 100
    assert np.abs(release.count - direct).sum() <= 4  # points on an edge
    assert people.count(np.array([0]), 5).tolist() == [3000]


def test_the_shares_add_up_and_neighbours_double_the_scales() -> None:
    mechanism = plugin("privtree", epsilon=0.6, tree_share=0.25)
    source: Any = RecordingNoise()
    mechanism.release(crowd(2000, Neighbours.REPLACE), source)
    assert float(source.laplaces[0][0][0]) == pytest.approx(2 / 0.45)
    first = source.choices[0][0]  # the root has all people: the log odds are those of Laplace noise
    assert first[0] == pytest.approx(-math.log(2) - 2000 / (2 * 7 / 3 / 0.15))


def test_too_many_cells_are_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    from geodp.curator.mechanisms import privtree

    monkeypatch.setattr(privtree, "MAX_CELLS", 50)
    with pytest.raises(DataError, match="larger least_cell_m"):
        plugin("privtree", epsilon=100.0).release(crowd(5000), noise(1))
