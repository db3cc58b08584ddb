"""Random waypoint. Every statistical bound here is crossed by chance in fewer than 1e-6 of all seeds."""

import math
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from geodp.geometry import Grid, Region
from geodp.registry import plugin
from geodp.world.motion import Motion
from tests.world.places import angle_shaped, box, uniform_population

SIDE_M = 2000.0
MEAN_LEG_OF_UNIT_SQUARE = (2 + math.sqrt(2) + 5 * math.asinh(1)) / 15  # 0.5214, a classic of geometric probability
SIGMAS = 5.0  # a normal variable is further out with probability 5.7e-7
RARE = 1e-6


def walk(region: Region, workers: int, duration_s: float, seed: int = 0, **fields: Any) -> Motion:
    motion: Motion = plugin("random_waypoint", **fields).move(
        uniform_population(region, workers),
        region,
        start_s=0.0,
        duration_s=duration_s,
        rng=np.random.default_rng(seed),
    )
    return motion


def speed_at(motion: Motion, time_s: float) -> np.ndarray:
    """Speeds over a centisecond; the few who turn within it do not move a mean."""
    begin, end = motion.at(time_s), motion.at(time_s + 0.01)
    return np.hypot(end[0] - begin[0], end[1] - begin[1]) / 0.01


def test_the_share_of_pausing_workers_is_stationary() -> None:
    low, high, pause_s, workers = 1.0, 5.0, 300.0, 40_000
    motion = walk(box(SIDE_M, SIDE_M), workers, 4000.0, min_speed_mps=low, max_speed_mps=high, pause_s=pause_s)
    leg_s = MEAN_LEG_OF_UNIT_SQUARE * SIDE_M * math.log(high / low) / (high - low)
    expected = pause_s / (pause_s + leg_s)
    for time_s in (0.0, 3900.0):
        share = np.mean(speed_at(motion, time_s) < low / 2)
        assert abs(share - expected) < SIGMAS * math.sqrt(expected * (1 - expected) / workers)


def test_in_a_polygon_the_share_of_pausing_workers_is_stationary_too() -> None:
    region, workers, pause_s = angle_shaped(), 20_000, 3000.0
    rng = np.random.default_rng(1)
    (ax, ay), (bx, by) = region.sample(400_000, rng), region.sample(400_000, rng)
    leg_m = np.hypot(ax - bx, ay - by)
    motion = walk(region, workers, 10.0, min_speed_mps=2.0, max_speed_mps=4.0, pause_s=pause_s)
    expected = pause_s / (pause_s + leg_m.mean() * math.log(2) / 2)
    share = np.mean(speed_at(motion, 0.0) < 1.0)
    spread = math.sqrt(expected * (1 - expected)) * math.hypot(
        1 / math.sqrt(workers),
        math.sqrt(expected * (1 - expected)) * leg_m.std() / leg_m.mean() / math.sqrt(leg_m.size),
    )
    assert abs(share - expected) < SIGMAS * spread


@pytest.mark.parametrize("time_s", [0.0, 9000.0])
def test_speeds_are_those_seen_at_a_time_not_those_drawn_per_leg(time_s: float) -> None:
    low, high = 1.0, 10.0
    motion = walk(box(SIDE_M, SIDE_M), 30_000, 9100.0, min_speed_mps=low, max_speed_mps=high, pause_s=0.0)
    speed = speed_at(motion, time_s)
    # Slow legs last longer: the density is proportional to 1/v, with mean (b - a) / ln(b / a) = 3.9, not 5.5.
    mean = (high - low) / math.log(high / low)
    variance = (high**2 - low**2) / 2 / math.log(high / low) - mean**2
    assert abs(speed.mean() - mean) < SIGMAS * math.sqrt(variance / speed.size) + 0.02  # 0.02: turning workers


def test_positions_at_the_start_follow_the_law_of_positions_much_later() -> None:
    region, workers, late_s = box(SIDE_M, SIDE_M), 30_000, 12_000.0
    motion = walk(region, workers, late_s, min_speed_mps=1.0, max_speed_mps=10.0, pause_s=30.0)
    grid = Grid.fit(region, SIDE_M / 8)
    start, late = grid.count(*motion.at(0.0)), grid.count(*motion.at(late_s))
    assert stats.chi2_contingency([start, late]).pvalue > RARE
    # The comparison has teeth: a uniform start, the usual mistake, is told apart from the stationary law.
    uniform = grid.count(*region.sample(workers, np.random.default_rng(2)))
    assert stats.chi2_contingency([uniform, late]).pvalue < 1e-100


def test_everyone_stays_in_the_box_and_below_the_greatest_speed_until_the_end() -> None:
    region = box(1500.0, 700.0)
    motion = walk(region, 70_000, 900.0, min_speed_mps=0.5, max_speed_mps=20.0, pause_s=10.0)
    assert region.contains(motion.x_m, motion.y_m).all()
    for time_s in np.linspace(0, 900, 10):
        assert region.contains(*motion.at(time_s)).all()
    assert motion.max_speed_mps <= 20.0 * (1 + 1e-9)
    assert (motion.time_s[motion.first[:-1]] == 0).all()
    assert (motion.time_s[motion.first[1:] - 1] >= 900.0).all()
    assert motion.workers == 70_000  # more than one block


def test_waypoints_lie_in_the_polygon() -> None:
    region = angle_shaped()
    motion = walk(region, 2000, 20_000.0, min_speed_mps=5.0, max_speed_mps=10.0, pause_s=0.0)
    waypoints = np.delete(np.arange(motion.time_s.size), motion.first[:-1])
    inside = region.contains(motion.x_m[waypoints], motion.y_m[waypoints])
    assert np.mean(inside) > 0.9999  # a waypoint within 2 mm of the outline may be rounded across it


def test_the_same_generator_gives_the_same_walk() -> None:
    one, other = (walk(box(SIDE_M, SIDE_M), 500, 600.0, seed=4) for _ in range(2))
    assert np.array_equal(one.time_s, other.time_s)
    assert np.array_equal(one.x_m, other.x_m)


def test_one_speed_for_all_is_allowed() -> None:
    motion = walk(box(SIDE_M, SIDE_M), 500, 600.0, min_speed_mps=3.0, max_speed_mps=3.0, pause_s=0.0)
    assert motion.max_speed_mps == pytest.approx(3.0)


def test_speeds_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"max_speed_mps must be at least min_speed_mps \(5\), got 2"):
        plugin("random_waypoint", min_speed_mps=5, max_speed_mps=2)
