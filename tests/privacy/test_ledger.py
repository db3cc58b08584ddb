import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import BudgetSpent, UsageError
from geodp.privacy.ledger import COLUMNS, Account, Allowance, Ledger, chargeable
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

DAY_S = 86_400.0


def promise(epsilon: float, unit: Unit = Unit.SNAPSHOT) -> Guarantee:
    return Guarantee(epsilon, unit, Neighbours.ADD_REMOVE, Trust.CENTRAL)


def charge(ledger: Ledger, epsilon: float, time_s: float = 0.0, **more: Any) -> bool:
    """Charge, and tell whether it was accepted."""
    try:
        ledger.charge(promise(epsilon), time_s=time_s, mechanism="contour", **more)
    except BudgetSpent:
        return False
    return True


def test_three_charges_of_a_tenth_fit_three_tenths_exactly() -> None:
    ledger = Ledger(0.3)
    totals = [ledger.charge(promise(0.1), time_s=t, mechanism="contour").total for t in (0, 1, 2)]
    assert totals == [0.1, 0.2, 0.3]
    assert ledger.find_remaining() == 0.0
    assert not charge(ledger, 1e-15)


@given(st.floats(1e-9, 50.0), st.integers(1, 60))
def test_a_budget_of_n_charges_holds_exactly_n_of_them(epsilon: float, count: int) -> None:
    """Whatever digits epsilon has: the budget is the double nearest to n·epsilon."""
    from geodp.public.guarantee import times

    ledger = Ledger(times(epsilon, count))
    assert all(charge(ledger, epsilon) for _ in range(count))
    assert not charge(ledger, epsilon)
    assert ledger.sum_spent() == times(epsilon, count)


def test_a_refusal_says_requested_remaining_and_short_by_and_records_nothing() -> None:
    ledger = Ledger(0.5)
    ledger.charge(promise(0.3), time_s=0, mechanism="contour")
    with pytest.raises(BudgetSpent, match=r"t=600 s: requested ε=0\.3, remaining ε=0\.2, short by ε=0\.1") as refused:
        ledger.charge(promise(0.3), time_s=600, mechanism="contour")
    assert refused.value.short_by == pytest.approx(0.1)
    assert len(ledger.charges) == 1
    assert ledger.sum_spent() == 0.3


@given(st.floats(0.01, 10), st.lists(st.floats(0.001, 3), max_size=30))
def test_no_sequence_of_charges_can_exceed_the_budget(budget: float, costs: list[float]) -> None:
    ledger = Ledger(budget)
    accepted = []
    for time_s, cost in enumerate(costs):
        try:
            ledger.charge(promise(cost), time_s=time_s, mechanism="m")
            accepted.append(cost)
        except BudgetSpent as refused:
            assert sum(accepted) + cost > budget * (1 - 1e-12)
            assert refused.requested == cost
    assert ledger.sum_spent() <= budget
    assert ledger.sum_spent() == pytest.approx(sum(accepted))


CHARGES = st.lists(
    st.tuples(
        st.integers(0, 400_000).map(float),  # any order of times over nearly five days
        st.sampled_from([0.05, 0.1, 0.3, 0.7, 1.0]),
        st.one_of(st.none(), st.lists(st.integers(0, 4), max_size=4)),
    ),
    max_size=40,
)


def most_in_any_window(accepted: list[tuple[float, int, list[int] | None]], person: int, window_s: float) -> int:
    """Return a person's fullest half-open window, in twentieths of epsilon, by trying every start."""
    own = [
        (time_s, cost * (1 if who is None else who.count(person)))
        for time_s, cost, who in accepted
        if who is None or person in who
    ]
    return max((sum(cost for time_s, cost in own if 0 <= time_s - start < window_s) for start, _ in own), default=0)


@settings(max_examples=150, deadline=None)
@given(CHARGES, st.sampled_from([3600.0, 50_000.0, DAY_S]))
def test_no_sequence_of_calls_can_exceed_the_budget_in_any_window(
    calls: list[tuple[float, float, list[int] | None]], window_s: float
) -> None:
    """To everyone and to some, in any order of time: no window of w seconds ever holds more; refusals are needed."""
    ledger = Ledger(1.0, window_s=window_s)
    accepted: list[tuple[float, int, list[int] | None]] = []
    for time_s, epsilon, who in calls:
        entry = (time_s, round(20 * epsilon), who)
        fits = all(most_in_any_window([*accepted, entry], person, window_s) <= 20 for person in range(6))
        assert charge(ledger, epsilon, time_s, who=None if who is None else np.array(who, dtype=np.int64)) == fits
        if fits:
            accepted.append(entry)
    for person in range(6):
        total = sum(cost * (1 if who is None else who.count(person)) for _, cost, who in accepted)
        assert ledger.sum_spent(person=person) == pytest.approx(total / 20)


@settings(max_examples=100, deadline=None)
@given(CHARGES, st.integers(0, 86_399).map(float))
def test_no_sequence_of_calls_can_exceed_the_budget_of_any_day(
    calls: list[tuple[float, float, list[int] | None]], start_s: float
) -> None:
    ledger = Ledger(1.0, per="day", midnight_s=-start_s)
    spent: dict[tuple[int, int], int] = {}
    for time_s, epsilon, who in calls:
        day = math.floor((time_s + start_s) / DAY_S)
        cost = {person: round(20 * epsilon) * (1 if who is None else who.count(person)) for person in range(6)}
        fits = all(spent.get((person, day), 0) + cost[person] <= 20 for person in range(6))
        assert charge(ledger, epsilon, time_s, who=None if who is None else np.array(who, dtype=np.int64)) == fits
        for person in range(6) if fits else ():
            spent[person, day] = spent.get((person, day), 0) + cost[person]


def test_the_budget_of_a_day_comes_back_at_midnight() -> None:
    """The run starts at 08:00, so midnight is 57,600 s after its start."""
    ledger = Ledger(1.0, per="day", midnight_s=-8 * 3600.0)
    assert charge(ledger, 1.0, 57_599)
    assert not charge(ledger, 0.1, 57_599.5)
    assert ledger.find_remaining(time_s=57_600) == 1.0
    assert charge(ledger, 1.0, 57_600)
    assert ledger.sum_spent() == 2.0


def test_a_window_slides() -> None:
    """Two charges exactly w apart share no window; a late entry between them is weighed with both."""
    ledger = Ledger(1.0, window_s=3600)
    assert charge(ledger, 0.6, 0)
    assert not charge(ledger, 0.6, 3599)
    assert charge(ledger, 0.6, 3600)
    assert ledger.find_remaining(time_s=1800) == 0.4
    assert not charge(ledger, 0.5, 1800)
    assert charge(ledger, 0.4, 1800)
    assert ledger.find_remaining(time_s=5400) == 0.4  # the windows that hold 5400 hold 3600, but no longer 1800
    assert ledger.sum_spent() == pytest.approx(1.6)


def test_disjoint_groups_of_people_compose_in_parallel() -> None:
    """Each person pays for their own group alone; whoever is in both pays both."""
    ledger = Ledger(1.0)
    assert charge(ledger, 0.7, who=np.arange(0, 50))
    assert charge(ledger, 0.7, who=np.arange(50, 100))
    assert (ledger.sum_spent(person=3), ledger.sum_spent(person=70), ledger.sum_spent(person=1000)) == (0.7, 0.7, 0.0)
    assert not charge(ledger, 0.7, who=[49, 50])
    assert charge(ledger, 0.3)  # everyone
    assert not charge(ledger, 0.1)
    assert ledger.find_remaining(person=1000) == 0.7
    assert ledger.sum_spent() == 1.0
    np.testing.assert_array_equal(ledger.per_person(), np.full(100, 1.0))


def test_who_is_listed_twice_pays_twice() -> None:
    ledger = Ledger(1.0)
    with pytest.raises(BudgetSpent, match="requested ε=1.2, remaining ε=1") as refused:
        ledger.charge(promise(0.6), time_s=0, mechanism="m", who=[1, 2, 2])
    assert refused.value.remaining == 1.0
    assert charge(ledger, 0.5, who=[1, 2, 2])
    np.testing.assert_array_equal(ledger.per_person(), [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(ledger.affordable(promise(0.5), [0, 1, 2, 3], time_s=0.0), [True, True, False, True])


def test_metric_charges_are_never_added_to_central_ones() -> None:
    ledger = Ledger(1.0)
    ledger.charge(promise(0.9), time_s=0, mechanism="contour")
    ledger.charge(Guarantee.per_metre(0.5), time_s=0, mechanism="planar_laplace")
    ledger.charge(promise(7.0), time_s=0, mechanism="answers", account=Account.INTERACTION)
    assert ledger.sum_spent() == 0.9
    assert ledger.sum_spent(Account.METRIC) == 0.5
    assert ledger.sum_spent(Account.INTERACTION) == 7.0
    assert ledger.find_remaining(Account.INTERACTION) == math.inf
    assert [row.total for row in ledger.charges] == [0.9, 0.5, 7.0]


def test_accounts_may_have_budgets_of_their_own() -> None:
    ledger = Ledger(budgets={Account.CENTRAL: Allowance(1.0, per="day"), Account.METRIC: 0.01})
    place = Guarantee.per_metre(0.006)
    ledger.charge(place, time_s=0, mechanism="planar_laplace")
    with pytest.raises(BudgetSpent):
        ledger.charge(place, time_s=10 * DAY_S, mechanism="planar_laplace")
    assert all(charge(ledger, 1.0, day * DAY_S) for day in range(3))


def test_visits_cost_epsilon_times_the_public_cap() -> None:
    ledger = Ledger(2.0)
    with pytest.raises(UsageError, match="public cap"):
        ledger.charge(promise(0.1, Unit.EVENT), time_s=0, mechanism="grouping")
    row = ledger.charge(promise(0.1, Unit.EVENT), time_s=0, mechanism="grouping", cap=20)
    assert (row.epsilon, row.unit) == (2.0, Unit.USER)
    with pytest.raises(BudgetSpent):
        ledger.charge(promise(0.01, Unit.EVENT), time_s=0, mechanism="grouping", cap=1)


def test_a_charge_in_parts_has_a_row_for_each_and_is_accepted_whole_or_not_at_all() -> None:
    ledger = Ledger(1.0)
    row = ledger.charge(promise(0.3), time_s=5, mechanism="dpt", parts={"density": 0.1, "ends": 0.2})
    assert (row.scope, row.epsilon, row.total) == ("everyone", 0.3, 0.3)
    rows = [(each.scope, each.mechanism, each.epsilon, each.total) for each in ledger.charges]
    assert rows == [("everyone: density", "dpt", 0.1, 0.1), ("everyone: ends", "dpt", 0.2, 0.3)]
    with pytest.raises(BudgetSpent) as refused:
        ledger.charge(promise(0.8), time_s=5, mechanism="dpt", parts={"density": 0.4, "ends": 0.4})
    assert (refused.value.requested, refused.value.remaining) == (0.8, 0.7)
    assert len(ledger.charges) == 2
    ledger.charge(promise(0.7), time_s=5, mechanism="dpt", parts={"density": 0.1, "ends": 0.6})
    assert ledger.find_remaining() == 0.0
    with pytest.raises(UsageError, match="in parts is a charge to everyone"):
        ledger.charge(promise(0.1), time_s=5, mechanism="dpt", who=[1], parts={"density": 0.1})


@pytest.mark.parametrize(("epsilon", "count"), [(0.92, 3), (1.84, 3), (math.log(20), 9), (5.82, 7)])
def test_charges_in_parts_fit_a_budget_that_charges_in_one_piece_fit(epsilon: float, count: int) -> None:
    shares = {"choice": 0.1, "lengths": 0.1, "departures": 0.025, "paces": 0.025, "cells": 0.375, "pairs": 0.375}
    ledger = Ledger(float(Decimal(repr(epsilon)) * count))
    for _ in range(count):
        ledger.charge(promise(epsilon), time_s=0, mechanism="dpt", parts=shares)
    assert not charge(ledger, 1e-6)


def test_parts_are_charged_as_often_as_the_whole_and_delta_once() -> None:
    ledger = Ledger(10.0)
    loose = Guarantee(0.1, Unit.TRAJECTORY, Neighbours.ADD_REMOVE, Trust.CENTRAL)
    ledger.charge(loose, time_s=0, mechanism="dpt", cap=5, parts={"density": 0.04, "ends": 0.06})
    assert [row.epsilon for row in ledger.charges] == [0.2, 0.3]
    with_delta = Guarantee(1.0, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL, delta=1e-6)
    ledger.charge(with_delta, time_s=0, mechanism="m", parts={"a": 0.5, "b": 0.5})
    assert [row.delta for row in ledger.charges[2:]] == [1e-6, 0.0]


@pytest.mark.parametrize(("unit", "account"), [(Unit.TRAJECTORY, Account.TRAJECTORY), (Unit.EVENT, Account.EVENT)])
def test_what_no_cap_bounds_has_an_account_per_visit_or_trip(unit: Unit, account: Account) -> None:
    one, nobody = promise(0.6, unit), Guarantee.none("no cap")
    assert chargeable(one, nobody) == (one, account)
    assert chargeable(one, promise(3.0)) == (promise(3.0), Account.CENTRAL)
    assert chargeable(nobody, nobody) is None
    ledger = Ledger(1.0)
    charge(ledger, 1.0)
    row = ledger.charge(one, time_s=0, mechanism="m", account=account)
    assert (row.epsilon, row.unit, row.account) == (0.6, unit, account)
    with pytest.raises(BudgetSpent):
        ledger.charge(one, time_s=0, mechanism="m", account=account)
    assert ledger.sum_spent() == 1.0
    assert list(ledger.to_frame()["unit"]) == [Unit.SNAPSHOT, unit]


def test_unlike_neighbours_and_empty_promises_are_refused() -> None:
    ledger = Ledger(2.0)
    charge(ledger, 0.1)
    with pytest.raises(UsageError, match="'add_remove' charges; 'replace' cannot be added"):
        ledger.charge(promise(0.1).for_replacement(), time_s=0, mechanism="m")
    with pytest.raises(UsageError, match="promises nothing"):
        ledger.charge(Guarantee.none("exact counts"), time_s=0, mechanism="no_privacy")
    assert len(ledger.charges) == 1


def test_deltas_have_a_budget_too() -> None:
    ledger = Ledger(10.0, budget_delta=2e-6)
    loose = Guarantee(1.0, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL, delta=1e-6)
    for _ in range(2):
        ledger.charge(loose, time_s=0, mechanism="gaussian")
    with pytest.raises(BudgetSpent, match="requested δ=1e-06, remaining δ=0"):
        ledger.charge(loose, time_s=0, mechanism="gaussian")
    assert ledger.sum_spent() == 2.0


def test_spending_can_be_asked_for_by_person_and_by_time() -> None:
    ledger = Ledger(5.0)
    charge(ledger, 1.0, 100.0)
    charge(ledger, 0.5, 200.0, who=[7])
    charge(ledger, 0.25, 300.0)
    assert [ledger.sum_spent(time_s=t) for t in (99.0, 100.0, 250.0, 300.0)] == [0.0, 1.0, 1.5, 1.75]
    assert [ledger.sum_spent(person=p, time_s=250.0) for p in (6, 7)] == [1.0, 1.5]
    assert [ledger.find_remaining(person=p) for p in (6, 7)] == [3.75, 3.25]


def test_the_public_table_holds_no_person_and_the_private_one_holds_them_all() -> None:
    ledger = Ledger(5.0)
    charge(ledger, 1.0, 100.0)
    charge(ledger, 0.5, 200.0, who=[7, 3])
    public, private = ledger.to_frame(), ledger.people_frame()
    assert list(public.columns) == list(COLUMNS)
    assert public["epsilon"].tolist() == [1.0]
    assert private[["worker", "epsilon"]].to_numpy().tolist() == [[3, 0.5], [7, 0.5]]
    assert Ledger().to_frame().empty
    assert Ledger().people_frame().empty


@pytest.mark.parametrize(
    "settings",
    [
        {"budget_epsilon": 0.0},
        {"budget_epsilon": math.nan},
        {"budget_epsilon": math.inf},
        {"per": "week"},
        {"window_s": 0.0},
        {"window_s": math.nan},
        {"window_s": 60.0, "per": "day"},
        {"budgets": {Account.METRIC: -1.0}},
    ],
)
def test_impossible_budgets_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Ledger(**settings)


@pytest.mark.parametrize("who", [[-1], [0.5], ["anna"], [2**28]])
def test_people_are_numbers(who: list[Any]) -> None:
    ledger = Ledger(1.0)
    with pytest.raises(UsageError, match="people are numbered"):
        ledger.charge(promise(0.1), time_s=0, mechanism="m", who=who)
    with pytest.raises(UsageError, match="time"):
        ledger.charge(promise(0.1), time_s=math.nan, mechanism="m")
    assert ledger.sum_spent() == 0.0


PERIODS = st.lists(
    st.tuples(
        st.sampled_from([-math.inf, *(6 * 3600.0 * hour for hour in range(16))]),
        st.sampled_from([0.0, 1.0, 30_000.0, 100_000.0, math.inf]),
        st.sampled_from([0.1, 0.3, 0.5]),
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(PERIODS, st.sampled_from([3600.0, 50_000.0, None]))
def test_a_charge_counts_in_every_window_and_day_that_its_data_touch(
    calls: list[tuple[float, float, float]], window_s: float | None
) -> None:
    """Every window that ends on a quarter of an hour, and every day, is tried by hand."""
    ledger = Ledger(1.0, window_s=window_s) if window_s else Ledger(1.0, per="day")
    grid = [900.0 * number for number in range(-200, 1000)]
    windows = [(end - window_s, end) for end in grid] if window_s else [(t - 0.5, t + DAY_S - 0.5) for t in grid[8::96]]
    accepted: list[tuple[float, float, int]] = []
    for begin, length, epsilon in calls:
        entry = (begin, math.inf if length == math.inf else max(begin, 0.0) + length, round(10 * epsilon))
        fullest = max(
            sum(cost for first, last, cost in [*accepted, entry] if first <= high and last > low)
            for low, high in windows
            if entry[0] <= high and entry[1] > low
        )
        try:
            ledger.charge(promise(epsilon), time_s=0.0, mechanism="m", period=entry[:2])
        except BudgetSpent:
            assert fullest > 10
        else:
            assert fullest <= 10
            accepted.append(entry)


def test_a_publication_over_all_days_leaves_less_of_every_day() -> None:
    ledger = Ledger(1.0, per="day")
    assert charge(ledger, 0.4, 3 * DAY_S, period=(0.0, 3 * DAY_S))
    assert [ledger.find_remaining(time_s=day * DAY_S) for day in range(-1, 5)] == [1.0, 0.6, 0.6, 0.6, 0.6, 1.0]
    assert charge(ledger, 0.6, DAY_S)
    assert not charge(ledger, 0.1, 3 * DAY_S, period=(0.0, 3 * DAY_S))
    assert charge(ledger, 0.6, 2 * DAY_S)
    assert ledger.to_frame()[["begin_s", "end_s"]].to_numpy().tolist()[:2] == [[0.0, 3 * DAY_S], [DAY_S, DAY_S]]


@pytest.mark.parametrize("period", [(1.0, 0.0), (math.nan, 1.0), (math.inf, math.inf), (-math.inf, -math.inf)])
def test_impossible_periods_are_refused(period: tuple[float, float]) -> None:
    with pytest.raises(UsageError, match="ends after it begins"):
        Ledger(1.0).charge(promise(0.1), time_s=0, mechanism="m", period=period)
    with pytest.raises(UsageError, match="is to everyone"):
        Ledger(1.0).charge(promise(0.1), time_s=0, mechanism="m", period=(0.0, 1.0), who=[1])


def test_a_window_shorter_than_the_clock_can_tell_still_holds_its_own_moment() -> None:
    ledger = Ledger(1.0, window_s=1e-9)
    assert charge(ledger, 1.0, 1e9)
    assert not charge(ledger, 0.1, 1e9)
