from __future__ import annotations

import pandas as pd
import pytest

from geodp.metrics.accounts import EpsilonPerMetreSpent, EpsilonSpent
from geodp.run_folder.folder import RunFolder


def test_reports_and_releases_are_never_added(copied: RunFolder) -> None:
    ledger = copied.ledger
    reports = ledger.assign(unit="point", neighbours="metric", epsilon=0.01, total=[0.01, 0.02])
    pd.concat([ledger, reports]).to_parquet(copied.path / "ledger.parquet")
    assert EpsilonPerMetreSpent().measure(copied)["epsilon_per_m_spent"].value == pytest.approx(0.02)
    assert EpsilonSpent().measure(copied)["epsilon_spent"].value == pytest.approx(0.6)


def test_without_reports_it_is_undefined(hand_made: RunFolder) -> None:
    assert EpsilonPerMetreSpent().measure(hand_made)["epsilon_per_m_spent"].value is None
