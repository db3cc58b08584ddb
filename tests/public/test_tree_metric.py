"""The public tree: its metric by walking up from leaf to leaf, and the law of reports by enumeration."""

import math

import numpy as np
import pytest

from geodp.errors import DataError, UsageError
from geodp.geometry import Grid
from geodp.public.tree_metric import PublicTree, TreeChannel

BOX = (-400.0, -300.0, 400.0, 300.0)
TREE = PublicTree(BOX, 3)
LAW = TreeChannel(0.004, 100.0, BOX)
EVERY = np.arange(TREE.grid.size)


def walked(leaf: int, other: int) -> int:
    """Return the level at which two leaves meet, by walking up one square at a time."""
    level, (a, b) = 0, (divmod(leaf, 8), divmod(other, 8))
    while a != b:
        level, a, b = level + 1, (a[0] // 2, a[1] // 2), (b[0] // 2, b[1] // 2)
    return level


def test_leaves_meet_where_their_squares_do_and_rings_have_as_many() -> None:
    assert LAW.tree == TREE
    levels = TREE.find_meeting_level(EVERY[:, None], EVERY)
    assert levels.tolist() == [[walked(a, b) for b in range(64)] for a in range(64)]
    for row in levels:
        assert np.bincount(row).tolist() == TREE.ring.tolist() == [1, 3, 12, 48]


def test_the_metric_is_one_and_never_shorter_than_the_crow_flies() -> None:
    far = TREE.distance_m[TREE.find_meeting_level(EVERY[:, None], EVERY)]
    x, y = TREE.centres(EVERY)
    crow = np.hypot(x[:, None] - x, y[:, None] - y)
    assert (far >= crow - 1e-9).all()
    assert far[0, 63] == pytest.approx(crow[0, 63])  # tight between opposite corners
    assert (far[:, :, None] <= np.maximum(far[:, None, :], far[None, :, :].transpose(0, 2, 1)) + 1e-9).all()
    hair = TREE.between_m((-0.001, 50.0), (0.001, 50.0))
    assert hair == pytest.approx(far.max()), "a hair apart across the first cut is as far as the tree is wide"
    assert TREE.between_m((10.0, 10.0), (90.0, 70.0)) == 0.0


def test_squares_are_runs_in_the_order_of_the_tree() -> None:
    order = TREE.in_order(EVERY)
    assert sorted(order.tolist()) == EVERY.tolist()
    for level in range(4):
        same = (order[:, None] >> (2 * level)) == (order >> (2 * level))
        assert (same == (TREE.find_meeting_level(EVERY[:, None], EVERY) <= level)).all()


def test_the_law_is_what_it_says_and_spends_exactly_epsilon_times_the_distance() -> None:
    far = TREE.distance_m[TREE.find_meeting_level(EVERY[:, None], EVERY)]
    weight = np.exp(-0.004 * far)
    table = np.stack([LAW.law_of(leaf) for leaf in range(64)])
    assert table == pytest.approx(weight / weight.sum(axis=1, keepdims=True), rel=1e-12)
    spent = np.abs(np.log(table[:, None, :] / table[None, :, :])).max(axis=2)
    assert spent == pytest.approx(0.004 * far, abs=1e-12)
    x, y = TREE.centres(EVERY)
    assert LAW.likelihood(x, y, x, y) == pytest.approx(table.T)
    assert LAW.matrix(TREE.grid, TREE.grid) == pytest.approx(table)


@pytest.mark.parametrize("cells", [1, 5, 16, 63, 64, 999])
def test_squares_of_leaves_have_the_law_that_adding_up_gives(cells: int) -> None:
    small = LAW.coarse(cells)
    assert small.cells.size <= cells
    onto = small.cells.locate(*TREE.centres(EVERY))
    table = np.stack([LAW.law_of(leaf) for leaf in range(64)])
    summed = np.stack([np.bincount(onto, weights=row, minlength=small.cells.size) for row in table])
    assert small.table[onto] == pytest.approx(summed)


def test_mean_distances_and_displacements_are_those_of_random_places() -> None:
    """Means over 400,000 pairs, to 6 standard errors: false alarm below 1e-8."""
    rng = np.random.default_rng(3)
    wide = PublicTree((0.0, 0.0, 6400.0, 6400.0), 6)
    x, y, turn = rng.uniform(0, 6400, 400_000), rng.uniform(0, 6400, 400_000), rng.uniform(0, 2 * np.pi, 400_000)
    ends = ((x + 150 * np.cos(turn)) % 6400, (y + 150 * np.sin(turn)) % 6400)
    far = wide.distance_m[wide.find_meeting_level(wide.locate(x, y), wide.locate(*ends))]
    assert far.mean() == pytest.approx(wide.mean_distance_m(150.0), abs=6 * far.std() / math.sqrt(far.size))
    law = TreeChannel(0.004, 100.0, wide.box_m)
    place = wide.locate(x, y)
    leaf = _drawn(law, place, rng)
    away = np.hypot(*(a - b for a, b in zip(wide.centres(leaf), (x, y), strict=True)))
    told = law.displacement_quantiles(4000)
    assert told.mean() == pytest.approx(away.mean(), abs=6 * away.std() / math.sqrt(away.size) + 0.01 * away.mean())
    assert law.variance_m2 == pytest.approx((away**2).mean() / 2, rel=0.05)


def _drawn(law: TreeChannel, place: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a leaf by its number in the ring of a drawn level, by rejection: slow, and unlike the phone's way."""
    level = rng.choice(law.level_law.size, p=law.level_law, size=place.size)
    leaf, missing = place.copy(), np.flatnonzero(level > 0)
    while missing.size:
        mask = (1 << level[missing]) - 1
        tree = law.tree
        column, row = place[missing] & (tree.grid.columns - 1), place[missing] >> tree.levels
        tried = ((row & ~mask | rng.integers(0, mask + 1)) << tree.levels) | (
            column & ~mask | rng.integers(0, mask + 1)
        )
        right = tree.find_meeting_level(tried, place[missing]) == level[missing]
        leaf[missing[right]] = tried[right]
        missing = missing[~right]
    return leaf


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(DataError, match="at most 12: use leaves of"):
        PublicTree.over((0.0, 0.0, 1e6, 1e6), 1.0)
    with pytest.raises(UsageError, match="leaf_m must be"):
        TreeChannel(0.1, 0.0, BOX)
    with pytest.raises(UsageError, match="no characteristic"):
        LAW.characteristic(0.0, 0.0)
    assert PublicTree.over((0.0, 0.0, 10.0, 10.0), 100.0).grid == Grid(0.0, 0.0, 10.0, 10.0, 1, 1)
