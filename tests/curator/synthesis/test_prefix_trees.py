"""Walks over prefix trees: exact counts give back the empirical model, and direction weights can be switched off."""

import numpy as np

from geodp.curator.synthesis.epsilon_parts import EpsilonParts
from geodp.curator.synthesis.grids import ReferenceSystems
from geodp.curator.synthesis.prefix_trees import Direction, PrefixTrees, grow_trees, level_parts, walk_trees
from geodp.curator.synthesis.tokens import END, tokenise
from geodp.privacy.noise import SimulatedNoise
from tests.curator.synthesis.small_town import TOWN, trips

ONE_GRID = ReferenceSystems.over(TOWN, 800.0, 1)
STRAIGHT_ON, ANYWHERE = Direction(3.0, 1), Direction(0.0, 1)


def exact(order: int) -> PrefixTrees:
    tokens = tokenise(trips(), ONE_GRID)
    parts = EpsilonParts(SimulatedNoise(np.random.default_rng(0)), dict.fromkeys(level_parts(order), 1e9))
    bound = float(tokens.counts.max())
    return grow_trees(tokens, np.ones(tokens.first.size - 1), parts, order=order, bound=bound)


def test_without_noise_the_counts_are_the_empirical_ones() -> None:
    trees, tokens = exact(1), tokenise(trips(), ONE_GRID)
    assert np.allclose(trees.starts, np.bincount(tokens.starts, minlength=ONE_GRID.cells), atol=1e-5)
    assert np.allclose(trees.visits, np.bincount(tokens.state, minlength=ONE_GRID.cells), atol=1e-5)
    node = trees.node[tokens.state]
    table = np.zeros_like(trees.depths[0].counts)
    np.add.at(table, (node, tokens.token), 1.0)
    assert np.allclose(trees.depths[0].counts, table, atol=1e-3)


def test_without_direction_weights_moves_follow_the_counts() -> None:
    """Plain sampling: the chi-square statistic of the moves from the busiest cell (false alarm below 1e-6)."""
    from scipy.stats import chi2

    trees = exact(1)
    walks = walk_trees(trees, np.full(1000, 30), ANYWHERE, np.random.default_rng(0))
    cell = int(np.argmax(trees.visits))
    inner = np.setdiff1d(np.flatnonzero(walks.cell == cell), walks.first[1:] - 1)
    weights, target = trees.depths[0].counts[trees.node[cell]].copy(), trees.depths[0].target[trees.node[cell]]
    weights[END] = 0.0
    seen = np.array([np.count_nonzero(walks.cell[inner + 1] == to) for to in target[weights > 1e-3]])
    due = weights[weights > 1e-3] / weights[weights > 1e-3].sum() * inner.size
    assert seen.sum() == inner.size
    assert ((seen - due) ** 2 / due).sum() < chi2.isf(1e-6, due.size - 1)


def test_direction_weights_make_ways_straighter() -> None:
    trees = exact(1)

    def turns(direction: Direction) -> float:
        walks = walk_trees(trees, np.full(2000, 20), direction, np.random.default_rng(1))
        _, column, row = ONE_GRID.place(walks.cell)
        steps = np.stack([np.diff(column), np.diff(row)])
        steps = np.delete(steps, walks.first[1:-1] - 1, axis=1)
        moving = (steps[:, :-1] != 0).any(axis=0) & (steps[:, 1:] != 0).any(axis=0)
        return float((steps[:, :-1] * steps[:, 1:]).sum(axis=0)[moving].mean())

    assert turns(STRAIGHT_ON) > turns(ANYWHERE) + 0.2


def test_walks_have_the_length_asked_for() -> None:
    points = np.array([1, 2, 7, 30])
    walks = walk_trees(exact(2), points, STRAIGHT_ON, np.random.default_rng(2))
    assert np.diff(walks.first).tolist() == points.tolist()
