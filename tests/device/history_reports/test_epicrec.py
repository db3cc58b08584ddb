"""EpicRec: the figure of the paper, exact feasibility, the fitted history, the search for a budget, consent, audits."""

import math

import numpy as np
import pytest

import geodp
from geodp.audit.kinds import audit_kind
from geodp.device.category_counts import (
    EpsilonSearch,
    box_least_squares,
    calibrate_scales,
    drop_dominated_rows,
    error_curve,
    load,
    pattern_numbers,
    quantify_epsilon,
    stops,
)
from geodp.device.history_reports import ProtectedHistory
from geodp.device.history_reports.epicrec import EpicRec, consent_of
from geodp.errors import BudgetSpent, DataError, NotReleasable, UsageError
from geodp.privacy.ledger import Ledger
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Unit
from geodp.tables.visits.catalogue import Catalogue, golden_catalogue

SHARES = np.array([30, 28, 20, 15, 12, 11, 10, 8, 8, 6, 5, 5, 4, 4, 3, 3, 2, 2]) / 100


def films(items: int, seed: int = 1) -> Catalogue:
    """Return a public catalogue of the shape of MovieLens: 18 categories, one to several per item."""
    rng = np.random.default_rng(seed)
    table = (rng.random((items, SHARES.size)) < SHARES).astype(float)
    bare = table.sum(axis=1) == 0
    table[bare, rng.integers(0, SHARES.size, bare.sum())] = 1
    return Catalogue(table)


def test_figure_4_to_the_last_digit() -> None:
    """z1 = 1 + r with r = √(4 + 2√2), Σz = (1 + r)²; printed 3.61 2.36 3.34 2.36 1.38, mean 2.61."""
    matrix = golden_catalogue().membership
    scales = geodp.plugin("epicrec", epsilon=1.0).noise_scales(matrix)
    assert scales == pytest.approx([3.613126, 2.360388, 3.338093, 2.360388, 1.382683], abs=1e-5)
    assert geodp.plugin("epicrec").mean_noise(matrix) == pytest.approx(2.610936, abs=1e-5)
    root = math.sqrt(4 + 2 * math.sqrt(2))
    assert scales.sum() == pytest.approx((1 + root) ** 2, rel=1e-9)
    assert geodp.plugin("epicrec", method="global_sensitivity").mean_noise(matrix) == 3.0


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.log(3)])
def test_every_item_stays_within_epsilon_in_doubles_and_never_worse_than_laplace(seed: int, epsilon: float) -> None:
    table = films(200, seed).membership
    scales = calibrate_scales(table, epsilon)
    assert load(table, scales).max() <= epsilon
    assert load(table, scales).max() >= epsilon * (1 - 1e-12)
    assert scales.sum() <= scales.size * table.sum(axis=1).max() / epsilon


def test_the_duality_gap_is_closed() -> None:
    """For lambda ≥ 0 any 2 Σ √(Cᵀλ) - Σ λ is a lower bound of Σ z; the multiplicative dual ascent reaches it."""
    table = drop_dominated_rows(films(300).membership)
    scales = calibrate_scales(table, 1.0)
    multiplier = np.full(len(table), scales.sum() / len(table))
    for _ in range(20_000):
        multiplier *= table @ (1 / np.sqrt(np.maximum(table.T @ multiplier, 1e-300)))
    bound = 2 * np.sqrt(table.T @ multiplier).sum() - multiplier.sum()
    assert scales.sum() == pytest.approx(bound, rel=1e-4)
    assert scales.sum() >= bound * (1 - 1e-9)


def test_one_item_with_all_categories_needs_the_noise_of_laplace() -> None:
    assert calibrate_scales(np.ones((1, 4)), 0.5) == pytest.approx([8.0] * 4)


def test_a_category_without_items_needs_no_noise() -> None:
    assert calibrate_scales(np.array([[1.0, 0.0]]), 1.0) == pytest.approx([1.0, 0.0])


def test_dominated_rows_are_dropped() -> None:
    assert drop_dominated_rows(np.array([[1.0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 1]])).tolist() == [
        [0, 1, 1],
        [1, 1, 0],
    ]


@pytest.mark.parametrize("seed", range(8))
def test_least_squares_in_a_box_agree_with_the_general_solver(seed: int) -> None:
    from scipy.optimize import lsq_linear

    rng = np.random.default_rng(seed)
    columns, room = (rng.random((6, 40)) < 0.3).astype(float), rng.integers(1, 4, 40).astype(float)
    target = rng.normal(8.0, 12.0, 6)
    ours = columns @ box_least_squares(columns, target, room)
    theirs = lsq_linear(columns, target, bounds=(0, room), tol=1e-13)
    assert np.sum((ours - target) ** 2) == pytest.approx(2 * theirs.cost, rel=1e-6, abs=1e-6)


def test_the_fitted_history_is_a_vertex_the_nearest_and_then_the_most_likely() -> None:
    columns, room = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([5.0, 5.0, 5.0])
    target = np.array([3.5, -2.0])
    number = pattern_numbers(columns, target, room, np.array([-4.0, -1.0, -2.0]))
    assert number == pytest.approx([0.0, 3.5, 0.0])


def protected(catalogue: Catalogue, history: np.ndarray, seed: int = 0, **fields: object) -> ProtectedHistory:
    return EpicRec.model_validate(fields).protect(history, catalogue, rng=np.random.default_rng(seed))


def test_without_noise_worth_speaking_of_the_categories_come_out_right() -> None:
    catalogue = films(400)
    history = np.random.default_rng(3).random(400) < 0.04
    told = protected(catalogue, history, epsilon=1e6)
    truth = catalogue.membership.T @ history
    assert np.abs(told.aggregates - truth).max() < 0.01
    assert np.abs(catalogue.membership.T @ told.items - truth).mean() < math.sqrt(18) / 4, "only the rounding is left"


def test_the_error_stays_below_the_bound() -> None:
    """The bound is on the mean; the mean of 40 histories is within a fifth of it with room to spare."""
    catalogue, rng = films(400), np.random.default_rng(5)
    device = EpicRec(epsilon=1.0)
    errors, nothing = [], []
    for _ in range(40):
        history = rng.random(400) < 17 / 400
        truth = catalogue.membership.T @ history
        told = device.protect(history, catalogue, rng=rng).items
        errors.append(np.abs(catalogue.membership.T @ told - truth).mean())
        nothing.append(truth.mean())
    assert np.mean(errors) < device.error_bound(catalogue.membership)
    assert np.mean(nothing) < np.mean(errors), "for short histories, telling nothing is the better estimate"


def test_calibrated_noise_beats_global_sensitivity() -> None:
    table = films(400).membership
    assert EpicRec().mean_noise(table) < 0.95 * EpicRec(method="global_sensitivity").mean_noise(table)


def test_telling_nothing_tells_nothing() -> None:
    told = protected(films(50), np.ones(50, dtype=bool), method="nothing")
    assert not told.items.any()
    assert np.isnan(told.aggregates).all()


def test_the_printed_stopping_rule_always_answers_two_steps() -> None:
    assert stops([10.0, 5.0, 3.0], "literal")
    assert not stops([10.0, 5.0], "literal")
    found = quantify_epsilon(films(400), SimulatedNoise(np.random.default_rng(0)), rule="literal")
    assert found == pytest.approx(0.04, abs=1e-12)


def test_the_other_rules_ask_for_more() -> None:
    chosen = {
        rule: quantify_epsilon(
            films(400), SimulatedNoise(np.random.default_rng(2)), rule=rule, search=EpsilonSearch(repeats=3)
        )
        for rule in ("prose", "relative")
    }
    assert 0.1 < chosen["prose"] < chosen["relative"] < 0.6


def test_the_error_curve_falls_steeply_and_then_hardly() -> None:
    catalogue = films(400)
    scales = calibrate_scales(catalogue.membership, 1.0)
    curve = list(error_curve(catalogue, scales, SimulatedNoise(np.random.default_rng(0)), EpsilonSearch(most=0.4)))
    assert curve[0] > 1.8 * curve[1] > 2.0 * curve[3]
    assert curve[0] - curve[1] > 50 * (curve[-2] - curve[-1])


def test_a_quantified_budget_is_what_is_promised_and_never_above_the_cap() -> None:
    catalogue = films(60)
    told = protected(catalogue, np.zeros(60, dtype=bool), budget_rule="literal", epsilon=0.5)
    assert told.guarantee.epsilon == pytest.approx(0.04)
    assert EpicRec(budget_rule="relative", epsilon=0.5).guarantee().epsilon == 0.5


def mixed() -> Catalogue:
    """Café + bar, bar + clinic, café alone, bar alone."""
    table = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return Catalogue(table, ("café", "bar", "clinic"))


LEVELS = {"café": "all", "bar": "perturbed", "clinic": "no"}


def test_consent_splits_the_items() -> None:
    consent = consent_of({"café": "all", "clinic": "no"}, "perturbed", mixed())
    assert consent.silent_items.tolist() == [False, True, False, False]
    assert consent.open_items.tolist() == [False, False, True, False]
    assert consent.protected_items.tolist() == [True, False, False, True]


def test_silent_items_change_nothing_and_open_items_are_told() -> None:
    without, with_ = np.array([True, False, True, False]), np.array([True, True, True, False])
    first = protected(mixed(), without, consent=LEVELS)
    second = protected(mixed(), with_, consent=LEVELS)
    assert np.array_equal(first.aggregates, second.aggregates, equal_nan=True)
    assert np.array_equal(first.items, second.items)
    assert np.isnan(first.aggregates[2])
    assert first.aggregates[0] == 1.0, "the café alone; the café that is a bar does not show"
    assert first.items[2]
    assert not first.items[1]


def test_the_auditor_refutes_the_printed_levels_and_not_the_repaired_ones() -> None:
    literal = audit_kind("epicrec", {"variant": "literal"}, samples=20_000)
    leak = next(pair for pair in literal.pairs if "all-release" in pair.name)
    assert leak.refuted
    assert leak.certified > 5 * leak.claimed
    repaired = audit_kind("epicrec", samples=20_000)
    assert not repaired.refuted
    assert max(pair.certified for pair in repaired.pairs) > 0.8


def test_the_printed_levels_are_flagged_and_never_released() -> None:
    class Released(SimulatedNoise):
        releasable = True

    device = EpicRec(variant="literal")
    assert not device.guarantee().holds
    with pytest.raises(NotReleasable, match="all-release"):
        device.protect(np.zeros(4, dtype=bool), mixed(), rng=Released(np.random.default_rng(0), releasable=True))


def test_reports_of_a_growing_history_add_up_in_the_ledger() -> None:
    device, ledger = EpicRec(epsilon=0.5), Ledger(1.0)
    assert device.guarantee().unit is Unit.ITEM
    for time_s in (0.0, 1.0):
        ledger.charge(device.guarantee(), time_s=time_s, mechanism=device.kind, cap=1)
    with pytest.raises(BudgetSpent):
        ledger.charge(device.guarantee(), time_s=2.0, mechanism=device.kind, cap=1)
    assert device.guarantee().for_users(17).epsilon == 8.5


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(DataError, match="item 1"):
        EpicRec().noise_scales([[1, 0], [0, 0]])
    with pytest.raises(DataError, match="0 and 1 only"):
        EpicRec().noise_scales([[0.5, 1]])
    with pytest.raises(UsageError, match="Did you mean 'café'"):
        protected(mixed(), np.zeros(4, dtype=bool), consent={"cafe": "all"})
    with pytest.raises(DataError, match="one flag per item"):
        protected(mixed(), np.zeros(3, dtype=bool))


def test_counts_beyond_all_room_fill_it() -> None:
    """All entries at their bounds leave no column to solve for: the solver must not be asked."""
    assert box_least_squares(np.eye(2), np.array([9.0, 8.0]), np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
