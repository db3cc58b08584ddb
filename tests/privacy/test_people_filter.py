"""Budgets of single people: who has spent hers is no longer counted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import UsageError
from geodp.privacy.ledger import Account, Ledger
from geodp.privacy.people_filter import PeopleFilter
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

ALWAYS, LATE = 0, 1
RELEASE = Guarantee(0.3, Unit.SNAPSHOT, Neighbours.ADD_REMOVE, Trust.CENTRAL)


def admit(ledger: Ledger, who: list[int], time_s: float, people: int = 2) -> list[bool]:
    fits = ledger.admit(RELEASE, np.array(who, dtype=np.int64), time_s=time_s, mechanism="m", budget=1.0, people=people)
    return [bool(one) for one in fits]


def test_who_is_always_there_is_counted_three_times_and_who_comes_late_in_all_of_hers() -> None:
    """The page's golden: ε = 0.3, B = 1."""
    ledger = Ledger()
    always, late = [], []
    for number in range(1, 11):
        who = [ALWAYS, LATE] if number >= 8 else [ALWAYS]
        fits = admit(ledger, who, float(number))
        always += [number] if fits[0] else []
        late += [number] if len(fits) > 1 and fits[1] else []
    assert always == [1, 2, 3]
    assert late == [8, 9, 10]
    assert ledger.sum_filtered().tolist() == pytest.approx([0.9, 0.9])


def test_public_rows_are_the_same_whoever_comes() -> None:
    tables = []
    for who in ([], [0], [0, 1], [1]):
        ledger = Ledger()
        for number in range(5):
            admit(ledger, who, float(number))
        tables.append(ledger.to_frame())
        assert ledger.people_frame().empty
    assert all(table.equals(tables[0]) for table in tables)
    assert tables[0]["total"].tolist() == pytest.approx([0.3, 0.6, 0.9, 0.9, 0.9])


def test_what_everyone_was_charged_is_spent_by_each() -> None:
    ledger = Ledger()
    published = Guarantee(0.5, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)
    ledger.charge(published, time_s=0.0, mechanism="p")
    assert [admit(ledger, [0], 1.0), admit(ledger, [0], 2.0)] == [[True], [False]]
    assert ledger.sum_spent(Account.CENTRAL) == 0.5


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0.1, 0.3, 0.7, 1 / 3, 1e-7]), st.lists(st.booleans(), min_size=4, max_size=4))),
    st.sampled_from([0.3, 1.0, 2.5]),
)
def test_nobody_spends_more_than_her_budget_and_nobody_depends_on_the_others(
    releases: list[tuple[float, list[bool]]], budget: float
) -> None:
    together, alone = PeopleFilter(4, budget), [PeopleFilter(4, budget) for _ in range(4)]
    spent = [Fraction(0)] * 4
    for epsilon, there in releases:
        who = np.flatnonzero(there)
        fits = dict(zip(who.tolist(), together.admit(who, epsilon).tolist(), strict=True))
        exact = Fraction(repr(epsilon))
        for person, counted in fits.items():
            could = spent[person] + exact <= Fraction(budget) * (1 + Fraction(1, 10**15))
            assert not counted or could
            spent[person] += exact if counted else 0
    for person in range(4):  # alone in the world she is counted in the same releases of the same ε
        kept = [
            bool(alone[person].admit(np.array([person]), epsilon)[0]) for epsilon, there in releases if there[person]
        ]
        again = PeopleFilter(4, budget)
        with_others = [
            bool(again.admit(np.flatnonzero(there), epsilon)[np.flatnonzero(there).tolist().index(person)])
            for epsilon, there in releases
            if there[person]
        ]
        assert kept == with_others


def test_sums_are_exact_where_doubles_are_not() -> None:
    """Ten times 0.1 fit a budget of 1, three times 0.1 one of 0.3."""
    for budget, times in ((1.0, 10), (0.3, 3)):
        kept = PeopleFilter(1, budget)
        assert [bool(kept.admit(np.array([0]), 0.1)[0]) for _ in range(times + 1)] == [True] * times + [False]


def test_a_filter_takes_no_delta_and_no_senseless_budget() -> None:
    loose = Guarantee(0.3, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL, delta=1e-6)
    with pytest.raises(UsageError, match="delta"):
        Ledger().admit(loose, np.array([0]), time_s=0.0, mechanism="m", budget=1.0, people=1)
    with pytest.raises(UsageError, match="budget"):
        PeopleFilter(1, 0.0)
