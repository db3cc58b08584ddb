import hashlib
import json
import math
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import BudgetSpent, UsageError
from geodp.privacy.data_days import ConcentratedBudget, DataDays, Days
from geodp.privacy.ledger import Account, Ledger
from geodp.privacy.ledger_file import FILE_COLUMNS, LedgerFile, decode, encode, from_rows
from geodp.privacy.zcdp import epsilon_of_rho, largest_rho, mix_epsilon
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

RHO_1 = largest_rho(1.0, 1e-6)
BEGIN = date(2024, 3, 1)


def span(first: int, last: int) -> Days:
    return BEGIN + timedelta(first), BEGIN + timedelta(last)


def concentrated(rho: float, unit: Unit = Unit.PERSON_DAY, delta_t: float = 0.0) -> Guarantee:
    return Guarantee.from_rho(rho, 1e-6, unit, delta_t=delta_t)


def pure(epsilon: float, unit: Unit = Unit.USER) -> Guarantee:
    return Guarantee(epsilon, unit, Neighbours.ADD_REMOVE, Trust.CENTRAL)


def hash_value(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def spend(ledger: Ledger, promise: Guarantee, days: Days | None = None, **more: object) -> None:
    ledger.charge(promise, time_s=0.0, mechanism="flows", days=days, **more)  # type: ignore[arg-type]


def test_a_month_of_days_is_told_by_day_week_and_person() -> None:
    """ρ₁ a day: 1, 2.867594 and 6.480426 at δ 1e-6 for a day, 7 days and 30 days."""
    ledger = Ledger()
    spend(ledger, concentrated(RHO_1), span(0, 29))
    told = ledger.state_spent(1e-6)
    assert told["person_day"]["epsilon"] == pytest.approx(1.0, abs=1e-9)
    assert told["person_week"]["epsilon"] == pytest.approx(2.867594, abs=5e-7)
    assert told["user"]["epsilon"] == pytest.approx(6.480426, abs=5e-7)
    assert [told[unit]["rho"] / RHO_1 for unit in told] == pytest.approx([1, 7, 30])
    row = ledger.charges[0]
    assert (row.rho, row.first_day, row.last_day) == (RHO_1, *span(0, 29))
    assert row.total == 0.0  # its ε adds up to nothing
    assert "person_week ρ 0.170492, ε 2.86759" in ledger.summary()


def test_a_week_gives_each_day_a_seventh_and_a_person_each_day_its_share() -> None:
    week, person = Ledger(), Ledger()
    spend(week, concentrated(0.7, Unit.PERSON_WEEK), span(0, 27))
    spend(person, concentrated(0.7, Unit.USER), span(0, 27))
    assert [week.state_spent(1e-6)[unit]["rho"] for unit in ("person_day", "person_week", "user")] == pytest.approx(
        [0.1, 0.7, 2.8]
    )
    assert [person.state_spent(1e-6)[unit]["rho"] for unit in ("person_day", "person_week", "user")] == pytest.approx(
        [0.025, 0.175, 0.7]
    )


def test_a_charge_whose_days_are_not_known_counts_in_all_of_them() -> None:
    ledger = Ledger()
    spend(ledger, concentrated(0.01), span(0, 6))
    spend(ledger, concentrated(0.05, Unit.USER))
    spend(ledger, pure(0.1))
    told = ledger.state_spent(1e-6)
    assert [told[unit]["rho"] for unit in ("person_day", "person_week", "user")] == pytest.approx([0.065, 0.125, 0.125])


@settings(deadline=None, derandomize=True)
@given(
    charges=st.lists(
        st.tuples(
            st.sampled_from([Unit.PERSON_DAY, Unit.PERSON_WEEK, Unit.USER]),
            st.floats(1e-4, 1.0),
            st.integers(0, 40),
            st.integers(0, 12),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_sums_are_those_of_counting_day_by_day(charges: list[tuple[Unit, float, int, int]]) -> None:
    days, by_day = DataDays(), np.zeros(80)
    for unit, rho, first, more in charges:
        days = days.with_charge(concentrated(rho, unit), span(first, first + more))
        share = {Unit.PERSON_DAY: 1.0, Unit.PERSON_WEEK: 1 / 7, Unit.USER: 1 / (more + 1)}[unit]
        by_day[10 + first : 10 + first + more + 1] += rho * share
    expected = {
        Unit.PERSON_DAY: by_day.max(),
        Unit.PERSON_WEEK: max(by_day[at : at + 7].sum() for at in range(74)),
        Unit.USER: by_day.sum(),
    }
    for unit, rho in expected.items():
        assert days.measure(ConcentratedBudget(rho=1.0, unit=unit)) == pytest.approx(rho, rel=1e-9)


@pytest.mark.parametrize(
    ("unit", "fitting"), [(Unit.PERSON_DAY, 12), (Unit.PERSON_WEEK, 1), (Unit.USER, 2)], ids=["day", "week", "person"]
)
def test_the_budget_names_what_it_bounds(unit: Unit, fitting: int) -> None:
    """Months of .01 a day against .3 a day, .07 a week and .6 a person: the first never ends with new days."""
    amount = {Unit.PERSON_DAY: 0.3, Unit.PERSON_WEEK: 0.07, Unit.USER: 0.6}[unit]
    ledger = Ledger(concentrated=ConcentratedBudget(rho=amount, unit=unit))
    for month in range(fitting):
        spend(ledger, concentrated(0.01), span(30 * month, 30 * month + 29))
    if unit is Unit.PERSON_DAY:
        assert ledger.find_rho() == pytest.approx(0.29)
        return
    later = 29 if unit is Unit.PERSON_WEEK else 600  # days that share a week with the first month
    with pytest.raises(BudgetSpent, match=r"ρ=0\.01") as refused:
        spend(ledger, concentrated(0.01), span(later, later))
    assert refused.value.remaining == pytest.approx(0.0, abs=1e-12)
    assert len(ledger.charges) == fitting


def test_three_tenths_fit_three_tenths_and_no_more() -> None:
    ledger = Ledger(concentrated=ConcentratedBudget(rho=0.3, unit=Unit.PERSON_DAY))
    for _ in range(3):
        spend(ledger, concentrated(0.1), span(0, 0))
    assert ledger.find_rho(span(0, 0)) == pytest.approx(0.0, abs=1e-12)
    assert ledger.find_rho(span(1, 1)) == pytest.approx(0.3)
    with pytest.raises(BudgetSpent):
        spend(ledger, concentrated(1e-6), span(0, 0))


def test_a_budget_of_epsilon_is_of_the_total_at_its_delta() -> None:
    """ρ .01 with ten pure 0.1 comes to 1.621693 (not 1.623759): it fits 1.6217 and not 1.6216."""
    for allowed, fits in ((1.6217, True), (1.6216, False)):
        ledger = Ledger(concentrated=ConcentratedBudget(epsilon=allowed, delta=1e-6))
        spend(ledger, concentrated(0.01, Unit.USER))
        for _ in range(9):
            spend(ledger, pure(0.1))
        if fits:
            spend(ledger, pure(0.1))
            assert ledger.state_spent(1e-6)["user"]["epsilon"] == pytest.approx(1.621693, abs=1e-6)
        else:
            with pytest.raises(BudgetSpent, match="ε at δ = 1e-06"):
                spend(ledger, pure(0.1))


@settings(deadline=None, derandomize=True)
@given(
    rho=st.floats(0, 0.05),
    ones=st.lists(st.floats(1e-3, 0.3), max_size=4),
    epsilon=st.floats(0.1, 5),
    delta_t=st.floats(0, 9e-7),
)
def test_what_is_left_fits_and_a_little_more_does_not(
    rho: float, ones: list[float], epsilon: float, delta_t: float
) -> None:
    budget = ConcentratedBudget(epsilon=epsilon, delta=1e-6)
    days = DataDays()
    if rho:
        days = days.with_charge(concentrated(rho, Unit.USER, delta_t), None)
    for one in ones:
        days = days.with_charge(pure(one), None)
    room = budget.find_rho(days.sums(Unit.USER)[0])
    left = 1e-6 - (delta_t if rho else 0.0)
    if room > 0:
        assert mix_epsilon(ones, [rho, room], left) <= epsilon * (1 + 1e-9)
    assert mix_epsilon(ones, [rho, room * (1 + 1e-6) + 1e-9], left) > epsilon * (1 - 1e-6)


def test_thresholds_take_their_part_of_delta() -> None:
    ledger = Ledger(concentrated=ConcentratedBudget(epsilon=5.0, delta=1e-6))
    spend(ledger, concentrated(0.02, Unit.PERSON_DAY, 4e-7), span(0, 1))
    told = ledger.state_spent(1e-6)["user"]
    assert told["delta_t"] == pytest.approx(8e-7)
    assert told["epsilon"] == pytest.approx(epsilon_of_rho(0.04, 2e-7))
    with pytest.raises(BudgetSpent):
        spend(ledger, concentrated(0.02, Unit.PERSON_DAY, 4e-7), span(2, 2))


def test_a_ledger_of_pure_epsilon_refuses_rho_and_days() -> None:
    for ledger in (Ledger(1.0), Ledger(budget_delta=1e-6)):
        with pytest.raises(UsageError, match="budget of pure epsilon"):
            spend(ledger, concentrated(0.001, Unit.USER))
        with pytest.raises(UsageError, match="person_day"):
            spend(ledger, pure(0.1, Unit.PERSON_DAY), span(0, 0))
        assert not ledger.charges


def test_unlike_things_are_never_added() -> None:
    ledger = Ledger(concentrated=ConcentratedBudget(rho=1.0))
    spend(ledger, concentrated(0.1), span(0, 0))
    with pytest.raises(UsageError, match="'replace' cannot be added"):
        spend(ledger, concentrated(0.1).for_replacement(), span(0, 0))
    with pytest.raises(UsageError, match="without a rho"):
        spend(ledger, Guarantee(0.1, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL, delta=1e-6))
    with pytest.raises(UsageError, match="without a rho"):
        spend(ledger, Guarantee(0.1, Unit.PAIR, Neighbours.ADD_REMOVE, Trust.CENTRAL))
    with pytest.raises(UsageError, match="counts no rho"):
        spend(ledger, concentrated(0.1, Unit.EVENT), account=Account.EVENT)
    with pytest.raises(UsageError, match="single people"):
        spend(ledger, concentrated(0.1, Unit.USER), who=[1])
    with pytest.raises(UsageError, match="first and last day"):
        spend(ledger, concentrated(0.1))
    with pytest.raises(UsageError, match="the day they begin or later"):
        spend(ledger, concentrated(0.1), span(1, 0))
    ledger.charge(Guarantee.per_metre(0.01), time_s=0.0, mechanism="planar_laplace")
    assert ledger.sum_spent(Account.METRIC) == 0.01
    assert ledger.find_rho() == pytest.approx(0.9)
    assert len(ledger.charges) == 2


def test_events_with_a_cap_cost_its_square() -> None:
    ledger = Ledger(concentrated=ConcentratedBudget(rho=1.0))
    spend(ledger, concentrated(0.01, Unit.EVENT), cap=3)
    assert ledger.charges[0].rho == pytest.approx(0.09)


def test_parts_share_the_rho() -> None:
    ledger = Ledger(concentrated=ConcentratedBudget(rho=1.0))
    promise = concentrated(0.1, Unit.PERSON_DAY, 4e-7)
    spend(ledger, promise, span(0, 2), parts={"footfall": 0.5, "od": 0.3, "hours": 0.2})
    assert [row.rho for row in ledger.charges] == [0.05, 0.03, 0.02]
    assert [row.delta_t for row in ledger.charges] == [4e-7, 0.0, 0.0]
    again = Ledger(charges=ledger.charges, concentrated=ledger.concentrated)
    for unit, spent in ledger.state_spent(1e-5).items():
        assert again.state_spent(1e-5)[unit] == pytest.approx(spent)


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_a_ledger_file_keeps_rho_and_days(tmp_path: Path, suffix: str) -> None:
    budget = ConcentratedBudget(epsilon=9.0, delta=1e-6, unit=Unit.USER)
    path = tmp_path / f"l.{suffix}"
    with LedgerFile(path, concentrated=budget).open_ledger() as ledger:
        spend(ledger, concentrated(RHO_1), span(0, 29))
    with LedgerFile(path).open_ledger() as ledger:
        assert ledger.concentrated == budget
        spend(ledger, concentrated(RHO_1 / 2, delta_t=1e-8), span(30, 59))
        before = ledger.charges
    with pytest.raises(BudgetSpent, match="holds 2 rows"), LedgerFile(path).open_ledger() as ledger:
        spend(ledger, concentrated(RHO_1), span(60, 89))
    kept = LedgerFile(path).read()
    assert kept.charges == before
    assert kept.state_spent(1e-6)["user"]["rho"] == pytest.approx(45 * RHO_1)
    with pytest.raises(UsageError, match="begun with a budget of ε = 9 at δ = 1e-06 for a person"):
        LedgerFile(path, concentrated=ConcentratedBudget(rho=1.0)).read()
    with pytest.raises(UsageError, match="beside which none of rho can stand"):
        LedgerFile(path, 1.0).read()


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_ledgers_from_before_rho_still_open(tmp_path: Path, suffix: str) -> None:
    """A file of format 2 has neither rho nor days; it is written anew with them at its next charge."""
    stored: dict[str, Any] = {
        "format": 2,
        "budgets": {"central": {"epsilon": 1.0, "per": "run", "window_s": None, "midnight_s": 0.0}},
    }
    stored["budget_delta"] = None
    new = {"rho", "delta_t", "first_day", "last_day"}
    row = {
        "time_s": 1.0,
        "scope": "everyone",
        "unit": "user",
        "neighbours": "add_remove",
        "mechanism": "laplace_counts",
    }
    row |= {"epsilon": 0.4, "delta": 0.0, "total": 0.4, "begin_s": None, "end_s": None, "account": "central"}
    links = [hash_value(stored)]
    links.append(hash_value([links[0], row]))
    whole = {**stored, "count": 1, "head": links[-1]}
    columns = [name for name in FILE_COLUMNS if name not in new]
    path = tmp_path / f"l.{suffix}"
    path.write_bytes(encode(path.suffix, whole, [{**row, "chain": links[1]}], columns))
    assert LedgerFile(path).read().sum_spent() == 0.4
    with pytest.raises(UsageError, match="budget of pure epsilon"), LedgerFile(path).open_ledger() as ledger:
        spend(ledger, concentrated(0.001, Unit.USER))
    with LedgerFile(path).open_ledger() as ledger:
        spend(ledger, pure(0.5))
    stored, rows = decode(path.suffix, path.read_bytes())
    assert stored["format"] == 3
    assert new <= set(rows[0])
    assert from_rows(stored, rows)[0].sum_spent() == 0.9
    stored["format"] = 4
    with pytest.raises(ValueError, match="does not know"):
        from_rows(stored, rows)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "a rho, or an epsilon"),
        ({"rho": 1.0, "epsilon": 1.0, "delta": 1e-6}, "a rho, or an epsilon"),
        ({"epsilon": 1.0}, "needs the delta"),
        ({"rho": -1.0}, "greater than 0"),
        ({"rho": math.inf}, "greater than 0"),
        ({"epsilon": 1.0, "delta": 1.0}, "below 1"),
        ({"rho": 1.0, "unit": Unit.SNAPSHOT}, "a budget bounds"),
    ],
)
def test_impossible_budgets_are_refused(values: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        ConcentratedBudget(**values)  # type: ignore[arg-type]


def test_a_pure_budget_by_days_needs_no_delta() -> None:
    ledger = Ledger(concentrated=ConcentratedBudget(epsilon=1.0, delta=0.0, unit=Unit.PERSON_DAY))
    spend(ledger, pure(0.6, Unit.PERSON_DAY), span(0, 6))
    spend(ledger, pure(0.6, Unit.PERSON_DAY), span(7, 9))
    with pytest.raises(BudgetSpent):
        spend(ledger, pure(0.6, Unit.PERSON_DAY), span(9, 9))
    with pytest.raises(BudgetSpent):
        spend(ledger, concentrated(0.001), span(20, 20))
    assert json.dumps(ledger.state_spent(0.0))
    assert ledger.find_remaining() == pytest.approx(0.4)
    frame = ledger.to_frame()
    assert frame["first_day"].tolist() == ["2024-03-01", "2024-03-08"]
