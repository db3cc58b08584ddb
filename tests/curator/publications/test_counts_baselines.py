"""Laplace noise, cosine coefficients, the total alone, and nothing: the baselines of venue counts."""

import math

import numpy as np
import pytest

from geodp.audit.kinds import audit_kind
from geodp.curator.publications.fourier_counts import FourierCounts, transform_counts
from geodp.curator.publications.laplace_counts import LaplaceCounts
from geodp.curator.publications.uniform import Uniform
from geodp.curator.publications.zeros import Zeros
from geodp.errors import NotReleasable
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Neighbours, Unit
from tests.tables.visits.tables import long_tailed, table


def noise(seed: int = 0, *, releasable: bool = False) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed), releasable=releasable)


def test_the_mean_absolute_error_of_laplace_noise_is_its_scale() -> None:
    """E|Lap(b)| = b, not √2·b: 100,000 venues, standard error b/316, so 2 % is more than six of them."""
    sets = table([[0]], 100_000)
    released = LaplaceCounts(epsilon=0.5, cap=4, accuracy_share=0).release(sets, noise())
    assert np.abs(released.count - sets.counts()).mean() == pytest.approx(8.0, rel=0.02)
    assert released.facts["noise_scale"] == 8.0


def test_nobody_counts_at_more_venues_than_the_cap() -> None:
    sets = table([range(50), range(2)], 50)
    total = LaplaceCounts(epsilon=1e6, cap=5).release(sets, noise()).count.sum()
    assert total == pytest.approx(7, abs=0.01)
    assert Uniform(epsilon=1e6, cap=5).release(sets, noise()).count == pytest.approx(np.full(50, 7 / 50), abs=1e-4)
    assert LaplaceCounts(epsilon=0.1, nonnegative=True).release(sets, noise()).count.min() == 0.0


def test_all_promise_epsilon_for_a_user_and_zeros_an_epsilon_of_nothing() -> None:
    for method in (LaplaceCounts(epsilon=0.3), FourierCounts(epsilon=0.3), Uniform(epsilon=0.3)):
        promise = method.guarantee()
        assert (promise.epsilon, promise.unit, promise.neighbours) == (0.3, Unit.USER, Neighbours.ADD_REMOVE)
    promise = Zeros().guarantee()
    assert (promise.epsilon, promise.unit, promise.neighbours) == (0.0, Unit.USER, Neighbours.ADD_REMOVE)
    assert Zeros().release(table([[0]], 3), noise()).count.tolist() == [0, 0, 0]


def test_one_user_moves_k_coefficients_by_the_root_of_k_cap_at_most() -> None:
    """Brute force over users with at most 3 of 6 venues, every number of coefficients; attained for one coefficient."""
    from itertools import combinations

    for kept in range(1, 7):
        worst = 0.0
        for many in range(4):
            for row in combinations(range(6), many):
                change = transform_counts(table([row], 6).counts())[:kept]
                worst = max(worst, float(np.abs(change).sum()))
        assert worst <= math.sqrt(kept * 3) + 1e-12
    everywhere = transform_counts(table([range(6)], 6).counts())[:1]
    assert abs(everywhere[0]) == pytest.approx(math.sqrt(1 * 6))


def test_all_coefficients_without_noise_give_the_counts_back() -> None:
    sets = long_tailed(50, 20, np.full(50, 3))
    told = FourierCounts(epsilon=1e9, cap=20, coefficients=20).release(sets, noise())
    assert told.count == pytest.approx(sets.counts(), abs=1e-3)
    smooth = FourierCounts(epsilon=1e9, cap=20, coefficients=1).release(sets, noise()).count
    assert smooth == pytest.approx(np.full(20, sets.counts().mean()), abs=1e-3)


def test_the_norm_that_is_cut_off_moves_by_the_root_of_the_cap_at_most() -> None:
    rng = np.random.default_rng(0)
    method, tried = FourierCounts(), np.arange(1, 13)
    for _ in range(300):
        counts = rng.integers(0, 9, 12)
        more = np.zeros(12, np.int64)
        more[rng.choice(12, 4, replace=False)] = 1
        before, after = (method.losses(transform_counts(each), tried, 4) for each in (counts, counts + more))
        assert np.abs(after - before).max() <= 2.0 + 1e-9


@pytest.mark.parametrize(("epsilon", "venues"), [(0.69, 300), (0.01, 20_000), (0.001, 2000), (1e-4, 300), (1e-9, 50)])
def test_released_coefficients_lie_on_the_lattice_at_any_epsilon(epsilon: float, venues: int) -> None:
    """Refusing what is not on the lattice would depend on the data, after the charge; rounding costs 0.1 % of noise."""
    method = FourierCounts(epsilon=epsilon, cap=5, coefficients=venues, accuracy_share=0)
    values = transform_counts(long_tailed(300, venues, np.full(300, 5)).counts())
    source = noise(releasable=True)
    added = method.noisy(values, 5, source) - values
    scale = math.sqrt(venues * 5) / epsilon
    assert np.abs(added).mean() == pytest.approx(scale, rel=6 / math.sqrt(venues))


def test_rounding_of_released_coefficients_is_within_the_widened_sensitivity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users more or less move the whole steps by no more than the noise is made for, and that is 0.1 % more at most."""
    from geodp.curator.publications import fourier_counts

    seen: list[tuple[np.ndarray, float]] = []

    def kept(steps: np.ndarray, *, epsilon: float, sensitivity: float, noise: object) -> np.ndarray:
        seen.append((steps, sensitivity))
        return steps

    monkeypatch.setattr(fourier_counts, "laplace_counts", kept)
    rng, method = np.random.default_rng(1), FourierCounts(cap=4)
    for size in (1, 7, 64):
        counts = rng.integers(0, 1000, 64)
        for _ in range(50):
            more = np.zeros(64, np.int64)
            more[rng.choice(64, 4, replace=False)] = 1
            told = [
                method.noisy(transform_counts(each)[:size], 4, noise(releasable=True))
                for each in (counts, counts + more)
            ]
            (before, bound), (after, _) = seen[-2:]
            assert np.abs(after - before).sum() <= bound
            per_unit = before[0] / told[0][0]
            assert bound / per_unit <= 1.001 * math.sqrt(size * 4)
            assert np.array_equal(before, np.rint(before))


def test_the_number_of_coefficients_is_paid_for_or_public() -> None:
    assert FourierCounts(epsilon=1.0, accuracy_share=0).budgets() == (0.1, 0.9)
    assert FourierCounts(epsilon=1.0, coefficients=5, accuracy_share=0).budgets() == (0.0, 1.0)
    assert sum(FourierCounts(epsilon=1.0).budgets()) == pytest.approx(0.9, abs=1e-12), "the rest pays for the accuracy"


@pytest.mark.parametrize("kind", ["laplace_counts", "fourier_counts"])
def test_caps_and_optima_read_off_the_data_are_refuted_and_never_released(kind: str) -> None:
    assert audit_kind(kind, {"variant": "literal"}, samples=2000).refuted
    method = {"laplace_counts": LaplaceCounts, "fourier_counts": FourierCounts}[kind](variant="literal")
    assert not method.guarantee().holds
    with pytest.raises(NotReleasable):
        method.release(table([[0]], 2), noise(releasable=True))
    method.release(table([[0], [0, 1]], 2), noise())


def test_a_public_number_of_coefficients_is_not_refuted() -> None:
    assert not audit_kind("fourier_counts", {"coefficients": 5}, samples=20_000).refuted
