"""The synthetic city. Every statistical bound here is crossed by chance in fewer than 1e-6 of all seeds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from geodp.geometry import Grid, Region
from geodp.registry import plugin
from geodp.world.population import Population
from geodp.world.sources.synthetic_city import draw_layout
from tests.world.places import angle_shaped, box

REGION = Region(-122.5135, 37.7113, -122.3627, 37.8327)
RARE = 1e-6


def build(region: Region = REGION, seed: int = 0, **fields: Any) -> Population:
    city: Population = plugin("synthetic_city", **fields).load(region, np.random.default_rng(seed))
    return city


def density(x_m: np.ndarray | None, y_m: np.ndarray | None, cell_m: float = 1000.0) -> np.ndarray:
    assert x_m is not None
    assert y_m is not None
    return Grid.fit(REGION, cell_m).count(x_m, y_m)


def cells_that_hold_half(counts: np.ndarray) -> int:
    ranked = np.cumsum(np.sort(counts)[::-1])
    return int(np.searchsorted(ranked, ranked[-1] / 2)) + 1


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Probability that two samples of one law differ this much, by chi-square over well-filled cells."""
    filled = one + other >= 20
    table = np.array([np.append(n[filled], n[~filled].sum()) for n in (one, other)])
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue)


def test_the_number_of_workers_is_public_and_kept() -> None:
    assert plugin("synthetic_city", count=70_001).public_count() == 70_001
    assert build(count=70_001).size == 70_001  # more than one block


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    width_m=st.floats(200, 60_000),
    height_m=st.floats(200, 60_000),
    centres=st.integers(1, 12),
)
def test_everyone_lives_and_works_inside_any_box(seed: int, width_m: float, height_m: float, centres: int) -> None:
    region = box(width_m, height_m)
    city = build(region, seed, count=500, centres=centres)
    assert region.contains(city.x_m, city.y_m).all()
    assert city.work_x_m is not None
    assert city.work_y_m is not None
    assert region.contains(city.work_x_m, city.work_y_m).all()


def test_everyone_lives_and_works_inside_a_polygon() -> None:
    region = angle_shaped()
    for seed in range(5):
        city = build(region, seed, count=3000)
        assert city.work_x_m is not None
        assert city.work_y_m is not None
        assert region.contains(city.x_m, city.y_m).all()
        assert region.contains(city.work_x_m, city.work_y_m).all()


def test_the_city_stays_the_same_when_the_number_of_workers_changes() -> None:
    few, many = build(count=20_000), build(count=30_000)
    another = build(count=30_000, seed=1)
    homes = [density(city.x_m, city.y_m) for city in (few, many, another)]
    jobs = [density(city.work_x_m, city.work_y_m) for city in (few, many, another)]
    for few_n, many_n, another_n in (homes, jobs):
        assert agreement(few_n, many_n) > RARE
        assert agreement(few_n, another_n) < 1e-100


def test_shares_of_homes_do_not_move_the_centres() -> None:
    one, other = build(corridor_share=0.1, count=20_000), build(corridor_share=0.4, count=20_000)
    peaks = [int(np.argmax(density(city.x_m, city.y_m, 500.0))) for city in (one, other)]
    assert peaks[0] == peaks[1]


def test_jobs_are_more_concentrated_than_homes() -> None:
    for seed in range(5):
        city = build(seed=seed, count=20_000)
        homes, jobs = density(city.x_m, city.y_m, 500.0), density(city.work_x_m, city.work_y_m, 500.0)
        assert cells_that_hold_half(jobs) < cells_that_hold_half(homes) / 2


def test_people_work_nearer_home_than_chance_would_have_it_but_not_next_door() -> None:
    for seed in range(5):
        city = build(seed=seed, count=20_000)
        assert city.work_x_m is not None
        assert city.work_y_m is not None
        commute_m = np.hypot(city.work_x_m - city.x_m, city.work_y_m - city.y_m)
        shuffled_m = np.hypot(np.roll(city.work_x_m, 1) - city.x_m, np.roll(city.work_y_m, 1) - city.y_m)
        assert np.median(commute_m) < 0.85 * np.median(shuffled_m)
        assert 1000 < np.median(commute_m) < 5000  # a city of 13 km


def test_one_centre_dominates_and_the_others_differ_in_size() -> None:
    for seed in range(10):
        centres = draw_layout(REGION, 6, np.random.default_rng(seed)).centres
        assert centres.share[0] == centres.share.max()
        assert centres.share.sum() == pytest.approx(1.0)
        assert centres.share.max() > 3 * centres.share.min()
        assert np.unique(centres.reach_m).size == 7


def test_centres_keep_their_distance_and_are_all_reached_by_corridors() -> None:
    for seed in range(10):
        layout = draw_layout(REGION, 6, np.random.default_rng(seed))
        x_m, y_m = layout.centres.x_m, layout.centres.y_m
        apart_m = np.hypot(x_m[:, None] - x_m, y_m[:, None] - y_m)[~np.eye(7, dtype=bool)]
        assert apart_m.min() > 0.08 * layout.scale_m
        joined = {0}
        roads = layout.corridors
        ends = [
            tuple(int(np.argmin(np.hypot(x_m - roads.x_m[k, end], y_m - roads.y_m[k, end]))) for end in (0, 2))
            for k in range(roads.share.size)
        ]
        for _ in range(7):
            joined |= {b for a, b in ends if a in joined} | {a for a, b in ends if b in joined}
        assert joined == set(range(7))


def test_the_background_alone_is_uniform() -> None:
    city = build(count=20_000, background_share=1.0, corridor_share=0.0)
    assert stats.chisquare(density(city.x_m, city.y_m)).pvalue > RARE


def test_the_background_share_lies_outside_the_city_too() -> None:
    # The thinnest quarter of the cells holds little but background: about its share of the area.
    city = build(count=50_000, background_share=0.3)
    counts = np.sort(density(city.x_m, city.y_m))
    thin = counts[: counts.size // 4].sum() / 50_000
    assert 0.9 * 0.3 / 4 < thin < 1.6 * 0.3 / 4


def test_without_sub_centres_nobody_lives_along_corridors() -> None:
    layout = draw_layout(REGION, 0, np.random.default_rng(0))
    assert layout.corridors.share.size == 0
    assert build(count=500, centres=1, background_share=0.1).size == 500


def test_homes_may_all_lie_along_corridors() -> None:
    city = build(count=5000, corridor_share=0.88, background_share=0.12)
    assert REGION.contains(city.x_m, city.y_m).all()


def test_shares_beyond_the_whole_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"must not exceed 1 together, got 0\.7 \+ 0\.6"):
        plugin("synthetic_city", corridor_share=0.7, background_share=0.6)
