"""Decision regret: profits in, choices and losses out."""

from __future__ import annotations

import numpy as np
import pytest

from geodp.fit.regret import DECISIONS, judge, measure_regret
from geodp.geometry import Region
from geodp.tables.visit_log import VisitLog, order_visits

REGION = Region(2.0, 48.0, 2.1, 48.07)


def test_regret_is_the_loss_on_the_data_by_the_choice_of_the_fitted_world() -> None:
    found = judge("epsilon", true={"0.1": 8.0, "0.5": 10.0, "2": 10.1}, made={"0.1": 9.9, "0.5": 10.0, "2": 10.0})
    assert (found.chosen, found.best) == ("0.1", "0.5"), "within one part in fifty the more careful option is chosen"
    assert found.loss == pytest.approx(0.2)
    assert "20.0 % less profit" in found.line()


def test_a_choice_that_is_right_costs_nothing_and_one_that_does_better_neither() -> None:
    assert judge("reward", {"5": 1.0, "10": 2.0}, {"5": 3.0, "10": 4.0}).line().endswith("right on the data, too)")
    assert judge("reward", {"5": 1.99, "10": 2.0}, {"5": 1.0, "10": 4.0}).loss == 0.0


@pytest.mark.slow
def test_a_world_has_no_regret_about_itself() -> None:
    rng = np.random.default_rng(0)
    person = np.arange(200)
    log: VisitLog = order_visits(
        person, np.full(200, 43_200.0), person, rng.normal(0, 900, 200), rng.normal(0, 900, 200), monday_s=0.0
    )
    same = measure_regret(log, log, REGION, seeds=1, tell=lambda _: None)
    assert [each.decision for each in same] == list(DECISIONS)
    assert all(each.loss == 0 and each.chosen == each.best for each in same)
