"""Poisson demand. Every statistical bound here is crossed by chance in fewer than 1e-6 of all seeds."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from geodp.errors import DataError
from geodp.geometry import Grid, Region
from geodp.registry import plugin
from geodp.world.demand import Arrivals
from geodp.world.population import Population
from tests.world.places import angle_shaped, box, uniform_population

REGION = box(5000, 4000)
PEOPLE = uniform_population(REGION, 1000)
RARE = 1e-6
RUSH = tuple(float(hour) for hour in range(24))  # busier every hour, quiet after midnight


def arrive(
    population: Population = PEOPLE,
    region: Region = REGION,
    start_s: float = 0.0,
    duration_s: float = 3600.0,
    seed: int = 0,
    **fields: Any,
) -> Arrivals:
    arrivals: Arrivals = plugin("poisson", **fields).arrivals(
        population, region, start_s=start_s, duration_s=duration_s, rng=np.random.default_rng(seed)
    )
    return arrivals


def expect(start_h: float, hours: float, **fields: Any) -> float:
    expected: float = plugin("poisson", **fields).expected_tasks(start_s=start_h * 3600, duration_s=hours * 3600)
    return expected


def test_a_constant_rate_expects_rate_times_time() -> None:
    assert expect(8, 2.5, per_hour=300) == pytest.approx(750)


def test_a_profile_keeps_the_mean_rate_over_a_day() -> None:
    assert expect(0, 24, per_hour=300, profile=RUSH) == pytest.approx(24 * 300)
    assert expect(7.3, 48, per_hour=300, profile=RUSH) == pytest.approx(48 * 300)


def test_a_profile_is_integrated_exactly_over_parts_of_hours_and_past_midnight() -> None:
    # The mean factor of 0..23 is 11.5, so the hour from h brings 300 h / 11.5 tasks.
    assert expect(8.5, 1, per_hour=300, profile=RUSH) == pytest.approx(300 / 11.5 * (8 / 2 + 9 / 2))
    assert expect(8, 1, per_hour=300, profile=RUSH) == pytest.approx(300 / 11.5 * 8)
    assert expect(8.25, 0.5, per_hour=300, profile=RUSH) == pytest.approx(300 / 11.5 * 4)
    assert expect(23.5, 2, per_hour=300, profile=RUSH) == pytest.approx(300 / 11.5 * (23 / 2 + 0 + 1 / 2))


def test_the_number_of_tasks_is_poisson() -> None:
    counts = np.array([arrive(per_hour=4.0, seed=seed).time_s.size for seed in range(2000)])
    edges = np.arange(0, 10)
    seen = np.append([np.count_nonzero(counts == k) for k in edges], np.count_nonzero(counts > edges[-1]))
    law = stats.poisson(4.0)
    expected = np.append(law.pmf(edges), law.sf(edges[-1])) * counts.size
    assert stats.chisquare(seen, expected).pvalue > RARE


def test_times_follow_the_profile() -> None:
    tasks = arrive(per_hour=2000, profile=RUSH, start_s=6 * 3600.0, duration_s=24 * 3600.0)
    hours = np.bincount((tasks.time_s // 3600).astype(int) + 6, minlength=30)[6:30]
    expected = np.array([RUSH[hour % 24] for hour in range(6, 30)])
    assert hours[18] == 0  # the hour after midnight
    busy = expected > 0
    assert stats.chisquare(hours[busy], expected[busy] / expected.sum() * hours.sum()).pvalue > RARE


def test_within_an_hour_times_are_uniform_sorted_and_before_the_end() -> None:
    tasks = arrive(per_hour=5000, profile=RUSH, start_s=9 * 3600.0)
    assert stats.kstest(tasks.time_s / 3600, "uniform").pvalue > RARE
    assert (np.diff(tasks.time_s) >= 0).all()
    assert tasks.time_s[0] >= 0
    assert tasks.time_s[-1] < 3600


def test_where_tasks_lie_does_not_change_when_they_arrive() -> None:
    one, other = arrive(where="uniform"), arrive(where="density", blur_m=50)
    assert np.array_equal(one.time_s, other.time_s)


def test_uniform_tasks_fill_the_region_evenly() -> None:
    tasks = arrive(per_hour=8000, where="uniform")
    assert stats.chisquare(Grid.fit(REGION, 1000).count(tasks.x_m, tasks.y_m)).pvalue > RARE


def test_tasks_follow_the_density_of_the_workers() -> None:
    people = Population(np.repeat([-2000.0, 2000.0], [300, 100]), np.zeros(400))
    tasks = arrive(people, per_hour=4000, where="density", blur_m=100)
    west = int(np.count_nonzero(tasks.x_m < 0))
    assert stats.binomtest(west, tasks.x_m.size, 0.75).pvalue > RARE
    aside = np.concatenate([np.abs(tasks.x_m) - 2000, tasks.y_m]) / 100
    assert stats.kstest(aside, "norm").pvalue > RARE


def test_without_blur_a_task_lies_at_a_worker() -> None:
    tasks = arrive(per_hour=500, where="density", blur_m=0)
    assert np.isin(tasks.x_m, PEOPLE.x_m).all()


@pytest.mark.parametrize("region", [REGION, angle_shaped()])
@pytest.mark.parametrize("blur_m", [300.0, 200_000.0])
def test_all_tasks_lie_inside_the_region(region: Region, blur_m: float) -> None:
    people = uniform_population(region, 500)
    tasks = arrive(people, region, per_hour=3000, where="density", blur_m=blur_m)
    assert region.contains(tasks.x_m, tasks.y_m).all()


def test_the_population_is_left_as_it_was() -> None:
    before = PEOPLE.x_m.copy()
    arrive(where="density")
    assert np.array_equal(PEOPLE.x_m, before)


def test_density_needs_somebody_to_follow() -> None:
    with pytest.raises(DataError, match="follows the workers, but there are none"):
        arrive(Population(np.empty(0), np.empty(0)), where="density")


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ([1.0] * 23, "profile must list 24 hourly factors, got 23"),
        ([0.0] * 24, "profile must have at least one hour above 0"),
        ([-1.0] + [1.0] * 23, "must be at least 0"),
    ],
)
def test_impossible_profiles_are_refused(profile: list[float], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        plugin("poisson", profile=profile)
