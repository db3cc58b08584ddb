"""How cells of releases are grouped: parts of coarse cells, blocks, siblings of trees; plots between lines are not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from geodp import plugin
from geodp.curator.mechanisms import Snapshot
from geodp.geometry import Array, Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Guarantee
from geodp.public.release import AdaptiveCells, Cells, Contours
from geodp.server.cell_groups import Groups, add_up, expect_evenly, expect_from_surroundings, group_cells
from geodp.server.count_beliefs import believe_counts
from geodp.server.density_change import DensityChange
from tests.benchmarks._planning_worlds import SAN_FRANCISCO, smooth
from tests.server.noisy_worlds import released

REGION = Region(10.0, 50.0, 10.1, 50.05)


def made(kind: str, epsilon: float = 1.0, seed: int = 1, workers: int = 4000) -> Cells:
    rng = np.random.default_rng(seed)
    x, y = REGION.sample(workers, rng)
    crowd = rng.random(workers) < 0.5
    x[crowd], y[crowd] = x[crowd] / 8 + 900.0, y[crowd] / 8 - 700.0
    cells: Cells = plugin(kind, epsilon=epsilon).release(
        Snapshot(0.0, x, y, REGION, float(workers)), SimulatedNoise(np.random.default_rng(seed))
    )
    return cells


def grouped(release: Cells) -> Groups:
    groups = group_cells(release)
    assert groups is not None
    return groups


def cut(rectangles: Iterable[tuple[float, float, float, float]], count: Array) -> Cells:
    west, south, east, north = (np.array(edge) for edge in zip(*rectangles, strict=True))
    return Cells(0.0, "test", Guarantee.none("a test"), west, south, east, north, count, np.full(count.size, 3.0), 0.0)


def quartered() -> Cells:
    """Return a square of which the north-eastern quarter is divided once more."""
    whole = [(0.0, 0.0, 4.0, 4.0), (4.0, 0.0, 8.0, 4.0), (0.0, 4.0, 4.0, 8.0)]
    small = [(4.0, 4.0, 6.0, 6.0), (6.0, 4.0, 8.0, 6.0), (4.0, 6.0, 6.0, 8.0), (6.0, 6.0, 8.0, 8.0)]
    return cut(whole + small, np.array([10.0, 20.0, 30.0, 4.0, 3.0, 2.0, 1.0]))


def test_siblings_of_a_tree_are_a_group_and_know_its_halves() -> None:
    groups = grouped(quartered())
    assert groups.group.tolist() == [groups.group[0]] * 3 + [groups.group[3]] * 4
    assert groups.group[0] != groups.group[3]
    big, small = groups.group[0], groups.group[3]
    assert groups.parts[[big, small]].tolist() == [3, 4]
    assert groups.total_noise[[big, small]].tolist() == [3 * 18.0, 4 * 18.0]
    assert groups.area[[big, small]].tolist() == [48.0, 16.0]
    western, southern = groups.halves
    assert western.tolist() == [True, False, True, True, False, True, False]
    assert southern.tolist() == [True, True, False, True, True, False, False]
    assert groups.near.toarray().tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_cells_of_different_shape_stand_by_themselves() -> None:
    strips = [(0.0, 0.0, 3.0, 8.0), (3.0, 0.0, 8.0, 5.0), (3.0, 5.0, 8.0, 8.0)]
    assert sorted(grouped(cut(strips, np.array([3.0, 4.0, 5.0]))).parts.tolist()) == [1, 1, 1]


@pytest.mark.parametrize("kind", ["quadtree", "privtree", "hierarchical_grid", "dawa", "dpcube", "kd_tree"])
def test_every_cell_of_a_tree_is_in_one_group_of_its_own_shape(kind: str) -> None:
    release = made(kind)
    groups = grouped(release)
    number = groups.parts.size
    assert np.bincount(groups.group, minlength=number).tolist() == groups.parts.tolist()
    assert groups.area == pytest.approx(add_up(groups.group, release.area_m2, number))
    for edge in (release.east_m - release.west_m, release.north_m - release.south_m):
        low, high = np.full(number, np.inf), np.full(number, -np.inf)
        np.minimum.at(low, groups.group, edge)
        np.maximum.at(high, groups.group, edge)
        assert low == pytest.approx(high, rel=1e-6)
    assert (groups.parts > 1).any() or kind in ("dpcube", "kd_tree")


@pytest.mark.parametrize("kind", ["quadtree", "privtree"])
def test_siblings_share_what_their_total_tells(kind: str) -> None:
    """Means add up to the totals' means, and a group's noise is spread over its parts."""
    release = made(kind, epsilon=0.2)
    groups, belief = grouped(release), believe_counts(release)
    assert (belief.mean > 0).all()
    assert not belief.intensity
    assert belief.group.tolist() == groups.group.tolist()
    total = add_up(groups.group, release.count, groups.parts.size)
    clear = total > 8 * np.sqrt(groups.total_noise)
    assert clear.any()
    assert add_up(groups.group, belief.mean, groups.parts.size)[clear] == pytest.approx(total[clear], rel=0.1)


def test_what_is_expected_of_groups_of_different_size_is_their_surroundings_density() -> None:
    """Even densities are expected evenly; a group's own noise does not vouch for it."""
    release = quartered()
    groups = grouped(release)
    even = groups.area * 2.0
    assert expect_from_surroundings(even, groups) == pytest.approx(even)
    assert expect_evenly(even, groups.total_noise, groups.area) == pytest.approx(even)


def test_smoothed_plots_that_are_read_between_lines_have_no_groups() -> None:
    plot = released(np.full((6, 6), 20.0), 2.0, smoothing_cells=1.0)
    assert isinstance(plot, Contours)
    assert group_cells(plot) is not None
    assert group_cells(replace(plot, reading="between_lines")) is None


def test_an_adaptive_grid_carries_its_coarse_counts_and_they_give_back_the_sums_of_fine_ones() -> None:
    """Where nobody moves, both readings together show next to no change; their average seems to change by more."""
    world = smooth(3, tasks=1)
    mechanism = plugin("adaptive_grid", epsilon=0.1)
    both, average = [], []
    for seed in range(6):
        apart, together = DensityChange(), DensityChange()
        for number in range(7):
            noise = SimulatedNoise(np.random.default_rng([seed, number]))
            made = mechanism.release(Snapshot(600.0 * number, world.x_m, world.y_m, SAN_FRANCISCO, 6000.0), noise)
            assert isinstance(made, AdaptiveCells)
            assert made.coarse_count is not None
            assert made.coarse_count.size == made.coarse.size
            apart.see(made)
            together.see(replace(made, coarse_count=None))
        both.append(3600 * (apart.per_s or 0.0))
        average.append(3600 * (together.per_s or 0.0))
    assert np.mean(both) < np.mean(average)


def test_a_coarse_count_is_noisy_and_stands_apart_from_the_fine_ones() -> None:
    """Where nobody is, it is noise of the stated scale: six standard errors of its variance, false alarm below 1e-8."""
    squares = []
    for seed in range(60):
        release = made("adaptive_grid", epsilon=0.5, seed=seed, workers=0)
        assert isinstance(release, AdaptiveCells)
        assert release.coarse_count is not None
        assert release.coarse_scale is not None
        squares.append((release.coarse_count / release.coarse_scale) ** 2)
    found = np.concatenate(squares)
    assert found.mean() == pytest.approx(2.0, abs=6 * np.sqrt(20.0 / found.size))
