"""Pings of people who move: when they are seen, and where."""

from __future__ import annotations

import numpy as np

from geodp.geometry import Array, Region
from geodp.public.towers import lay_out_hexagons
from geodp.streams import Words
from geodp.tables.towers import TowerNetwork
from geodp.world.motion import Motion
from geodp.world.pings import Seen, watch_people

DAY_S = 86_400.0


def east(x_m: Array, y_m: Array, words: Words) -> np.ndarray:
    return np.floor(x_m / 100).astype(np.int64)


def travellers(people: int = 60) -> Motion:
    """Everyone stands at 50 m, walks to 950 m between 6 and 12 o'clock, and stays there."""
    times = np.tile([0.0, 21_600.0, 43_200.0], people)
    first = np.arange(0, 3 * people + 1, 3)
    return Motion(first, times, np.tile([50.0, 50.0, 950.0], people), np.zeros(3 * people))


def watch(motion: Motion, **options: object) -> Seen:
    asked = {"per_hour": 4.0, "find_zone": east, "key": 3} | options
    parts = list(watch_people(motion, DAY_S, **asked))  # type: ignore[arg-type]
    return Seen(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("person", "time_s", "zone")))


def test_phones_are_seen_where_they_are() -> None:
    motion = travellers()
    seen = watch(motion)
    x_m, _ = motion.at_times(seen.time_s, seen.person)
    np.testing.assert_array_equal(seen.zone, np.floor(x_m / 100).astype(np.int64))
    assert set(np.unique(seen.zone)) == set(range(10))
    looked = watch(motion, is_fixed=False)
    np.testing.assert_array_equal(looked.zone, seen.zone)


def test_numbers_are_poisson_and_times_even() -> None:
    seen = watch(travellers(2000))
    many = np.bincount(seen.person, minlength=2000)
    # Means of 2,000 Poisson numbers of 96 have standard deviation .22, their variance 96·√(2/2000): five each (1e-6).
    assert abs(many.mean() - 96) < 5 * np.sqrt(96 / 2000)
    assert abs(many.var() - 96) < 5 * 96 * np.sqrt(2 / 2000)
    share = seen.time_s / DAY_S
    assert abs(share.mean() - 0.5) < 5 * np.sqrt(1 / 12 / share.size)


def test_nobody_is_seen_otherwise_because_of_others() -> None:
    few, many = watch(travellers(5)), watch(travellers(50))
    kept = many.person < 5
    np.testing.assert_array_equal(few.time_s, many.time_s[kept])
    np.testing.assert_array_equal(few.zone, many.zone[kept])


def test_walls_and_load_are_drawn_for_every_ping_of_a_person_by_herself() -> None:
    towers, network = lay_out_hexagons(Region(-0.02, -0.02, 0.02, 0.02), 50), TowerNetwork(noise_db=8)

    def serve(x_m: Array, y_m: Array, words: Words) -> np.ndarray:
        return network.find_serving(towers, x_m, y_m, words)

    few, many = (watch(travellers(people), find_zone=serve, is_fixed=False) for people in (5, 50))
    kept = many.person < 5
    np.testing.assert_array_equal(few.zone, many.zone[kept])
    assert np.unique(few.zone[(few.person == 0) & (few.time_s < 21_600)]).size > 1  # one place, several towers
    shadow = network.find_shadow(np.arange(50_000, dtype=np.uint64))
    assert shadow is not None
    # The standard deviation of 400,000 normals is 8 ± 8/√800,000: five of them (1e-6); ranks have nothing in common.
    assert abs(shadow.std() - 8) < 5 * 8 / np.sqrt(800_000)
    assert np.abs(np.corrcoef(shadow.T) - np.eye(8)).max() < 6 / np.sqrt(50_000)


def test_who_is_out_of_reach_is_not_seen() -> None:
    seen = watch(travellers(), find_zone=lambda x_m, _y, _words: np.where(x_m < 500, 0, -1))
    assert seen.zone.max() == 0
    assert seen.time_s.max() < 43_200
