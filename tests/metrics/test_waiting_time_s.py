from __future__ import annotations

from geodp.metrics.tasks import WaitingTime
from geodp.run_folder.folder import RunFolder


def test_arrival_to_completion(hand_made: RunFolder) -> None:
    assert WaitingTime().per_task(hand_made).to_dict() == {0: 160, 2: 500}
    assert WaitingTime().measure(hand_made)["waiting_time_s"].value == 330
