from __future__ import annotations

import pytest

from geodp.metrics.distance_error_m import DistanceError
from geodp.runs.run_folder import RunFolder


def test_mean_true_distance_against_two_thirds_of_the_last_radius(hand_made: RunFolder) -> None:
    errors = DistanceError().per_task(hand_made)
    # 0: |200 - 200|; 1: |450 - 400|; 2: |600 - 600|, of the second circle; 5: |50 - 100|; 7: nobody was asked
    assert errors.to_dict() == pytest.approx({0: 0, 1: 50, 2: 0, 5: 50})
    assert DistanceError().measure(hand_made)["distance_error_m"].value == pytest.approx(25)
