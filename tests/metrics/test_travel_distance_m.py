from __future__ import annotations

from geodp.metrics.effort import TravelDistance
from geodp.run_folder.folder import RunFolder


def test_distance_of_the_chosen_worker_unfinished_trips_included(hand_made: RunFolder) -> None:
    assert TravelDistance().per_task(hand_made).to_dict() == {0: 100, 2: 600, 5: 50}
    assert TravelDistance().measure(hand_made)["travel_distance_m"].value == 250
