"""What a report's budget becomes: the golden scales and thresholds."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.flows.calendar import Days, parse_period
from geodp.flows.design import FlowDesign, find_laplace_threshold, find_threshold, threshold_of
from geodp.privacy.zcdp import gaussian_scale, largest_rho

MONTH = Days(date(2024, 4, 1), date(2024, 4, 30))


def design(**changed: Any) -> FlowDesign:
    asked: dict[str, Any] = {"days": MONTH, "zones": 101, "districts": 11, "epsilon": 1.0, "delta": 1e-6}
    return FlowDesign(**(asked | changed))


def test_scales_of_the_usual_report() -> None:
    scales = design().list_scales()
    assert scales["footfall, zone"] == pytest.approx(35.0960, abs=5e-5)
    assert scales["od"] == pytest.approx(23.3973, abs=5e-5)
    assert scales["trips"] == pytest.approx(147.978, abs=5e-4)


def test_shares_come_to_one_and_what_is_given_is_kept() -> None:
    shares = design(shares={"od": 0.5}).every_share
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-12)
    assert shares["od"] == 0.5
    assert shares["footfall"] / shares["trips"] == pytest.approx(50 / 6)


def test_the_parts_of_a_report_cost_what_is_promised() -> None:
    found = design()
    slots = 24
    parts = [slots / (2 * found.footfall_scale(level, 0) ** 2) for level in ("zone", "district", "city")]
    parts += [8 / (2 * found.od_scale**2), 64 / (2 * found.trips_scale**2)]
    reach = {"travel_time": 8, "trip_length": 8, "time_between_trips": 7}
    keys = ("travel_time", "trip_length", "trips_per_person", "radius_of_gyration", "zones_per_person",
            "time_between_trips", "entropy")  # fmt: skip
    parts += [reach.get(key, 1) ** 2 / (2 * found.histogram_scale(key) ** 2) for key in keys]
    assert sum(parts) == pytest.approx(found.whole_rho, rel=1e-12)
    assert found.whole_rho == pytest.approx(0.02435597, abs=5e-9)


@pytest.mark.parametrize(("unit", "times"), [("person-day", 1), ("person-week", 7), ("person", 30)])
def test_the_days_of_a_unit_share_its_budget(unit: str, times: int) -> None:
    found = design(unit=unit)
    assert found.od_scale == pytest.approx(design().od_scale * times**0.5)
    assert found.spend(times)["rho"] == pytest.approx(found.whole_rho)
    assert found.promise().epsilon == pytest.approx(1.0, abs=1e-9)


def test_risk_of_a_day_and_of_a_month() -> None:
    found = design()
    assert found.spend(1)["risk"] == pytest.approx(0.555177, abs=5e-7)
    assert found.spend(30)["risk"] == pytest.approx(0.802217, abs=5e-7)
    assert found.spend(30)["epsilon"] == pytest.approx(6.480426, abs=5e-7)
    assert design(delta=None).spend(1)["risk"] == pytest.approx(0.731059, abs=5e-7)


@pytest.mark.parametrize(("cells", "rounded", "threshold", "delta"), [
    (4, 9.337755, 50, 4.062687e-7), (8, 13.205579, 72, 3.719359e-7),
])  # fmt: skip
def test_thresholds_and_their_delta(cells: int, rounded: float, threshold: int, delta: float) -> None:
    scale = gaussian_scale(largest_rho(1.0, 5e-7), cells**0.5)
    assert scale == pytest.approx(rounded, abs=5e-7)
    found, exact = find_threshold(scale, cells, 5e-7)
    assert (found, f"{exact:.6e}") == (threshold, f"{delta:.6e}")
    k = np.arange(-600, 601)
    law = np.exp(-(k**2) / (2 * scale**2))
    tail = float((law / law.sum())[k >= threshold - 1].sum())
    assert exact == pytest.approx(1 - (1 - tail) ** cells, rel=1e-8)
    assert find_threshold(scale, cells, exact * 0.999)[0] == threshold + 1


def test_thresholds_of_laplace_noise() -> None:
    assert [find_laplace_threshold(cells / 1.0, cells, 1e-6)[0] for cells in (4, 8)] == [60, 124]


def test_many_pairs_have_a_threshold_that_half_of_delta_goes_to() -> None:
    found = design(zones=1101, trips=4, shares={"od": 0.99})
    assert found.has_thresholds
    assert found.whole_rho == pytest.approx(0.02293745, abs=5e-9)
    assert 0 < found.delta_t <= 5e-7
    assert found.promise().epsilon < 1.0 + 1e-9


@pytest.mark.parametrize(("unit", "times"), [("person-day", 1), ("person-week", 7), ("person", 30)])
def test_the_thresholds_of_all_days_of_a_unit_share_half_of_delta(unit: str, times: int) -> None:
    found = design(zones=1101, unit=unit)
    of_one_day = threshold_of(found)[1]
    assert found.delta_t == pytest.approx(1 - (1 - of_one_day) ** times, rel=1e-9)
    assert 0 < found.delta_t <= 5e-7


@pytest.mark.parametrize(("changed", "says"), [
    ({"rho": 0.1}, "--epsilon E"), ({"epsilon": None}, "--epsilon E"), ({"unit": "user"}, "--unit"),
    ({"shares": {"odd": 0.1}}, "Did you mean 'od'"), ({"shares": {"od": 1.5}}, "between 0 and 1"),
    ({"delta": None, "zones": 1200}, "needs --delta"), ({"trips": 0}, "--trips"), ({"epsilon": -1.0}, "--epsilon"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        design(**changed)


def test_days_have_as_many_hours_as_their_clock() -> None:
    spring = Days(date(2024, 3, 29), date(2024, 3, 31), "Europe/Lisbon")
    assert spring.slots.tolist() == [24, 23, 24]
    autumn = Days(date(2024, 10, 26), date(2024, 10, 26), "Europe/Lisbon", every_s=900)
    assert autumn.slots.tolist() == [100]
    with pytest.raises(UsageError, match="whole number"):
        parse_period("--every", "7h")
