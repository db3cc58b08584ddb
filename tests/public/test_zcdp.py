import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import UsageError
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.public.zcdp import epsilon_of_rho, guess_risk, largest_rho

RHO_1 = largest_rho(1.0, 1e-6)


@pytest.mark.parametrize(("rho", "tight", "loose"), [(0.005, 0.429941, 0.530652), (0.1, 2.141939, 2.450788)])
def test_a_rho_is_worth_what_the_tight_conversion_says(rho: float, tight: float, loose: float) -> None:
    assert epsilon_of_rho(rho, 1e-6) == pytest.approx(tight, abs=5e-7)
    assert rho + 2 * math.sqrt(rho * math.log(1e6)) == pytest.approx(loose, abs=5e-7)
    assert epsilon_of_rho(1.0, 1e-6) == pytest.approx(7.766217, abs=5e-7)


@pytest.mark.parametrize(("epsilon", "rho"), [(0.5, 0.00664152), (1.0, 0.02435597), (2.0, 0.08815269)])
def test_the_largest_rho_of_an_epsilon(epsilon: float, rho: float) -> None:
    assert largest_rho(epsilon, 1e-6) == pytest.approx(rho, abs=5e-9)


@pytest.mark.parametrize(("days", "epsilon"), [(7, 2.867594), (30, 6.480426), (365, 29.806782), (4, 2.111734)])
def test_days_add_up(days: int, epsilon: float) -> None:
    assert epsilon_of_rho(days * RHO_1, 1e-6) == pytest.approx(epsilon, abs=5e-7)
    one = Guarantee.from_rho(RHO_1, 1e-6, Unit.PERSON_DAY)
    assert one.repeat(days).epsilon == pytest.approx(epsilon, abs=5e-7)


@settings(deadline=None, derandomize=True)
@given(rho=st.floats(1e-6, 50), log_delta=st.floats(-30, -0.1))
def test_no_alpha_does_better(rho: float, log_delta: float) -> None:
    """The least over a fine grid of orders is the one found, to within the grid."""
    delta = math.exp(log_delta)
    over = np.exp(np.linspace(-12, 20, 20_001))
    grid = (1 + over) * rho - np.log1p(1 / over) - (log_delta + np.log1p(over)) / over
    found = epsilon_of_rho(rho, delta)
    assert found <= max(grid.min(), 0.0) + 1e-9
    assert found == pytest.approx(max(grid.min(), 0.0), rel=1e-4, abs=1e-6)


@settings(deadline=None, derandomize=True)
@given(epsilon=st.floats(1e-3, 40), log_delta=st.floats(-30, -0.1))
def test_the_largest_rho_is_turned_back(epsilon: float, log_delta: float) -> None:
    rho = largest_rho(epsilon, math.exp(log_delta))
    assert epsilon_of_rho(rho, math.exp(log_delta)) <= epsilon
    assert epsilon_of_rho(rho * (1 + 1e-9), math.exp(log_delta)) > epsilon * (1 - 1e-6)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, math.nan])
def test_a_rho_is_stated_at_a_delta_between_0_and_1(delta: float) -> None:
    with pytest.raises(UsageError, match="delta between 0 and 1"):
        epsilon_of_rho(0.1, delta)
    with pytest.raises(UsageError, match="at least 0"):
        epsilon_of_rho(-0.1, 1e-6)


def test_what_a_guess_is_worth() -> None:
    assert guess_risk(1.0, 1e-6, RHO_1) == pytest.approx(0.555177, abs=5e-7)
    month = epsilon_of_rho(30 * RHO_1, 1e-6)
    assert guess_risk(month, 1e-6, 30 * RHO_1) == pytest.approx(0.802217, abs=5e-7)
    assert guess_risk(1.0) == pytest.approx(0.731059, abs=5e-7)
    assert guess_risk(1.0, 0.5, None) == pytest.approx(0.5 + 0.5 * min(1.0, math.e / (math.e + 1)))
    assert guess_risk(800.0) == 1.0
    assert guess_risk(1.0, 1e-6, RHO_1, 0.01) == pytest.approx(0.560177, abs=5e-7)


def test_a_concentrated_guarantee_says_what_it_is_stated_at() -> None:
    promise = Guarantee.from_rho(RHO_1, 1e-6, Unit.PERSON_DAY)
    assert promise.epsilon == pytest.approx(1.0, abs=1e-9)
    assert promise.spent_rho == RHO_1
    assert promise.risk == pytest.approx(0.555177, abs=5e-7)
    assert promise.account == "central"
    text = promise.sentence()
    assert "one person's whole day (of the data)" in text
    assert "ρ = 0.02435597" in text
    assert "δ = 1e-06" in text
    week = Guarantee.from_rho(0.1, 1e-6, Unit.PERSON_WEEK).sentence()
    assert "one person's whole week (any 7 consecutive days of the data)" in week
    assert Guarantee.from_dict(promise.as_dict()) == promise


def test_pure_promises_count_half_their_square_beside_them() -> None:
    pure = Guarantee(0.1, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)
    assert pure.spent_rho == pytest.approx(0.005)
    assert "rho" not in pure.as_dict()
    assert "delta_t" not in pure.as_dict()
    assert Guarantee(0.1, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL, delta=1e-6).spent_rho is None
    thresholded = Guarantee(0.1, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL, delta=1e-6, delta_t=1e-6)
    assert thresholded.spent_rho == pytest.approx(0.005)
    assert Guarantee.per_metre(0.01).spent_rho is None


def test_groups_and_replacements_cost_squares() -> None:
    """k changes within one release are k times as far apart: k²ρ; counts replaced are √2 as far: 2ρ."""
    day = Guarantee.from_rho(RHO_1, 1e-6, Unit.PERSON_DAY)
    assert day.for_users(3).rho == pytest.approx(9 * RHO_1)
    assert day.for_users(3).unit is Unit.USER
    assert day.for_group(2).epsilon == pytest.approx(2.111734, abs=5e-7)
    assert day.for_replacement().rho == pytest.approx(4 * RHO_1)
    assert day.for_replacement(nonnegative=True).rho == pytest.approx(2 * RHO_1)
    assert day.for_users(1).rho == RHO_1
    assert "any 2 people or fewer together, of each the whole day" in day.for_group(2).sentence()


def test_thresholds_do_not_become_promises_about_several() -> None:
    day = Guarantee.from_rho(0.02293745, 1e-6, Unit.PERSON_DAY, delta_t=4.062687e-7)
    assert day.epsilon == pytest.approx(epsilon_of_rho(0.02293745, 1e-6 - 4.062687e-7))
    with pytest.raises(UsageError, match="thresholds"):
        day.for_users(2)
    with pytest.raises(UsageError, match="thresholds"):
        day.for_group(2)
    with pytest.raises(UsageError, match="thresholds"):
        day.for_replacement()
    twice = day.repeat(2)
    assert (twice.rho, twice.delta, twice.delta_t) == pytest.approx((0.0458749, 2e-6, 8.125374e-7))
    assert twice.epsilon == pytest.approx(epsilon_of_rho(0.0458749, 2e-6 - 8.125374e-7))


@pytest.mark.parametrize(
    "values",
    [
        {"rho": -1.0, "delta": 1e-6},
        {"rho": 0.1, "delta": 0.0},
        {"rho": 0.1, "delta": 1e-6, "delta_t": 1e-6},
        {"rho": 0.1, "delta": 1e-6, "delta_t": 2e-6},
        {"rho": 1.0, "delta": 1e-6},
        {"rho": 0.001, "delta": 1e-6, "unit": Unit.POINT},
        {"rho": 0.001, "delta": 1e-6, "unit": Unit.ANSWER},
        {"rho": 0.001, "delta": 1e-6, "by_group": (("some", 0.5),)},
    ],
)
def test_impossible_rhos_are_refused(values: dict[str, object]) -> None:
    stated = {"epsilon": 1.0, "unit": Unit.USER, "neighbours": Neighbours.ADD_REMOVE, "trust": Trust.CENTRAL}
    with pytest.raises(ValueError, match=r"rho|delta"):
        Guarantee(**{**stated, **values})  # type: ignore[arg-type]
