from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from pydantic import ValidationError

from geodp import plugin
from geodp.curator.mechanisms.hierarchical_grid import (
    HierarchicalGrid,
    best_branching,
    best_growth,
    level_shares,
    range_variance,
)
from geodp.public.guarantee import Neighbours
from geodp.public.release import LatticeCells
from geodp.registry import PublicFacts
from tests.curator.mechanisms.crowds import RecordingNoise, crowd, noise


def agreement(branching: tuple[int, ...], epsilons: list[float]) -> np.ndarray:
    """Return the covariance of leaves by least squares: (Σ A' A ε²/2)⁻¹, rows of A add up the cells of a level."""
    side = math.prod(branching)
    row, column = np.divmod(np.arange(side**2), side)
    told, across = np.zeros((side**2, side**2)), 1
    for parts, epsilon in zip(branching, epsilons, strict=True):
        across *= parts
        cell = (row * across // side) * across + column * across // side
        told += (cell[:, None] == cell[None, :]) * epsilon**2 / 2
    return np.linalg.inv(told)


@pytest.mark.parametrize("branching", [(3, 2), (2, 2, 2), (4,)])
def test_stated_noise_is_that_of_weighted_least_squares(branching: tuple[int, ...]) -> None:
    mechanism = plugin("hierarchical_grid", epsilon=0.8, branching=branching)
    release = mechanism.release(crowd(500), noise(1))
    covariance = agreement(branching, mechanism._level_epsilons(branching))
    assert 2 * release.noise_scale**2 == pytest.approx(np.diag(covariance))


def test_leaves_are_the_least_squares_solution() -> None:
    branching, taken = (2, 3), crowd(2000)
    mechanism = plugin("hierarchical_grid", epsilon=0.5, branching=branching)

    class Written(RecordingNoise):
        def laplace(self, scale, size):  # type: ignore[no-untyped-def]
            super().laplace(scale, size)
            return np.random.default_rng(len(self.laplaces)).normal(0, 9, size)

    release = mechanism.release(taken, Written())
    assert isinstance(release, LatticeCells)
    true = release.lattice.count(taken.x_m, taken.y_m)
    row, column = np.divmod(np.arange(36), 6)
    design = np.vstack([((row // 3 * 2 + column // 3) == cell).astype(float) for cell in range(4)] + [np.eye(36)])
    heard = design @ true + np.concatenate([np.random.default_rng(k).normal(0, 9, n) for k, n in ((1, 4), (2, 36))])
    weight = np.repeat(mechanism._level_epsilons(branching), [4, 36])
    best = np.linalg.lstsq(design * weight[:, None], heard * weight, rcond=None)[0]
    assert release.count == pytest.approx(best)


def test_range_variance_is_that_of_the_covariance() -> None:
    """All 10 × 64 intervals on either axis, weighted by leaves that they cover in part."""
    branching, shares = (2, 3), [0.3, 0.7]
    covariance = agreement(branching, shares) / 2
    length, place = np.meshgrid(np.linspace(0.02, 0.2, 10), (np.arange(64) + 0.5) / 64, indexing="ij")
    low = ((1 - length) * place * 6).ravel()
    high = low + 6 * length.ravel()
    cover = np.clip(np.minimum(high[:, None], np.arange(1, 7)) - np.maximum(low[:, None], np.arange(6)), 0, None)
    second = cover.T @ cover / len(cover)  # E[q q'] along one axis; of rectangles it is a Kronecker product
    assert range_variance(branching, shares) == pytest.approx(np.trace(covariance @ np.kron(second, second)))


def test_every_level_is_paid_for() -> None:
    for neighbours, change in ((Neighbours.ADD_REMOVE, 1.0), (Neighbours.REPLACE, 2.0)):
        source = RecordingNoise()
        plugin("hierarchical_grid", epsilon=0.7, branching=(3, 2, 2)).release(crowd(300, neighbours), source)
        assert [size for _, size in source.laplaces] == [9, 36, 144]
        assert sum(change / float(scale[0]) for scale, _ in source.laplaces) == pytest.approx(0.7, rel=1e-12)
    uniform = plugin("hierarchical_grid", epsilon=0.6, budget="uniform")._level_epsilons((4, 4, 4))
    assert uniform == pytest.approx([0.2] * 3)


def test_the_budget_is_the_best_of_those_tried() -> None:
    growth, variance = best_growth((8, 8))
    others = [range_variance((8, 8), level_shares(2, 2.0 ** (k / 3))) for k in range(-3, 10)]
    assert variance == min(others) < 0.8 * range_variance((8, 8), level_shares(2, 1.0))
    assert growth > 1, "leaves need more than the levels above"


def test_branching_follows_from_public_numbers_and_is_the_best_one() -> None:
    def error(branching: tuple[int, ...], people: float) -> float:
        uneven = people * math.sqrt(2) / 10 / math.prod(branching)
        return 2 * best_growth(branching)[1] + (0.11 * uneven) ** 2

    for people in (300.0, 28_000.0, 1e6):
        chosen = best_branching(people, 2048)
        tried = [(b,) * h for b, h in itertools.product(range(2, 17), range(2, 8)) if b**h <= 2048]
        assert error(chosen, people) == min(error(other, people) for other in tried)
        assert 0.5 < math.prod(chosen) / math.sqrt(people / 10) < 2.1
    facts = PublicFacts(70_000, 0, 1, 0, 1e5, 1e5)
    assert HierarchicalGrid(epsilon=0.4).resolve(facts).branching == best_branching(28_000.0, 2048) == (8, 8)
    assert HierarchicalGrid(epsilon=0.4).resolve(PublicFacts(70_000, 0, 1, 0, 25.0, 1e5)).branching == (2,)


def test_wrong_branching_is_refused() -> None:
    for wrong in ((), (0, 3), (50, 50)):
        with pytest.raises(ValidationError, match="at most 2,048 multiplied"):
            HierarchicalGrid(branching=wrong)
