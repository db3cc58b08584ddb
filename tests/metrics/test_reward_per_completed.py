from __future__ import annotations

from geodp.metrics.effort import RewardPerCompleted
from geodp.run_folder.folder import RunFolder


def test_completed_tasks_only(hand_made: RunFolder) -> None:
    assert RewardPerCompleted().per_task(hand_made).to_dict() == {0: 2, 2: 3}
    assert RewardPerCompleted().measure(hand_made)["reward_per_completed"].value == 2.5
