from __future__ import annotations

import pytest

from geodp.metrics.effort import ExecutionCost
from geodp.run_folder.folder import RunFolder


def test_distances_of_everyone_asked(hand_made: RunFolder) -> None:
    costs = ExecutionCost().per_task(hand_made)
    assert costs.to_dict() == {
        0: 600,
        1: 900,
        2: 600,
        3: 0,
        4: 0,
        5: 50,
        6: 0,
        7: 0,
    }
    measured = ExecutionCost().measure(hand_made)["execution_cost_m"]
    assert measured.value == 2150
    half = 2.364624 * 369.3019 * 8**0.5  # t(7) · sample sd · √n
    assert measured.low == pytest.approx(2150 - half, rel=1e-5)
    assert measured.high == pytest.approx(2150 + half, rel=1e-5)
