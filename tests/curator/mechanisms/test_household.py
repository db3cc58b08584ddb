"""Noise for whole households: every mechanism that counts, what it says, and what is refuted."""

import importlib.util
from typing import ClassVar

import numpy as np
import pytest
from pydantic import ValidationError

import geodp
from geodp.audit.auditor import check_cases
from geodp.audit.kinds import audit_plugin, noise_by_name
from geodp.audit.pairs.series import choose_series
from geodp.audit.pairs.snapshots import choose_households
from geodp.curator.continual_counts import ContinualCounts
from geodp.curator.household_counts import HouseholdCounts
from geodp.curator.mechanisms.correlated_counts import CorrelatedCounts
from geodp.curator.mechanisms.uniform_grid import UniformGrid
from geodp.errors import NotReleasable
from geodp.privacy.audit_case import CheckedCase, ExactCase, TranscriptCase
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Neighbours
from geodp.registry import forget, plugin, plugins
from tests.curator.mechanisms.crowds import crowd
from tests.frames.people import BOX, make_frame

COUNTING = [kind for kind, cls in plugins("mechanism").items() if issubclass(cls, HouseholdCounts)]


def test_every_mechanism_with_noisy_counts_knows_households() -> None:
    personal, none_claimed = {"pdp_sample", "pdp_exponential"}, {"no_privacy", "cloak", "suppress_below", "round_to"}
    assert set(plugins("mechanism")) - set(COUNTING) == personal | none_claimed
    assert {"uniform_grid", "contour", "privtree", "tree_counts", "correlated_counts"} <= set(COUNTING)


ASKED = {
    # the first of 8 or more releases: they enter, which is half of a stay
    "tree_counts": 1 / 2,
    # a test, ε/(2w), and half of the half that is for counts: w = 4
    "w_event_counts": 1 / 8 + 1 / 4,
    # noisy counts alone: the first release has nothing to be grouped with
    "pegasus": 0.8,
}
"""Which part of the claim a single release asks for, by theory; others ask for all of it."""
ASKED_AT_LEAST = {"dawa": 0.6, "kd_tree": 0.7, "privtree": 0.65}
"""What their counts ask for; what cells they choose tells more or less about these people."""


@pytest.mark.parametrize("kind", COUNTING)
@pytest.mark.parametrize("household", [2, 5])
def test_a_household_is_followed_and_costs_what_is_promised(kind: str, household: int) -> None:
    """Question by question: all of them there or not, in one place or in many, or elsewhere; one cell, or many."""
    mechanism = plugin(kind, "mechanism", household=household)
    promise = mechanism.guarantee()
    assert promise.people == household
    assert f"any {household} people or fewer together" in promise.sentence()
    assert promise.epsilon == plugin(kind, "mechanism").guarantee().epsilon
    cases = choose_households(mechanism)
    assert len(cases) == 6
    checked = check_cases(cases, noise_by_name("simulate", 0))
    assert not checked.failed
    assert not checked.not_followed
    assert not any(pair.refuted for pair in checked.pairs)
    for pair in checked.pairs:
        if "moved" not in pair.name:
            if kind in ASKED_AT_LEAST:
                assert pair.share_asked >= ASKED_AT_LEAST[kind] - 1e-9
            else:
                assert pair.share_asked == pytest.approx(ASKED.get(kind, 1.0))


@pytest.mark.parametrize("kind", sorted({*COUNTING} - {*ASKED_AT_LEAST, "quadtree"}))
def test_a_household_that_moves_between_cells_costs_as_much(kind: str) -> None:
    cases = [case for case in choose_households(plugin(kind, "mechanism", household=3)) if "moved" in case.name]
    one_cell, many_cells = check_cases(cases, noise_by_name("simulate", 0)).pairs
    # as many people are in all cells as before, so the test, which compares with nobody anywhere, sees no difference
    expected = 1 / 4 if kind == "w_event_counts" else ASKED.get(kind, 1.0)
    assert many_cells.share_asked == pytest.approx(expected)
    assert one_cell.share_asked in (0.0, pytest.approx(expected))


@pytest.mark.parametrize("kind", [kind for kind in COUNTING if issubclass(plugins("mechanism")[kind], ContinualCounts)])
def test_a_household_is_followed_through_a_whole_series(kind: str) -> None:
    cases = [case for case in choose_series(plugin(kind, "mechanism", household=3)) if "a household of 3" in case.name]
    assert len(cases) == 10
    checked = check_cases(cases, noise_by_name("simulate", 0))
    assert len(checked.pairs) == 10
    assert not any(pair.refuted for pair in checked.pairs)
    asked = {pair.name.replace(", a household of 3", ""): pair.share_asked for pair in checked.pairs}
    if kind == "kalman_counts":  # every sample sees them; elsewhere in the only cell is the same place
        assert all(share == pytest.approx(1.0) for name, share in asked.items() if name[:13] != "one elsewhere")
    elif kind == "tree_counts":  # entering changes each of four levels by 1, leaving later three of them again, of 8
        assert asked["one more at all 8 releases"] == pytest.approx(4 / 8)
        assert asked["one stay more"] == pytest.approx(6 / 8)
    elif kind == "pegasus":  # all noisy counts, and what tests of groups tell besides
        assert min(share for name, share in asked.items() if name[:13] != "one elsewhere") >= 0.8 - 1e-9
    else:  # all tests of a window, and one part of the half that is for counts, which is half of it
        assert asked["one more at the last 4 releases"] >= 1 / 2 + 1 / 4
    if kind != "w_event_counts":
        between = {"tree_counts": 4 / 8, "pegasus": 0.8}.get(kind, 1.0)
        assert asked["one elsewhere at all 8 releases (ε = 1000)"] == pytest.approx(between)


def test_noise_for_one_person_is_refuted_where_a_household_is_promised() -> None:
    class NoiseForOne(UniformGrid):
        """Says that it hides a household, and hides one person."""

        kind: ClassVar[str] = "noise_for_one"

        def change(self, neighbours: Neighbours) -> float:
            return super().change(neighbours) / self.household

    try:
        audit = audit_plugin(NoiseForOne(household=3), noise_by_name("simulate", 0), samples=1000)
    finally:
        forget("noise_for_one")
    assert audit.refuted
    assert max(pair.share_asked for pair in audit.pairs) == pytest.approx(3)


def test_noise_is_k_times_as_wide_and_the_promise_composes() -> None:
    noise = SimulatedNoise(np.random.default_rng(0))
    for neighbours, change in ((Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE, 2)):
        release = UniformGrid(epsilon=0.3, cell_m=500, household=4).release(crowd(1000, neighbours), noise)
        assert release.noise_scale == pytest.approx(change * 4 / 0.3)
        assert release.guarantee.people == 4
    promise = release.guarantee
    assert promise.repeat(6).epsilon == pytest.approx(1.8)
    assert promise.repeat(6).people == 4
    assert promise.for_group(3) == promise
    assert (promise.for_group(5).epsilon, promise.for_group(5).people) == (0.6, 5)  # two groups of four


def test_cells_follow_the_noise_of_a_household() -> None:
    one, many = (UniformGrid(epsilon=0.4, household=size) for size in (1, 4))
    grids = [each.release(crowd(20_000), SimulatedNoise(np.random.default_rng(0))).grid for each in (one, many)]
    assert grids[0].size == pytest.approx(4 * grids[1].size, rel=0.15)


def test_what_correlated_sensitivity_is_and_why_it_does_not_hold() -> None:
    literal = CorrelatedCounts(epsilon=0.3, household=4, variant="literal", degree=0.7)
    assert literal.correlated_sensitivity == pytest.approx(3.1)
    assert literal.expected_noise() == pytest.approx(3.1 / 0.3)
    promise = literal.guarantee()
    assert not promise.holds
    assert "4 people who are there or not cost ε = 0.3871" in promise.why_not
    assert CorrelatedCounts(household=4, variant="literal", degree=0.5).correlated_sensitivity == 1.0  # below 0.6
    assert CorrelatedCounts(household=4, variant="literal", degree=1.0).guarantee().holds  # the same as for a group
    assert CorrelatedCounts(household=1, variant="literal").guarantee().holds
    with pytest.raises(ValidationError, match="degree has no effect"):
        CorrelatedCounts(degree=0.3)


def test_the_audit_refutes_correlated_sensitivity_and_not_the_group() -> None:
    settings = {"epsilon": 1.0, "household": 10, "degree": 0.1, "threshold": 0.0}
    literal = CorrelatedCounts(variant="literal", **settings)
    audit = audit_plugin(literal, noise_by_name("simulate", 0), samples=1000)
    assert audit.refuted
    exact = {pair.name: pair.exact for pair in audit.pairs if pair.exact is not None}
    assert exact["one of 10 whom all others follow together, chance 0.1"] == pytest.approx(1.146, abs=5e-4)
    one = [pair for pair in audit.pairs if pair.name == "a worker in the crowd"]
    assert one[0].transcript == pytest.approx(1 / 1.9), "what it keeps: one person alone"
    group = audit_plugin(CorrelatedCounts(epsilon=1.0, household=10), noise_by_name("simulate", 0), samples=1000)
    assert not group.refuted


def test_pairs_of_exact_laws_and_of_releases_are_named() -> None:
    cases: list[CheckedCase] = [*CorrelatedCounts().audit_cases()]  # type: ignore[list-item]
    assert len(cases) == 2
    assert all(isinstance(case, ExactCase) for case in cases)
    assert all(isinstance(case, TranscriptCase) for case in choose_households(CorrelatedCounts()))


def test_mechanisms_without_noise_have_no_household() -> None:
    with pytest.raises(ValidationError, match="household"):
        plugin("no_privacy", "mechanism", household=2)
    with pytest.raises(ValidationError, match="must be at least 1"):
        UniformGrid(household=0)
    with pytest.raises(ValidationError, match=r"cells\.household has no effect"):
        plugin("pegasus", "mechanism", cells={"kind": "uniform_grid", "household": 2})
    with pytest.raises(ValidationError, match="people together the sum of theirs"):
        plugin("pdp_sample", "mechanism", cells={"kind": "uniform_grid", "household": 2})


@pytest.mark.skipif(importlib.util.find_spec("opendp") is None, reason="OpenDP is not installed")
def test_the_literal_form_is_not_released_and_the_group_is() -> None:
    mechanism = geodp.mechanism("correlated_counts", cell_m=500, variant="literal")
    with pytest.raises(NotReleasable, match="correlated sensitivity"):
        mechanism.release(make_frame(), region=BOX, noise="release", expected_workers=100)
    released = geodp.mechanism("uniform_grid", cell_m=500, household=4, epsilon=0.5).release(
        make_frame(), region=BOX, noise="release", expected_workers=100
    )
    assert released.releasable
    assert released.guarantee.people == 4
