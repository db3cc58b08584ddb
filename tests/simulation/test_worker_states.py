import numpy as np
import pytest

from geodp.simulation.worker_states import WorkerStates
from geodp.world.motion import Motion


def walker() -> Motion:
    """One worker walks 1,000 m east in 1,000 s; another stands at (0, 500)."""
    return Motion(
        first=np.array([0, 2, 3]),
        time_s=np.array([0.0, 1000.0, 0.0]),
        x_m=np.array([0.0, 1000.0, 0.0]),
        y_m=np.array([0.0, 0.0, 500.0]),
    )


def test_a_trip_goes_straight_to_the_task_and_rejoins_the_schedule_at_the_same_speed() -> None:
    crew = WorkerStates(walker(), speed_mps=2.0)
    x, y, arrives_s = crew.depart(0, 100.0, 100.0, 200.0)
    assert (x, y, arrives_s) == (100.0, 0.0, 200.0)
    assert crew.busy.tolist() == [True, False]
    half_x, half_y = crew.positions(150.0)
    assert (half_x[0], half_y[0]) == (100.0, 100.0)
    there_x, there_y = crew.positions(200.0, np.array([0]))
    assert (there_x[0], there_y[0]) == (100.0, 200.0)
    gap = np.hypot(100.0 - 200.0, 200.0)  # her schedule has her at (200, 0) by then
    home_s = 200.0 + gap / 2.0
    back_x, back_y = crew.positions(200.0 + gap / 4.0)
    assert back_x[0] == pytest.approx(200.0 + gap / 4.0 - 50.0)
    assert back_y[0] == pytest.approx(100.0)
    home_x, home_y = crew.positions(home_s + 1.0)
    assert (home_x[0], home_y[0]) == (pytest.approx(home_s + 1.0), 0.0)


def test_others_are_not_moved_and_the_worker_is_free_after_finishing() -> None:
    crew = WorkerStates(walker(), speed_mps=2.0)
    crew.depart(0, 0.0, 500.0, 500.0)
    x, y = crew.positions(123.0)
    assert (x[1], y[1]) == (0.0, 500.0)
    crew.finish(0)
    assert not crew.busy.any()
