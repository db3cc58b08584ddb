"""Laws of movement on toys that were worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from geodp.tables import movement_laws as laws
from geodp.tables.visit_log import VisitLog, find_stays, order_visits, read_log

HOUR_S, DAY_S = 3_600.0, 86_400.0


def visit(*lives: str, step_s: float = HOUR_S, apart_m: float = 1_000.0) -> VisitLog:
    """Return people who go from letter to letter, an hour apart: A is at 0, B 1 km east, C 2 km."""
    person = np.repeat(np.arange(len(lives)), np.array([len(life) for life in lives], dtype=np.int64))
    place = np.array([ord(letter) - ord("A") for life in lives for letter in life], dtype=np.int64)
    time_s = np.array([number * step_s for life in lives for number in range(len(life))], dtype=np.float64)
    return order_visits(person, time_s, place, place.astype(np.float64) * apart_m, np.zeros(place.size))


def test_jumps_lead_to_another_place_of_the_same_person() -> None:
    assert laws.jumps_m(visit("AABC", "DA")).tolist() == [1_000.0, 1_000.0, 3_000.0]
    assert laws.waits_s(visit("AAB", "CD")).tolist() == [HOUR_S] * 3


def test_gyration_is_the_root_mean_square_distance_from_the_middle() -> None:
    # A, B, C at 0, 1, 2 km: squares 1, 0, 1 over 3; twice at one place: 0.
    assert laws.gyrations_m(visit("ABC", "BB")).tolist() == pytest.approx([1_000 * math.sqrt(2 / 3), 0.0])


def test_shares_by_rank_are_means_over_people() -> None:
    # AAAB: 3/4, 1/4; CC: 1. Means: 7/8, 1/8.
    assert laws.shares_by_rank(visit("AAAB", "CC")).tolist() == [0.875, 0.125]


def test_distinct_places_grow_with_the_record() -> None:
    # New places at 0, 1, 2, 4, 8, 16 h of 16: after 1/16 two have been seen, then 3, 4, 5, 6.
    log = order_visits(
        np.zeros(6, np.int64), np.array([0, 1, 2, 4, 8, 16.0]), np.arange(6), np.arange(6.0), np.zeros(6)
    )
    parts, seen = laws.grow_places(log)
    assert parts.tolist() == [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1]
    assert seen.tolist() == [2, 3, 4, 5, 6]
    assert laws.find_new(visit("ABAC", "AA")).tolist() == [True, True, False, True, True, False]


def test_match_lengths_look_back_without_overlap_and_never_at_others() -> None:
    # ABAB: A, B new; "AB" seen, and then it ends: 3; "B": 2.
    assert laws.match_lengths(visit("ABAB", "AB")).tolist() == [1, 1, 3, 2, 1, 1]
    # AAAA: "A" before the second; "AA" wholly before the third; then it ends.
    assert laws.match_lengths(visit("AAAA")).tolist() == [1, 2, 3, 2]
    # ABCABD: from the second A, "AB" was seen, "ABD" not.
    assert laws.match_lengths(visit("ABCABD")).tolist() == [1, 1, 1, 3, 2, 1]


def test_match_lengths_agree_with_the_definition_on_random_lives() -> None:
    rng = np.random.default_rng(3)
    lives = ["".join(rng.choice([*"ABC"], size)) for size in (1, 2, 40, 60)]
    expected = []
    for life in lives:
        for at in range(len(life)):
            length = 1
            while at + length <= len(life) and life[at : at + length] in life[:at]:
                length += 1
            expected.append(length)
    assert laws.match_lengths(visit(*lives)).tolist() == expected


def test_entropies_of_four_visits() -> None:
    log = visit("ABAB", "AAAA", "AABC")
    assert laws.place_entropies(log).tolist() == [1.0, 0.0, 1.5]
    # n log2 n = 8 over 7, over 8, and over 1 + 2 + 1 + 1.
    assert laws.real_entropies(log).tolist() == pytest.approx([8 / 7, 1.0, 8 / 5])


def test_predictability_solves_fano() -> None:
    p = float(laws.bound_predictability(np.array([1.0]), [4])[0])
    assert -p * math.log2(p) - (1 - p) * math.log2(1 - p) + (1 - p) * math.log2(3) == pytest.approx(1.0)
    assert p > 0.8
    assert laws.bound_predictability(np.array([0.5, 9.0]), [1, 4]).round(9).tolist() == [1.0, 0.25]


def test_hours_and_days_follow_the_log_own_monday() -> None:
    log = order_visits(np.zeros(3, np.int64), np.array([0.0, 5.9, 24 * 5.5]) * HOUR_S, *np.zeros((3, 3), np.int64),
                       monday_s=0.0)  # fmt: skip
    assert np.flatnonzero(laws.count_hours(log)).tolist() == [0, 5, 12]
    assert laws.weekdays(log).tolist() == [0, 0, 5]


def test_people_with_few_visits_say_nothing_about_single_people() -> None:
    found = laws.measure_laws(visit("AB" * 4))
    assert found["gyration_p50_km"] is None
    assert found["entropy_real_bits"] is None
    assert found["jump_p50_km"] == 1.0
    assert list(found) == list(laws.LAWS)


def test_nobody_has_no_laws() -> None:
    assert set(laws.measure_laws(visit()).values()) == {None}


def test_stays_are_found_over_silences_and_in_squares() -> None:
    # Half an hour at 0, ten minutes away, back at 30 m and silent for 8 h there, then gone.
    minute = np.array([0, 10, 20, 30, 35, 40, 45, 525, 530, 540])
    x_m = np.array([10, 12, 11, 10, 2_000, 4_000, 30, 40, 3_000, 6_000.0])
    fixes = order_visits(np.zeros(10, np.int64), minute * 60.0, np.zeros(10, np.int64), x_m, np.zeros(10))
    stays = find_stays(fixes)
    assert (stays.time_s / 60).tolist() == [0, 45]
    assert stays.place[0] == stays.place[1]
    assert stays.x_m[0] == stays.x_m[1]


def test_a_file_is_read_by_the_clocks_of_its_people() -> None:
    columns = {"user": ["a", "a", "b"], "venue": ["x", "y", "x"], "time_s": [1.34e9, 1.34e9 + 60, None]}
    batch = pa.record_batch({**columns, "lon": [2.0, 2.1, 2.0], "lat": [48.0, 48.0, 48.0]})
    utc, _ = read_log([batch])
    paris, _ = read_log([batch], zone="Europe/Paris")
    assert (utc.size, utc.people) == (2, 1)
    assert (paris.time_s - utc.time_s).tolist() == [2 * HOUR_S] * 2  # in June
