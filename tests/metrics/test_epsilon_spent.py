from __future__ import annotations

import pandas as pd
import pytest

from geodp.metrics.accounts import EpsilonSpent
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
