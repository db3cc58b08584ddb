from __future__ import annotations

from geodp.metrics.effort import NotifiedWorkers
from geodp.run_folder.folder import RunFolder


def test_distinct_workers_per_answered_offer(hand_made: RunFolder) -> None:
    assert NotifiedWorkers().per_task(hand_made).to_dict() == {0: 3, 1: 2, 2: 1, 5: 1}
    assert NotifiedWorkers().measure(hand_made)["notified_workers"].value == 7 / 4
