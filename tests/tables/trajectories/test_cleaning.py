"""Raw tracks: order, jumps, gaps, stays, resampling."""

import numpy as np

from geodp.tables.trajectories.cleaning import (
    apply_cuts,
    cut_at_gaps,
    cut_at_stays,
    find_backwards_tracks,
    in_order,
    local_m,
    resample_tracks,
    without_jumps,
)


def test_rows_behind_the_latest_time_and_repeats_are_told_apart() -> None:
    first, time = np.array([0, 5, 8]), np.array([0.0, 10, 5, 10, 11, 3, 3, 2])
    behind, repeated = in_order(first, time)
    assert np.flatnonzero(behind).tolist() == [2, 7]
    assert np.flatnonzero(repeated).tolist() == [3, 6]


def test_a_far_off_time_of_one_track_changes_no_other() -> None:
    behind, repeated = in_order(np.array([0, 2, 7]), np.array([0.0, 1e17, 0, 1, 2, 3, 4]))
    assert not behind.any()
    assert not repeated.any()


def test_tracks_written_last_fix_first_are_found() -> None:
    assert find_backwards_tracks(np.array([0, 3, 6, 7]), np.array([0.0, 1, 2, 9, 8, 7, 3])).tolist() == [1]


def test_one_wrong_fix_is_left_out_and_costs_nothing_else() -> None:
    first, time = np.array([0, 6]), np.linspace(0, 50, 6)
    x = np.array([0.0, 100, 90_000, 300, 400, 500])
    found = without_jumps(first, time, x, np.zeros(6), 50.0)
    assert found.kept.tolist() == [True, True, False, True, True, True]
    assert np.flatnonzero(found.begins).tolist() == [0]


def test_a_place_that_really_changed_begins_a_new_trip() -> None:
    first, time = np.array([0, 7]), np.linspace(0, 60, 7)
    x = np.array([90_000.0, 100, 200, 300, 400, 500, 600])  # the first fix is the wrong one
    found = without_jumps(first, time, x, np.zeros(7), 50.0)
    assert found.kept.all()
    assert np.flatnonzero(found.begins).tolist() == [0, 1]
    _, offsets = apply_cuts(found.kept, found.begins)
    assert offsets.tolist() == [0, 1, 7]


def test_jumps_of_one_track_do_not_touch_the_next() -> None:
    found = without_jumps(
        np.array([0, 2, 4]), np.array([0.0, 1, 2, 3]), np.array([0.0, 1, 9e6, 9e6]), np.zeros(4), 50.0
    )
    assert found.kept.all()
    assert np.flatnonzero(found.begins).tolist() == [0, 2]


def test_a_silence_cuts() -> None:
    begins = cut_at_gaps(np.array([True, False, False, True]), np.array([0.0, 60, 2000, 0]), 600)
    assert begins.tolist() == [True, False, True, True]


def test_a_stay_ends_one_trip_and_begins_the_next() -> None:
    time = np.arange(0, 3000, 60.0)
    east = np.concatenate([np.arange(10) * 500.0, np.full(30, 4600.0), 4600 + np.arange(1, 11) * 500.0])
    found = cut_at_stays(np.array([0, 50]), time, east, np.zeros(50), stay_m=100, stay_s=600)
    rows, offsets = apply_cuts(found.kept, found.begins)
    assert offsets.size - 1 == 2
    arrival, departure = rows[offsets[1] - 1], rows[offsets[1]]
    assert arrival == 9  # 4,500 m: the first place within 100 m of the stay
    assert departure >= 38
    assert time[departure] - time[arrival] >= 600


def test_a_slow_walk_and_a_red_light_are_no_stays() -> None:
    time = np.arange(0, 1200, 10.0)
    walk = time * 0.5
    light = np.where(time < 300, time * 10, np.where(time < 420, 3000, 3000 + (time - 420) * 10))
    first = np.array([0, time.size, 2 * time.size])
    both = np.concatenate([walk, light])
    found = cut_at_stays(first, np.concatenate([time, time]), both, np.zeros(both.size), stay_m=100, stay_s=600)
    assert found.kept.all()
    assert np.flatnonzero(found.begins).tolist() == [0, time.size]


def test_resampling_goes_in_straight_lines_and_keeps_both_ends() -> None:
    offset, time, lon, lat = resample_tracks(
        np.array([0, 3, 4]), np.array([100.0, 160, 205, 7]), np.array([0.0, 6, 6, 1]), np.array([0.0, 0, 9, 1]), 30
    )
    assert offset.tolist() == [0, 5, 6]
    assert time.tolist() == [100, 130, 160, 190, 205, 7]
    np.testing.assert_allclose(lon, [0, 3, 6, 6, 6, 1])
    np.testing.assert_allclose(lat, [0, 0, 0, 6, 9, 1])


def test_metres_count_from_each_tracks_first_fix() -> None:
    x, y = local_m(np.array([0, 2, 4]), np.array([10.0, 10, 179.99, -179.99]), np.array([60.0, 60.01, 0, 0]))
    np.testing.assert_allclose(y[:2], [0, 1111.95], rtol=1e-4)
    np.testing.assert_allclose(x[2:], [0, 2223.9], rtol=1e-4)  # across the date line
