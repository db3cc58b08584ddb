import numpy as np
import pytest

from geodp.curator.decomposition import Boxes, LatticeTable
from geodp.curator.tree_mechanism import Level, prune_tree, reconcile_levels

SCALES = (3.0, 2.0, 1.0)
PARENTS = (np.array([0]), np.array([0, 0, 0]), np.array([0, 0, 1, 2, 2, 2]))
"""A root with three children, which have two, one and three children: leaves that are not all alike."""


def tree(counts: np.ndarray) -> list[Level]:
    levels, start = [], 0
    for parent, scale in zip(PARENTS, SCALES, strict=True):
        edge = np.arange(parent.size)
        boxes = Boxes(edge, np.zeros_like(edge), edge + 1, np.ones_like(edge))
        levels.append(Level(boxes, parent, counts[start : start + parent.size], scale))
        start += parent.size
    return levels


def design() -> np.ndarray:
    """Return which leaves each of the ten nodes adds up."""
    leaves = np.eye(6)
    middle = np.array([leaves[PARENTS[2] == node].sum(axis=0) for node in range(3)])
    return np.vstack([np.ones(6), middle, leaves])


def test_agreement_is_weighted_least_squares() -> None:
    counts = np.random.default_rng(0).normal(20, 10, 10)
    weight = 1 / np.repeat(SCALES, [1, 3, 6])
    leaves = np.linalg.lstsq(design() * weight[:, None], counts * weight, rcond=None)[0]
    made = reconcile_levels(tree(counts))
    assert made[2].value == pytest.approx(leaves)
    assert made[1].value == pytest.approx(design()[1:4] @ leaves)
    assert made[0].value == pytest.approx([leaves.sum()])


def test_parents_equal_the_sum_of_their_children() -> None:
    made = reconcile_levels(tree(np.random.default_rng(1).normal(0, 50, 10)))
    for above, below, parent in zip(made, made[1:], PARENTS[1:], strict=False):
        assert np.bincount(parent, below.value) == pytest.approx(above.value)


def test_the_noise_law_is_that_of_the_weights() -> None:
    scale = np.repeat(SCALES, [1, 3, 6])
    for depth in range(3):
        weights = np.array([reconcile_levels(tree(unit))[depth].value for unit in np.eye(10)]) * scale[:, None]
        made = reconcile_levels(tree(np.zeros(10)))[depth]
        assert made.second == pytest.approx((weights**2).sum(axis=0))
        assert made.fourth == pytest.approx((weights**4).sum(axis=0))


def test_agreement_lowers_the_variance_of_every_node() -> None:
    for level, made in zip(tree(np.zeros(10)), reconcile_levels(tree(np.zeros(10))), strict=True):
        assert np.all(made.second < level.scale**2)


def test_pruning_keeps_what_is_not_divided_and_loses_nobody() -> None:
    levels = tree(np.array([60.0, 40.0, 5.0, 15.0, 20.0, 20.0, 5.0, 5.0, 5.0, 5.0]))
    estimates = reconcile_levels(levels)
    boxes, kept = prune_tree(levels, estimates, 10.0)
    assert boxes.size == 1 + 2 + 3  # the middle child stays whole; the others are divided
    assert kept.value.sum() == pytest.approx(estimates[0].value[0])
    assert prune_tree(levels, estimates, 1e9)[0].size == 1
    assert prune_tree(levels, estimates, 0.0)[0].size == 6


def test_any_rectangle_is_counted_by_four_look_ups() -> None:
    squares = np.random.default_rng(2).integers(0, 9, (7, 5))
    table = LatticeTable.of(squares)
    boxes = Boxes(np.array([0, 1, 4]), np.array([0, 2, 6]), np.array([5, 3, 5]), np.array([7, 5, 7]))
    assert table.within(boxes).tolist() == [squares.sum(), squares[2:5, 1:3].sum(), squares[6, 4]]
