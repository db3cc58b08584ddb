"""Scores of mobility, on trips made by hand whose answer is known."""

import numpy as np
import pytest

from geodp.public.streets import network_of_segments
from geodp.run_folder.mobility_scores import ALL_SCORES, gyrations_m, street_shares, turns
from tests.curator.synthesis.small_town import TOWN, polyline, trips


def test_a_right_angle_is_half_pi() -> None:
    trip = polyline((0.0, 0.0), (500.0, 0.0), (500.0, 500.0))
    assert turns(trip) == pytest.approx([np.pi / 2])
    assert ALL_SCORES["turning_rad_per_km"](trip, trip, TOWN) == pytest.approx(np.pi / 2)


def test_a_trip_straight_on_does_not_turn_and_one_back_turns_by_pi() -> None:
    assert turns(polyline((0.0, 0.0), (100.0, 100.0), (200.0, 200.0))) == pytest.approx([0.0])
    assert turns(polyline((0.0, 0.0), (100.0, 0.0), (0.0, 0.0))) == pytest.approx([np.pi])


def test_the_radius_of_gyration_of_two_points_is_half_their_distance() -> None:
    assert gyrations_m(polyline((0.0, 0.0), (600.0, 800.0))) == pytest.approx([500.0])


def test_equal_sets_differ_in_nothing() -> None:
    real = trips()
    for key, score in ALL_SCORES.items():
        value = score(real, real, TOWN)
        if key.endswith("_jsd"):
            assert value == pytest.approx(0.0, abs=1e-12), key
        elif key.endswith("_ratio") or key in {"od_cpc", "pattern_f1", "kendall_tau"}:
            assert value == pytest.approx(1.0), key


def test_hours_apart_have_nothing_in_common() -> None:
    early, late = polyline((0.0, 0.0), (100.0, 0.0)), polyline((0.0, 0.0), (100.0, 0.0))
    late.time_s[:] += 12 * 3600
    assert ALL_SCORES["hour_jsd"](early, late, TOWN) == pytest.approx(np.log(2))


def test_points_near_and_far_from_streets_are_told() -> None:
    street = network_of_segments(np.array([-1000.0, 1000.0]), np.zeros(2), np.array([0]), np.array([1]))
    trip = polyline((0.0, 0.0), (0.0, 24.0), (0.0, 100.0), (0.0, 250.0))
    assert street_shares(trip, street) == (0.5, 0.25)
