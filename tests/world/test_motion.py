import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.world.motion import Motion, join_blocks, stand_still


def random_motion(workers: int, rng: np.random.Generator, *, single: bool = False) -> Motion:
    counts = rng.integers(1, 9, workers)
    first = np.append(0, np.cumsum(counts))
    time_s = np.concatenate([np.sort(rng.uniform(-100, 1000, count)) for count in counts])
    kind = np.float32 if single else np.float64
    x_m, y_m = rng.uniform(-5000, 5000, (2, time_s.size)).astype(kind)
    stays = rng.random(time_s.size) < 0.3  # some workers pause: a knot at the place of the one before
    for knot in np.flatnonzero(stays[1:] & ~np.isin(np.arange(1, time_s.size), first)) + 1:
        x_m[knot], y_m[knot] = x_m[knot - 1], y_m[knot - 1]
    return Motion(first, time_s, x_m, y_m)


def by_interpolation(motion: Motion, time_s: float) -> np.ndarray:
    """The definition, worker by worker; numpy.interp stands still outside the knots."""
    knots = [slice(*motion.first[i : i + 2]) for i in range(motion.workers)]
    return np.array([[np.interp(time_s, motion.time_s[k], v[k]) for k in knots] for v in (motion.x_m, motion.y_m)])


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("time_s", [-200.0, -50.0, 0.0, 333.3, 1000.0, 5000.0])
def test_a_position_is_the_interpolation_between_a_workers_own_knots(single: bool, time_s: float) -> None:
    motion = random_motion(200, np.random.default_rng(1), single=single)
    np.testing.assert_allclose(motion.at(time_s), by_interpolation(motion, time_s), atol=1e-8)


def test_positions_of_some_workers_each_at_its_own_time() -> None:
    motion = random_motion(50, np.random.default_rng(2))
    workers, times = np.array([7, 3, 49, 0, 3]), np.array([10.0, 500.0, 999.0, -99.0, 20.0])
    x_m, y_m = motion.at_times(times, workers)
    for i, (worker, time_s) in enumerate(zip(workers, times, strict=True)):
        np.testing.assert_allclose([x_m[i], y_m[i]], by_interpolation(motion, time_s)[:, worker], atol=1e-8)


def test_at_a_knot_the_position_is_the_knot() -> None:
    motion = Motion(np.array([0, 3]), np.array([0.0, 10.0, 30.0]), np.array([0.0, 100.0, 100.0]), np.zeros(3))
    assert [motion.at(t)[0][0] for t in (0, 5, 10, 20, 30, 99)] == [0, 50, 100, 100, 100, 100]


def test_two_knots_at_one_time_are_a_jump() -> None:
    motion = Motion(np.array([0, 2]), np.array([5.0, 5.0]), np.array([1.0, 9.0]), np.zeros(2))
    assert [motion.at(t)[0][0] for t in (4.9, 5.0, 5.1)] == [1, 9, 9]


@pytest.mark.parametrize("single", [False, True])
def test_reading_forward_agrees_with_looking_up(single: bool) -> None:
    motion = random_motion(300, np.random.default_rng(3), single=single)
    forward = motion.forward()
    for time_s in [-150.0, -20.0, 0.0, 0.0, 17.0, 400.0, 401.0, 2000.0]:
        np.testing.assert_array_equal(forward.at(time_s), motion.at(time_s))


@pytest.mark.parametrize("single", [False, True])
def test_looking_up_one_worker_agrees_with_looking_up_all(single: bool) -> None:
    motion = random_motion(100, np.random.default_rng(7), single=single)
    for time_s in [-150.0, -20.0, 0.0, 17.0, 400.0, 2000.0, float(motion.time_s[40])]:
        one_by_one = np.array([motion.of(worker, time_s) for worker in range(100)]).T
        np.testing.assert_array_equal(one_by_one, motion.at(time_s))


def test_a_jump_and_a_single_knot_read_the_same_forward_and_one_by_one() -> None:
    motion = Motion(np.array([0, 2, 3]), np.array([5.0, 5.0, 7.0]), np.array([1.0, 9.0, 4.0]), np.zeros(3))
    forward = motion.forward()
    for time_s in (4.9, 5.0, 5.1, 8.0):
        expected = motion.at(time_s)
        np.testing.assert_array_equal(forward.at(time_s), expected)
        assert [motion.of(worker, time_s)[0] for worker in (0, 1)] == expected[0].tolist()


def test_positions_read_forward_are_the_callers_to_change() -> None:
    for motion in (stand_still(np.array([1.0]), np.array([2.0])), random_motion(1, np.random.default_rng(8))):
        forward = motion.forward()
        x_m, y_m = forward.at(1.0)
        x_m += 50.0
        y_m += 50.0
        np.testing.assert_array_equal(forward.at(1.0), motion.at(1.0))


def test_reading_forward_refuses_to_go_back() -> None:
    forward = random_motion(3, np.random.default_rng(0)).forward()
    forward.at(10.0)
    with pytest.raises(ValueError, match="time goes back from 10 to 9"):
        forward.at(9.0)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), duration_s=st.floats(1, 1200))
def test_cutting_to_the_run_changes_no_position_and_keeps_everyone(seed: int, duration_s: float) -> None:
    motion = random_motion(30, np.random.default_rng(seed))
    cut = motion.within(duration_s)
    assert (np.diff(cut.first) >= 1).all()
    assert cut.time_s.size <= motion.time_s.size
    for time_s in np.linspace(0, duration_s, 7):
        np.testing.assert_allclose(cut.at(time_s), motion.at(time_s), atol=1e-8)


def test_cutting_drops_what_lies_before_and_after() -> None:
    times = np.array([-20.0, -10.0, 5.0, 90.0, 120.0, 130.0])
    motion = Motion(np.array([0, 6]), times, np.arange(6.0), np.zeros(6))
    assert motion.within(100.0).time_s.tolist() == [-10, 5, 90, 120]


def test_cutting_drops_a_last_knot_that_nobody_walks_to() -> None:
    motion = Motion(np.array([0, 2]), np.array([-5.0, 200.0]), np.ones(2), np.ones(2))
    assert motion.within(100.0).is_static


def test_the_greatest_speed_is_taken_within_workers_only() -> None:
    # Worker 0 walks 100 m in 50 s and 30 m in 10 s; worker 1 starts 10 km away one second later.
    motion = Motion(
        np.array([0, 3, 5]),
        np.array([0.0, 50.0, 60.0, 61.0, 161.0]),
        np.array([0.0, 100.0, 100.0, 10_000.0, 10_000.0]),
        np.array([0.0, 0.0, 30.0, 0.0, 250.0]),
    )
    assert motion.max_speed_mps == 3.0


def test_nobody_outruns_the_greatest_speed() -> None:
    motion = random_motion(100, np.random.default_rng(5))
    before, after = motion.at(100.0), motion.at(101.0)
    assert np.hypot(after[0] - before[0], after[1] - before[1]).max() <= motion.max_speed_mps


def test_the_greatest_speed_is_found_beyond_the_first_block_of_knots() -> None:
    count = (1 << 20) + 3
    x_m = np.zeros(count)
    x_m[-1] = 7.0
    assert Motion(np.array([0, count]), np.arange(float(count)), x_m, np.zeros(count)).max_speed_mps == 7.0


def test_standing_workers_are_static_anywhere_in_time() -> None:
    motion = stand_still(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert motion.is_static
    assert motion.max_speed_mps == 0.0
    assert np.array_equal(motion.at(1e6), [[1, 2], [3, 4]])


def test_blocks_of_workers_join_in_order() -> None:
    motion = random_motion(10, np.random.default_rng(6))
    cut = motion.first[4]
    halves = [
        (np.diff(motion.first[:5]), motion.time_s[:cut], motion.x_m[:cut], motion.y_m[:cut]),
        (np.diff(motion.first[4:]), motion.time_s[cut:], motion.x_m[cut:], motion.y_m[cut:]),
    ]
    whole = join_blocks(halves)
    assert np.array_equal(whole.first, motion.first)
    assert np.array_equal(whole.at(123.0), motion.at(123.0))


def test_no_workers_make_an_empty_movement() -> None:
    assert join_blocks([]).workers == 0
