"""Whole runs in which people have levels and budgets of their own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from geodp.audit.run_audit import audit_releases, ledger_spend
from geodp.errors import ScenarioError
from geodp.run_folder.folder import RunFolder
from geodp.runs.run import run
from geodp.scenario.report import report
from tests.small import small

LEVELS = {"careful": {"l": 1.386, "r_m": 1000, "share": 0.2}, "middling": {"l": 1.386, "r_m": 500, "share": 0.3}}
PHONES: dict[str, Any] = {
    "duration_s": 3600,
    "curator": None,
    "device": {"mechanism": {"kind": "planar_laplace", "level": 1.386, "radius_m": 200}, "levels": LEVELS},
    "device.report_every_s": 900,
    "server.assignment": {"kind": "nearest_report"},
    "attacks": [{"kind": "bayes_location"}, {"kind": "tracking", "people": 60}],
    "workers.source.count": 600,
    "tasks.demand.per_hour": 6,
}
COIN: dict[str, Any] = {
    "duration_s": 3600,
    "curator.mechanism": {
        "kind": "pdp_sample",
        "levels": {"careful": {"epsilon": 0.1, "share": 0.5}, "relaxed": {"epsilon": 0.3, "share": 0.5}},
        "cells": {"kind": "uniform_grid", "cell_m": 1000},
    },
    "curator.release_every_s": 360,
    "workers.source.count": 600,
    "tasks.demand.per_hour": 6,
}
FILTER = {**COIN, "curator.budget": {"people": "filter", "epsilon": 1.0, "by_group": {"careful": 0.25}}}


@pytest.fixture(scope="module")
def phones(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return RunFolder(run(small(PHONES), tmp_path_factory.mktemp("phones") / "run", draw_map=False).path)


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return RunFolder(run(small(FILTER), tmp_path_factory.mktemp("filter") / "run", draw_map=False).path)


def test_each_group_of_phones_pays_and_loses_its_own(phones: RunFolder) -> None:
    found = json.loads((phones.path / "metrics.json").read_text())
    reports = len(phones.releases)
    stretch = phones.region.stretch
    for name, rate in (("careful", 1.386 / 1000), ("middling", 1.386 / 500), ("others", 1.386 / 200)):
        assert found[f"epsilon_per_m_spent_{name}"] == pytest.approx(reports * rate * stretch)
    assert found["attack_error_m_careful"] > found["attack_error_m_middling"] > found["attack_error_m_others"]
    assert found["attack_hit_rate_careful"] < found["attack_hit_rate_others"]
    text = (phones.path / "summary.md").read_text()
    assert "## What each group gets, spends and loses" in text
    assert f"All {reports} reports of one phone" in text


def test_groups_are_drawn_by_lot_and_stay(phones: RunFolder) -> None:
    """Shares of 600 lots are within 5.2 standard deviations (false alarm 2e-7), and say nothing about places."""
    groups, first, last = phones.groups, phones.releases[0], phones.releases[-1]
    assert first.group.tolist() == last.group.tolist()  # type: ignore[union-attr]
    assert dict(zip(groups["who"], groups["group"], strict=True)) == dict(
        zip(first.who.tolist(), first.group.tolist(), strict=True)  # type: ignore[union-attr]
    )
    for name, share in (("careful", 0.2), ("middling", 0.3), ("others", 0.5)):
        assert abs(np.mean(groups["group"] == name) - share) < 5.2 * np.sqrt(share * (1 - share) / len(groups))


def test_a_release_of_points_is_read_back_with_levels(phones: RunFolder) -> None:
    release = phones.releases[0]
    rates = {name: law.epsilon_per_m for name, law in release.channels.items()}  # type: ignore[union-attr]
    assert rates == pytest.approx({"careful": 0.001386, "middling": 0.002772, "others": 0.00693})
    assert release.epsilon_per_m is not None  # type: ignore[union-attr]


def test_careful_people_are_no_longer_counted_when_their_budget_is_spent(filtered: RunFolder) -> None:
    """ε 0.1 of 0.25: in two releases; 0.3 of 1: in three. Ten releases, everyone is always there."""
    counted = filtered.counted
    assert counted is not None
    share = counted.assign(share=counted["counted"] / counted["present"]).groupby("group")["share"].apply(list)
    assert share["careful"] == [1.0] * 2 + [0.0] * 8
    assert share["relaxed"] == [1.0] * 3 + [0.0] * 7
    found = json.loads((filtered.path / "metrics.json").read_text())
    assert found["counted_share_careful"] == pytest.approx(0.2)
    assert found["counted_share_relaxed"] == pytest.approx(0.3)
    assert (found["epsilon_spent_careful"], found["epsilon_spent_relaxed"]) == (0.2, 0.9)
    own = filtered.table("truth/ledger.parquet")
    spent = own[own["unit"] == "snapshot"].groupby("worker")["epsilon"].sum()
    assert sorted(set(spent.round(9))) == [0.2, 0.9]


def test_nothing_public_tells_who_or_how_many_dropped_out(filtered: RunFolder) -> None:
    """All releases happen, rows of the ledger go on, and no public file or metric has the numbers."""
    assert len(filtered.releases) == 10
    assert len(filtered.ledger) == 20
    assert filtered.ledger["epsilon"].tolist() == [0.1, 0.3] * 10
    from geodp.metrics.accounts import CountedShare

    assert not CountedShare.public
    public = [path for path in filtered.path.rglob("*") if path.is_file() and "truth" not in path.parts]
    assert not [path for path in public if path.name.startswith("counted")]
    releases = {(one.noise_scale > 0).all() for one in filtered.releases}  # type: ignore[union-attr]
    assert releases == {True}


def test_an_audit_of_the_run_knows_the_filter(filtered: RunFolder) -> None:
    assert ledger_spend(filtered, metric=False) == pytest.approx(0.9)
    assert not audit_releases(filtered, samples=1500).refuted


def test_check_says_what_each_group_gets() -> None:
    text = report(small(PHONES), "town.yaml")
    assert "group     careful (0.2 of the phones): ε 0.001386 per metre and report" in text
    assert "reports 1,767 m off" in text
    text = report(small(COIN), "town.yaml")
    assert "group     careful (0.5 of the people): ε 0.1 in each release, ε 1 over the run" in text
    assert "counted with probability 0.3006" in text
    text = report(small(FILTER), "town.yaml")
    assert "careful: in at most 2 of 10 releases × ε 0.1, of ε 0.25" in text
    assert "relaxed: in at most 3 of 10 releases × ε 0.3, of ε 1" in text
    assert "nobody learns who or how many" in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"curator.budget": {"people": "filter", "epsilon": 1, "by_group": {"carefull": 1}}}, "Did you mean 'careful'"),
        (
            {"curator.budget": {"people": "filter", "epsilon": 1, "by_group": {"careful": 0.05}}},
            "would ever be counted",
        ),
        ({"curator.budget": {"epsilon": 9, "by_group": {"careful": 1}}}, "no effect without people: filter"),
        ({"curator.budget": {"people": "filter", "epsilon": 1, "per": "day"}}, "adds up over the run"),
        ({"curator.budget": {"people": "filter"}, "curator.neighbours": "replace"}, "added or removed"),
        ({"curator.budget": {"people": "filter"}, "curator.mechanism": {"kind": "tree_counts"}}, "whole series"),
        ({"curator.budget": {"people": "filter"}, "curator.mechanism": {"kind": "no_privacy"}}, "promises nothing"),
        ({"device": {"mechanism": {"kind": "none"}, "levels": LEVELS}}, "unknown key"),
        ({"device": {"levels": LEVELS}}, "levels are those of a mechanism"),
        ({"curator": None, "device.mechanism": {"kind": "graph_exponential", "district_m": 500}}, "isolated places"),
    ],
)
def test_what_cannot_be_is_refused_before_the_run(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        small({**COIN, **changes})
