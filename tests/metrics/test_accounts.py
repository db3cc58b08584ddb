"""What a run cost people, account by account."""

from __future__ import annotations

import pandas as pd
import pytest

from geodp.metrics.accounts import EpsilonPerMetreSpent, EpsilonSpent, InteractionLeakage
from geodp.public.guarantee import Guarantee
from geodp.run_folder.folder import RunFolder
from geodp.run_folder.release_store import write_release
from tests.metrics.hand_made import release


def test_total_of_the_ledger(hand_made: RunFolder) -> None:
    assert EpsilonSpent().measure(hand_made)["epsilon_spent"].value == pytest.approx(0.6)


def test_metric_charges_are_another_account(copied: RunFolder) -> None:
    charges = pd.read_parquet(copied.path / "ledger.parquet")
    point = charges.assign(unit="point", total=50.0)
    pd.concat([charges, point]).to_parquet(copied.path / "ledger.parquet")
    assert EpsilonSpent().measure(RunFolder(copied.path))["epsilon_spent"].value == pytest.approx(0.6)


def test_no_epsilon_describes_exact_counts(copied: RunFolder) -> None:
    exact = release([10.0, 20.0], time_s=0.0, guarantee=Guarantee.none("the counts are exact"))
    write_release(copied.path / "releases", 1, exact)
    assert EpsilonSpent().measure(RunFolder(copied.path))["epsilon_spent"].value is None


def test_nothing_released_costs_nothing(copied: RunFolder) -> None:
    for file in (copied.path / "releases").iterdir():
        file.unlink()
    pd.read_parquet(copied.path / "ledger.parquet").iloc[:0].to_parquet(copied.path / "ledger.parquet")
    assert EpsilonSpent().measure(RunFolder(copied.path))["epsilon_spent"].value == 0


def test_reports_and_releases_are_never_added(copied: RunFolder) -> None:
    ledger = copied.ledger
    reports = ledger.assign(unit="point", neighbours="metric", epsilon=0.01, total=[0.01, 0.02])
    pd.concat([ledger, reports]).to_parquet(copied.path / "ledger.parquet")
    assert EpsilonPerMetreSpent().measure(copied)["epsilon_per_m_spent"].value == pytest.approx(0.02)
    assert EpsilonSpent().measure(copied)["epsilon_spent"].value == pytest.approx(0.6)


def test_without_reports_it_is_undefined(hand_made: RunFolder) -> None:
    assert EpsilonPerMetreSpent().measure(hand_made)["epsilon_per_m_spent"].value is None


def test_mean_over_all_workers_and_maximum_over_workers(hand_made: RunFolder) -> None:
    measured = InteractionLeakage().measure(hand_made)
    assert measured["interaction_leakage_mean"].value == pytest.approx(1.0 / 10)  # seven workers disclosed nothing
    assert measured["interaction_leakage_max"].value == pytest.approx(0.5)  # worker 3 declined twice


def test_certain_acceptance_declined_discloses_without_bound(copied: RunFolder) -> None:
    ledger = pd.DataFrame({"worker": [1], "epsilon": [float("inf")], "time_s": 0.0, "unit": "interaction"})
    ledger.to_parquet(copied.path / "truth/ledger.parquet")
    measured = InteractionLeakage().measure(RunFolder(copied.path))
    assert measured["interaction_leakage_mean"].value is None
    assert measured["interaction_leakage_max"].value is None


def test_nobody_asked_discloses_nothing(copied: RunFolder) -> None:
    pd.read_parquet(copied.path / "truth/ledger.parquet").iloc[:0].to_parquet(copied.path / "truth/ledger.parquet")
    measured = InteractionLeakage().measure(RunFolder(copied.path))
    assert measured["interaction_leakage_mean"].value == 0
    assert measured["interaction_leakage_max"].value == 0
