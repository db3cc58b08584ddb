from __future__ import annotations

import pytest

from geodp.metrics.plans import SuccessGap
from geodp.run_folder.folder import RunFolder


def test_first_offers_against_their_own_plans(hand_made: RunFolder) -> None:
    gaps = SuccessGap().per_task(hand_made)
    # task 2 failed its first offer although a later one succeeded; task 7 was never answered
    assert gaps.to_dict() == pytest.approx({0: 0.1, 1: -0.9, 2: -0.8, 5: 0.4})
    measured = SuccessGap().measure(hand_made)["success_gap"]
    assert measured.value == pytest.approx(-0.3)
    assert measured.low is not None
    assert measured.high is not None
    assert measured.low < -0.3 < measured.high
