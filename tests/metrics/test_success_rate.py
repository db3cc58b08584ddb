from __future__ import annotations

import pytest

from geodp.metrics.tasks import SuccessRate
from geodp.run_folder.folder import RunFolder


def test_taken_over_arrived_minus_censored(hand_made: RunFolder) -> None:
    measured = SuccessRate().measure(hand_made)["success_rate"]
    assert measured.value == 3 / 6  # tasks 0, 2, 5 of 0-5; 6 and 7 are censored
    assert measured.low == pytest.approx(0.187617, abs=1e-6)  # Wilson: 0.5 ± 0.312383
    assert measured.high == pytest.approx(0.812383, abs=1e-6)


def test_per_task_leaves_censored_tasks_out(hand_made: RunFolder) -> None:
    assert SuccessRate().per_task(hand_made).to_dict() == {0: 1, 1: 0, 2: 1, 3: 0, 4: 0, 5: 1}
