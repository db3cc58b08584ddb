import numpy as np
import pytest

from geodp.errors import DataError
from geodp.registry import plugin
from geodp.world.motion import Motion
from geodp.world.population import Population
from tests.world.places import box, uniform_population

REGION = box(10_000, 10_000)


def follow(time_s: list[float], x_m: list[float], duration_s: float = 100.0, **fields: float | None) -> Motion:
    recorded = Motion(np.array([0, len(time_s)]), np.array(time_s), np.array(x_m), np.zeros(len(x_m)))
    population = Population(*recorded.at(0.0), recorded=recorded)
    motion: Motion = plugin("recorded", **fields).move(
        population, REGION, start_s=0.0, duration_s=duration_s, rng=np.random.default_rng(0)
    )
    return motion


def test_workers_are_where_their_fixes_say() -> None:
    motion = follow([0, 50, 100], [0, 500, 400])
    assert [motion.at(t)[0][0] for t in (0, 25, 50, 75, 100)] == [0, 250, 500, 450, 400]


def test_fixes_far_before_and_after_the_run_are_left_out() -> None:
    motion = follow([-300, -200, -100, 50, 200, 300], [0, 1, 2, 3, 4, 5])
    assert motion.time_s.tolist() == [-100, 50, 200]


def test_a_fix_that_nobody_could_reach_is_dropped_and_the_next_judged_from_the_one_before() -> None:
    # 4 km in 10 s is a jump, and so is the following fix at that place; the last one lies on the way again.
    motion = follow([0, 10, 20, 40, 60], [0, 100, 4000, 4000, 600])
    assert motion.x_m.tolist() == [0, 100, 600]
    assert motion.max_speed_mps <= 100


def test_two_places_at_one_time_keep_the_first() -> None:
    assert follow([0, 10, 10, 20], [0, 50, 90, 100]).x_m.tolist() == [0, 50, 100]


def test_jumps_may_be_kept() -> None:
    assert follow([0, 10, 20], [0, 4000, 0], max_speed_mps=None).max_speed_mps == 400


def test_a_source_without_times_is_refused() -> None:
    with pytest.raises(DataError, match="'recorded' needs fixes over time"):
        plugin("recorded").move(
            uniform_population(REGION, 5), REGION, start_s=0.0, duration_s=1.0, rng=np.random.default_rng(0)
        )


def test_times_of_another_clock_are_refused() -> None:
    with pytest.raises(DataError, match=r"no recorded fix falls in the run's 0 to 100 s; .* from 1.2e\+09"):
        follow([1.2e9, 1.2e9 + 60], [0, 1])
