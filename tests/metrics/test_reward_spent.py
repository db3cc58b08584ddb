from __future__ import annotations

from geodp.metrics.effort import RewardSpent
from geodp.run_folder.folder import RunFolder


def test_promised_to_those_who_set_out(hand_made: RunFolder) -> None:
    assert RewardSpent().measure(hand_made)["reward_spent"].value == 2 + 3 + 4
    assert RewardSpent().per_task(hand_made).to_dict() == {0: 2, 1: 0, 2: 3, 3: 0, 4: 0, 5: 4, 6: 0, 7: 0}
