"""What became of tasks, on runs made by hand."""

from __future__ import annotations

import pytest

from geodp.metrics.tasks import SuccessRate, UnreachableShare, WaitingTime
from geodp.run_folder.folder import RunFolder
from tests.metrics.hand_made import plan, server_view


def test_taken_over_arrived_minus_censored(hand_made: RunFolder) -> None:
    measured = SuccessRate().measure(hand_made)["success_rate"]
    assert measured.value == 3 / 6  # tasks 0, 2, 5 of 0-5; 6 and 7 are censored
    assert measured.low == pytest.approx(0.187617, abs=1e-6)  # Wilson: 0.5 ± 0.312383
    assert measured.high == pytest.approx(0.812383, abs=1e-6)


def test_per_task_leaves_censored_tasks_out(hand_made: RunFolder) -> None:
    assert SuccessRate().per_task(hand_made).to_dict() == {0: 1, 1: 0, 2: 1, 3: 0, 4: 0, 5: 1}


def test_planned_tasks_never_offered(hand_made: RunFolder) -> None:
    assert UnreachableShare().per_task(hand_made).to_dict() == {0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 0, 7: 0}
    assert UnreachableShare().measure(hand_made)["unreachable_share"].value == 2 / 7


def test_a_task_whose_re_offer_is_impossible_was_offered(copied: RunFolder) -> None:
    import pandas as pd

    extra = pd.DataFrame([plan(1, round=1, uncapped_radius_m=10.0, unreachable="reward_exhausted")])
    pd.concat([server_view(), extra]).to_parquet(copied.path / "server_view.parquet")
    assert UnreachableShare().per_task(RunFolder(copied.path))[1] == 0


def test_arrival_to_completion(hand_made: RunFolder) -> None:
    assert WaitingTime().per_task(hand_made).to_dict() == {0: 160, 2: 500}
    assert WaitingTime().measure(hand_made)["waiting_time_s"].value == 330
