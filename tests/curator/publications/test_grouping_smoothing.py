"""Grouping and smoothing: sensitivity of groups, the sample, the width, the scale, and what is promised."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest

from geodp.audit.kinds import audit_kind
from geodp.curator.grouping import (
    best_width,
    compute_sampling_rate,
    compute_smoothing_error,
    estimate_errors,
    group_starts,
    group_sums,
    widths,
)
from geodp.curator.publications.grouping_smoothing import GroupingSmoothing
from geodp.errors import NotReleasable, UsageError
from geodp.privacy.noise import SimulatedNoise
from geodp.tables.visits.visit_sets import VisitSets, visit_sets
from tests.tables.visits.tables import long_tailed, table


def noise(seed: int = 0) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed))


def exact_noise() -> SimulatedNoise:
    """Noise that is almost none, so that what is left is smoothing."""

    class Silent(np.random.Generator):
        def laplace(self, *arguments: object, **more: object) -> np.ndarray:  # type: ignore[override]
            return np.zeros(arguments[2])  # type: ignore[call-overload, no-any-return]

    return SimulatedNoise(Silent(np.random.PCG64(0)))


@pytest.mark.parametrize("width", range(1, 7))
def test_means_of_groups_change_by_cap_over_width_at_most_and_sums_by_the_cap(width: int) -> None:
    """Brute force over all users with at most three of six venues; the bound is attained."""
    cap, venues = 3, 6
    order = np.random.default_rng(0).permutation(venues)
    empty, sizes = group_sums(np.zeros(venues, np.int64), order, width)
    worst_mean = worst_sum = 0.0
    for many in range(cap + 1):
        for row in combinations(range(venues), many):
            counts = table([row], venues).counts()
            change = np.abs(group_sums(counts, order, width)[0] - empty)
            worst_sum = max(worst_sum, float(change.sum()))
            worst_mean = max(worst_mean, float((change / sizes).sum()))
    assert worst_sum == cap
    assert worst_mean <= cap / width + 1e-12
    if venues % width == 0 and width <= cap:
        assert worst_mean == pytest.approx(cap / width)


def test_the_last_group_takes_the_remainder() -> None:
    sums, sizes = group_sums(np.arange(7), np.arange(7), 3)
    assert group_starts(7, 3).tolist() == [0, 3]
    assert sizes.tolist() == [3, 4]
    assert sums.tolist() == [3, 18]
    assert group_sums(np.arange(7), np.arange(7), 9)[1].tolist() == [7]


@pytest.mark.parametrize("width", [1, 2, 5, 7, 31, 100])
def test_prefix_sums_give_the_error_of_the_slow_way(width: int) -> None:
    values = np.sort(np.random.default_rng(width).exponential(5, 100) - 2)[::-1]
    starts = [*group_starts(100, width).tolist(), 100]
    groups = [values[low:high] for low, high in pairwise(starts)]
    slow = sum(np.abs(group - group.mean()).sum() for group in groups)
    total = np.concatenate([[0.0], np.cumsum(values)])
    assert compute_smoothing_error(values, total, width) == pytest.approx(slow, abs=1e-9)


def test_every_width_is_tried_on_short_lists_and_a_grid_of_small_steps_on_long_ones() -> None:
    assert widths(2000).tolist() == list(range(1, 2001))
    grid = widths(6_000_000)
    assert grid[0] == 1
    assert grid[-1] == 6_000_000
    assert grid.size < 700
    assert (grid[1:] <= 1.031 * grid[:-1] + 1).all()


def test_the_rate_of_row_sampling() -> None:
    assert compute_sampling_rate(0.1 / 2, 2) == pytest.approx(0.4875, abs=5e-5)
    assert compute_sampling_rate(0.3, 1) == 1.0
    assert compute_sampling_rate(math.log(2) / 2, 17_000) == 0.0, "in logarithms: no overflow, just nothing"
    for epsilon, cap in ((0.1, 2), (0.7, 55), (1.1, 300)):
        assert compute_sampling_rate(epsilon, cap) <= 1 / cap, (
            "Bernoulli's inequality, where equation 18 has a false step"
        )
    # Expected sampled rows at the paper's shapes and ε = ln 2 (half of it for the sample): next to none.
    assert 62_956 * compute_sampling_rate(math.log(2) / 2, 55) == pytest.approx(1.4e-4, rel=0.05)
    assert 8_200_000 * compute_sampling_rate(math.log(2) / 2, 436) == pytest.approx(8e-60, rel=0.1)
    assert 62_956 * compute_sampling_rate(0.05, 55) == pytest.approx(220, rel=0.01)


@pytest.mark.parametrize("sampling", ["col", "row", "none"])
@pytest.mark.parametrize(("epsilon", "cap"), [(0.69, 3000), (1500.0, 3), (1e6, 2), (1e-9, 5)])
def test_no_epsilon_or_cap_stops_a_release_after_its_charge(sampling: str, epsilon: float, cap: int) -> None:
    method = GroupingSmoothing.model_validate({"epsilon": epsilon, "cap": cap, "sampling": sampling})
    told = method.release(table([range(4)] * 20, 3000), noise())
    assert np.isfinite(told.count).all()
    assert all(np.isfinite(value) for value in told.facts.values())


def test_the_literal_scale_overestimates_and_the_corrected_one_does_not() -> None:
    """Rows of 13.7 venues on average under a cap of 324: the sample times the cap is 23.7 times too large."""
    rng = np.random.default_rng(0)
    sizes = np.clip(np.round(rng.lognormal(1.9, 1.1, 3000)), 1, 324)
    sizes *= 13.7 / sizes.mean()
    sets = long_tailed(3000, 2000, np.maximum(np.round(sizes), 1))
    total = sets.counts().sum()
    for scale, expected in (("literal", 324 / sets.size.mean()), ("corrected", 1.0)):
        method = GroupingSmoothing(epsilon=10.0, cap=324, scale=scale)
        sample = method.sample(sets, 324, b"key", noise())
        ratio = method.factor(sets, 324, noise()) * sample.sum() / total
        assert ratio == pytest.approx(expected, rel=0.05)
    assert 324 / sets.size.mean() == pytest.approx(23.7, rel=0.03)


@pytest.mark.slow
def test_the_chosen_width_is_nearly_as_good_as_the_best_where_rows_are_near_the_cap() -> None:
    """The paper's 1-3.4 % holds where everyone has as many venues as the cap."""
    cap, epsilon = 10, math.log(2)
    popularity = np.log((np.arange(500) + 2.0) ** -0.9)
    keys = popularity + np.random.default_rng(0).gumbel(size=(40_000, 500))  # the ten largest: ten venues by popularity
    visited = np.argpartition(-keys, cap, axis=1)[:, :cap]
    sets = visit_sets(np.arange(40_000, dtype=np.uint64), np.repeat(np.arange(40_000), cap), visited.ravel(), 500)
    counts = sets.counts()

    def error(width: int | None) -> float:
        method = GroupingSmoothing(epsilon=epsilon, cap=cap, width=width)
        return float(np.mean([np.abs(method.release(sets, noise(seed)).count - counts).mean() for seed in range(6)]))

    best = min(error(width) for width in (1, 2, 3, 4, 5, 6, 8, 10, 13))
    assert error(None) <= 1.05 * best


def test_tuning_balances_noise_and_smoothing() -> None:
    flat, steep = np.full(600, 10.0), np.linspace(6000, 0, 600)
    assert best_width(flat, 50.0) == 600, "equal venues: one group"
    assert best_width(steep, 0.5) == 1, "unlike venues and little noise: every venue by itself"
    errors = estimate_errors(flat, np.array([1, 10]), 50.0)
    assert errors.tolist() == [30_000.0, 3_000.0], "noise at its mean: E|Lap(b)| = b"


def test_without_noise_venues_share_the_mean_of_their_group() -> None:
    sets = table([[0, 1], [0], [2], [0, 1]], 4)
    method = GroupingSmoothing(cap=2, grouping="sampled", sampling="none", width=2)
    assert method.release(sets, exact_noise()).count.tolist() == [2.5, 2.5, 0.5, 0.5]
    near = GroupingSmoothing(cap=2, grouping="space", width=2)
    assert near.release(sets, exact_noise(), np.array([0, 3, 1, 2])).count.tolist() == [1.5, 1.5, 1.5, 1.5]
    with pytest.raises(UsageError, match="places"):
        near.release(sets, noise())


@pytest.mark.parametrize("settings", [{}, {"sampling": "row"}, {"sampling": "none"}, {"scale": "literal"}])
def test_all_budgets_add_up_to_epsilon(settings: dict[str, str]) -> None:
    for variant in ("corrected", "geodp"):
        for grouping in ("tuned", "sampled", "random", "space"):
            if (settings and grouping in ("random", "space")) or ("scale" in settings and grouping == "sampled"):
                continue  # no sample is taken, or not scaled: its settings are refused
            method = GroupingSmoothing.model_validate(
                {"epsilon": 0.7, "grouping": grouping, "variant": variant, **settings}
            )
            parts = method.budgets()
            spent = parts.choice + parts.sample + parts.scale + parts.groups + method.accuracy_epsilon
            assert spent == pytest.approx(0.7, abs=1e-12)
            assert min(parts.sample, parts.scale, parts.choice) >= 0


def test_the_sample_and_the_groups_ask_for_all_of_epsilon() -> None:
    audit = audit_kind("grouping_smoothing", {"scale": "literal", "epsilon": 1.0, "accuracy_share": 0}, samples=40_000)
    assert not audit.refuted
    assert max(pair.share_asked for pair in audit.pairs) == pytest.approx(1.0, abs=0.02)
    assert max(pair.certified for pair in audit.pairs if pair.findings) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"sampling": "row"}, {"sampling": "none"}, {"variant": "geodp"}, {"grouping": "random"}, {"grouping": "space"}],
)
def test_no_setting_is_refuted(settings: dict[str, str]) -> None:
    assert not audit_kind("grouping_smoothing", settings, samples=20_000).refuted


def test_an_observed_cap_is_refuted_and_never_released() -> None:
    assert audit_kind("grouping_smoothing", {"variant": "literal"}, samples=2000).refuted
    literal = GroupingSmoothing(variant="literal")
    assert not literal.guarantee().holds
    with pytest.raises(NotReleasable, match="not private"):
        literal.release(table([[0]], 2), SimulatedNoise(np.random.default_rng(0), releasable=True))


@pytest.mark.slow
def test_a_second_sampled_venue_would_be_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted defect: whoever samples two venues per user with the noise of one spends twice as much."""
    monkeypatch.setattr(VisitSets, "one_each", lambda self, key: self.counts())
    assert audit_kind("grouping_smoothing", {}, samples=20_000).refuted


def test_the_private_threshold_wins_where_the_public_cap_is_far_above_what_people_visit() -> None:
    """Paired over 20 seeds of one table: caps of 300 where users visit 8 venues on average."""
    sizes = np.maximum(np.round(np.random.default_rng(1).lognormal(1.8, 0.8, 2000)), 1)
    sets = long_tailed(2000, 3000, sizes)
    counts = sets.counts()

    def errors(variant: str) -> np.ndarray:
        method = GroupingSmoothing(epsilon=0.5, cap=300, variant=variant)
        return np.array([np.abs(method.release(sets, noise(seed)).count - counts).mean() for seed in range(20)])

    difference = errors("corrected") - errors("geodp")
    assert difference.mean() > 4 * difference.std() / math.sqrt(20)
