"""What tasks cost, on runs made by hand."""

from __future__ import annotations

import pytest

from geodp.metrics.effort import ExecutionCost, NotifiedWorkers, RewardPerCompleted, RewardSpent, TravelDistance
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


def test_distinct_workers_per_answered_offer(hand_made: RunFolder) -> None:
    assert NotifiedWorkers().per_task(hand_made).to_dict() == {0: 3, 1: 2, 2: 1, 5: 1}
    assert NotifiedWorkers().measure(hand_made)["notified_workers"].value == 7 / 4


def test_distance_of_the_chosen_worker_unfinished_trips_included(hand_made: RunFolder) -> None:
    assert TravelDistance().per_task(hand_made).to_dict() == {0: 100, 2: 600, 5: 50}
    assert TravelDistance().measure(hand_made)["travel_distance_m"].value == 250


def test_promised_to_those_who_set_out(hand_made: RunFolder) -> None:
    assert RewardSpent().measure(hand_made)["reward_spent"].value == 2 + 3 + 4
    assert RewardSpent().per_task(hand_made).to_dict() == {0: 2, 1: 0, 2: 3, 3: 0, 4: 0, 5: 4, 6: 0, 7: 0}


def test_completed_tasks_only(hand_made: RunFolder) -> None:
    assert RewardPerCompleted().per_task(hand_made).to_dict() == {0: 2, 2: 3}
    assert RewardPerCompleted().measure(hand_made)["reward_per_completed"].value == 2.5
