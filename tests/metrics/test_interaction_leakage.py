from __future__ import annotations

import pandas as pd
import pytest

from geodp.metrics.accounts import InteractionLeakage
from geodp.run_folder.folder import RunFolder


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
