"""Scores of published flows, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from geodp.metrics.flows import (
    FlowCpc,
    FlowMre,
    FlowPublishedShare,
    FlowTopkRecall,
    FootfallMae,
    FootfallMre,
    HourlyJsd,
    PresenceGuess,
    guess_presence,
)


class Item:
    """A publication and its truth."""

    def __init__(self, released: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> None:
        self.released, self.truth = released, tables.__getitem__
        self.facts: dict[str, Any] = {}


ROW = {"level": "zone", "destination": "", "sd": 3.0, "slot": 0, "day": 0}


def publish(rows: list[dict[str, Any]], **truth: list[dict[str, Any]]) -> Any:
    tables = {name: pd.DataFrame(found) for name, found in truth.items()}
    released = pd.DataFrame([ROW | row for row in rows])
    return Item(released, tables)


def flows() -> Any:
    shown = [("a", "b", 90.0), ("b", "a", 40.0), ("a", "c", 20.0)]
    true = [("a", "b", 100), ("b", "a", 60), ("b", "c", 40)]
    whole = [{"table": "flows", "name": "a", "destination": "b", "value": 95.0, "day": -1, "slot": -1}]
    return publish(
        [{"table": "flows", "name": one, "destination": two, "value": value} for one, two, value in shown] + whole,
        flows=[{"day": 0, "slot": 0, "name": one, "destination": two, "people": many} for one, two, many in true],
    )


def value(metric: Any, item: Any, key: str) -> float | None:
    found: float | None = metric().score(None, item)[key].value
    return found


def test_flows_are_scored_as_defined() -> None:
    item = flows()
    assert value(FlowCpc, item, "flow_cpc") == pytest.approx(2 * (90 + 40) / (150 + 200))
    assert value(FlowCpc, item, "flow_cpc_whole") == pytest.approx(2 * 95 / (95 + 200))
    assert value(FlowTopkRecall, item, "flow_topk_recall") == pytest.approx(2 / 3)
    assert value(FlowMre, item, "flow_mre") == pytest.approx(np.median([0.1, 1 / 3]))
    assert value(FlowMre, item, "flow_mre_whole") == pytest.approx(np.median([0.05, 1.0]))
    assert value(FlowPublishedShare, item, "flow_published_share") == pytest.approx(160 / 200)


def test_footfall_and_hours_are_scored_as_defined() -> None:
    rows = [
        {"table": "footfall", "name": "a", "value": 110.0},
        {"table": "footfall", "name": "b", "value": -4.0},
        {"table": "footfall", "name": "all", "level": "city", "value": 1e6},
        *({"table": "trips", "name": "trips", "slot": hour, "value": many} for hour, many in ((0, 30.0), (1, 10.0))),
    ]
    item = publish(
        rows,
        footfall=[{"day": 0, "slot": 0, "name": name, "people": many} for name, many in (("a", 100), ("b", 2))],
        trips=[{"day": 0, "slot": hour, "people": 20} for hour in (0, 1)],
    )
    assert value(FootfallMae, item, "footfall_mae") == pytest.approx((10 + 6) / 2)
    assert value(FootfallMre, item, "footfall_mre") == pytest.approx(0.1)
    p, q = np.array([0.75, 0.25]), np.array([0.5, 0.5])
    middle = (p + q) / 2
    expected = (np.sum(p * np.log(p / middle)) + np.sum(q * np.log(q / middle))) / 2
    assert value(HourlyJsd, item, "hourly_jsd") == pytest.approx(expected)


def test_exact_counts_tell_who_was_there_and_hidden_ones_nothing() -> None:
    sample = [{"person": 1, "day": 0, "slot": 0, "name": "a"}, {"person": 2, "day": 0, "slot": 0, "name": "b"}]
    truth = [{"day": 0, "slot": 0, "name": name, "people": many} for name, many in (("a", 40), ("b", 3))]
    item = publish([{"table": "footfall", "name": "a", "value": 40.0, "sd": 0.0}], sample=sample, footfall=truth)
    assert value(PresenceGuess, item, "presence_guess") == pytest.approx((2 + 1) / 4)
    assert value(PresenceGuess, item, "presence_guess_bound") == 1.0


def test_guesses_from_gaussian_counts_are_right_as_often_as_they_can_be() -> None:
    from statistics import NormalDist

    rng, people, hours, sd = np.random.default_rng(3), 4000, 9, 6.0
    cells = pd.DataFrame({"person": np.repeat(np.arange(people), hours), "people": 50.0, "sd": sd})
    cells["value"] = cells["people"] + rng.normal(0, sd, len(cells))
    right, tries = guess_presence(cells, ["person"])
    expected = NormalDist().cdf(np.sqrt(hours) / (2 * sd))
    # A binomial share of 8,000: five standard deviations (1e-6).
    assert abs(right / tries - expected) < 5 * np.sqrt(0.25 / tries)
