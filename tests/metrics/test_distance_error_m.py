from __future__ import annotations

import pytest

from geodp.metrics.plans import DistanceError
from geodp.run_folder.folder import RunFolder
from tests.metrics.hand_made import SCENARIO


def test_mean_true_distance_against_two_thirds_of_the_last_radius(hand_made: RunFolder) -> None:
    errors = DistanceError().per_task(hand_made)
    # 0: |200 - 200|; 1: |450 - 400|; 2: |600 - 600|, of the second circle; 5: |50 - 100|; 7: nobody was asked
    assert errors.to_dict() == pytest.approx({0: 0, 1: 50, 2: 0, 5: 50})
    assert DistanceError().measure(hand_made)["distance_error_m"].value == pytest.approx(25)


def test_posted_tasks_have_no_circle(copied: RunFolder) -> None:
    posted = SCENARIO.replace("server:", "server:\n  mode: worker_selected")
    (copied.path / "scenario.yaml").write_text(posted)
    assert DistanceError().measure(RunFolder(copied.path))["distance_error_m"].value is None
