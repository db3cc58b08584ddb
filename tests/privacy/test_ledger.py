import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import BudgetSpent
from geodp.privacy.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.privacy.ledger import Account, Ledger


def promise(epsilon: float, unit: Unit = Unit.SNAPSHOT) -> Guarantee:
    return Guarantee(epsilon, unit, Neighbours.ADD_REMOVE, Trust.CENTRAL)


def test_three_charges_of_a_tenth_fit_three_tenths_exactly() -> None:
    ledger = Ledger(0.3)
    totals = [ledger.charge(promise(0.1), time_s=t, mechanism="contour").total for t in (0, 1, 2)]
    assert totals == [0.1, 0.2, 0.3]
    assert ledger.remaining() == 0.0


def test_a_refusal_says_requested_remaining_and_short_by_and_records_nothing() -> None:
    ledger = Ledger(0.5)
    ledger.charge(promise(0.3), time_s=0, mechanism="contour")
    with pytest.raises(BudgetSpent, match=r"t=600 s: requested ε=0\.3, remaining ε=0\.2, short by ε=0\.1") as refused:
        ledger.charge(promise(0.3), time_s=600, mechanism="contour")
    assert refused.value.short_by == pytest.approx(0.1)
    assert len(ledger.charges) == 1


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
    assert sum(accepted) <= budget * (1 + 1e-12)
    assert ledger.spent() == pytest.approx(sum(accepted))


def test_metric_charges_are_never_added_to_central_ones() -> None:
    ledger = Ledger(1.0)
    ledger.charge(promise(0.9), time_s=0, mechanism="contour")
    ledger.charge(promise(0.5, Unit.POINT), time_s=0, mechanism="planar_laplace")
    assert ledger.spent() == 0.9
    assert ledger.spent(Account.METRIC) == 0.5
