"""Counts that add up: the golden tree, and least squares done densely."""

from __future__ import annotations

import numpy as np
import pytest

from geodp.flows.tree import clip_tree, fit_tree

PARENT = [-1, 0, 0, 1, 1, 2, 2, 2]


def test_the_golden_tree() -> None:
    noisy = np.array([100, 47, 58, 20, 30, 25, 18, 11], dtype=float)
    value, variance = fit_tree(PARENT, noisy, [4, 4, 4, 16, 16, 16, 16, 16])
    assert value.round(6).tolist() == [
        101.787234, 45.744681, 56.042553, 17.872340, 27.872340, 25.680851, 18.680851, 11.680851,
    ]  # fmt: skip
    assert variance.round(6).tolist() == [
        2.577508, 2.431611, 2.480243, 8.607903, 8.607903, 10.942249, 10.942249, 10.942249,
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_the_fit_is_dense_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 30))
    parent = np.array([-1, *(int(rng.integers(max(0, node - 5), node)) for node in range(1, size))])
    leaves = np.setdiff1d(np.arange(size), parent)
    variance = rng.uniform(0.5, 20, size)
    inner = np.setdiff1d(np.arange(size), leaves)
    variance[inner[rng.random(inner.size) < 0.3]] = np.inf
    noisy = rng.normal(50, 20, (size, 3))
    sums = np.zeros((size, leaves.size))
    for column, leaf in enumerate(leaves):
        node = int(leaf)
        while node >= 0:
            sums[node, column] = 1
            node = int(parent[node])
    weight = np.where(np.isfinite(variance), 1 / variance, 0)
    normal = np.linalg.inv(sums.T @ (weight[:, None] * sums))
    value, spread = fit_tree(parent, noisy, variance)
    np.testing.assert_allclose(value, sums @ (normal @ (sums.T @ (weight[:, None] * noisy))), rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(spread, np.diag(sums @ normal @ sums.T), rtol=1e-9)


def test_clipped_counts_add_up_and_are_not_negative() -> None:
    fitted = np.random.default_rng(0).normal(0, 5, (8, 200))
    found = clip_tree(PARENT, fitted)
    assert (found >= 0).all()
    for up in (0, 1, 2):
        below = found[[node for node, above in enumerate(PARENT) if above == up]].sum(axis=0)
        some = below > 0
        np.testing.assert_allclose(below[some], found[up][some])
    np.testing.assert_array_equal(found[0], np.maximum(fitted[0], 0))
