from __future__ import annotations

import pytest

from geodp.metrics.plans import PlannedSuccess
from geodp.run_folder.folder import RunFolder


def test_mean_over_first_offers(hand_made: RunFolder) -> None:
    measured = PlannedSuccess().measure(hand_made)["planned_success"]
    assert measured.value == pytest.approx((0.9 + 0.9 + 0.8 + 0.6 + 0.7) / 5)  # not the 0.95 of the re-offer
    half = 2.776445 * 0.1303840 / 5**0.5  # t(4), sample sd
    assert measured.high == pytest.approx(0.78 + half, abs=1e-6)


def test_unreachable_tasks_have_no_plan(hand_made: RunFolder) -> None:
    assert set(PlannedSuccess().per_task(hand_made).index) == {0, 1, 2, 5, 7}
