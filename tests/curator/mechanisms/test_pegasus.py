"""Noisy counts, smoothed over groups of releases that are much alike."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from geodp import plugin
from geodp.curator.mechanisms.pegasus import Pegasus, find_deviations, median_law
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Neighbours, Unit
from tests.curator.mechanisms.crowds import RecordingNoise, noise
from tests.curator.mechanisms.town import CELLS, play


def pegasus(**fields: Any) -> Pegasus:
    return plugin("pegasus", cells=CELLS, **fields)  # type: ignore[no-any-return]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_one_person_changes_a_deviation_by_less_than_two(size: int) -> None:
    """All groups of counts up to 3: 2(1 - 1/n), and attained."""
    worst = 0.0
    for counts in itertools.product(range(4), repeat=size):
        for at in range(size):
            more = [count + (place == at) for place, count in enumerate(counts)]
            both = find_deviations(np.array([counts, more]).T)
            worst = max(worst, float(abs(both[0] - both[1])))
    assert worst == pytest.approx(2 * (1 - 1 / size), abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 12])
def test_the_median_of_laplace_variables_has_the_stated_law(size: int) -> None:
    """400,000 medians; variance to 5 of its standard errors each (false alarms: 4e-6 in all six)."""
    drawn = np.median(np.random.default_rng(5).laplace(size=(size, 400_000)), axis=0)
    second, terms = median_law(size)
    kurtosis = 3 + 3 / terms
    error = 2 * second * np.sqrt((kurtosis - 1) / 400_000)
    assert abs(drawn.var() - 2 * second) < 5 * error
    assert np.mean(drawn**4) / np.mean(drawn**2) ** 2 == pytest.approx(kurtosis, rel=0.1)


def test_counts_that_stay_the_same_are_one_group() -> None:
    """Without noise, counts of a group are averaged, and its noise falls."""
    released = play(pegasus(epsilon=1.0), [[4] * 6] * 30, RecordingNoise())
    assert [release.count[4] for release in released] == [30.0] * 6
    assert released[0].noise_scale[4] == pytest.approx(1 / 0.8)
    assert released[5].noise_scale[4] == pytest.approx(1 / 0.8 * np.sqrt(median_law(6)[0]))


def test_a_count_that_does_not_join_is_closed_at_once() -> None:
    """A jump, and then the same: the jump is a group by itself, never tested again, and the next count begins one."""
    released = play(pegasus(epsilon=1.0), [[0, 0, 4, 4, 4, 4]] * 300, RecordingNoise())
    scale = [release.noise_scale[4] * 0.8 for release in released]
    law = [np.sqrt(median_law(size)[0]) for size in (1, 2, 1, 1, 2, 3)]
    assert scale == pytest.approx(law)
    assert [release.count[4] for release in released] == [0, 0, 300, 300, 300, 300]


def test_noise_and_thresholds_have_the_scales_of_the_paper() -> None:
    law = pegasus(epsilon=1.0).threshold_law()
    assert (law.threshold, law.threshold_scale, law.test_scale) == pytest.approx((25.0, 20.0, 40.0))
    wide = pegasus(epsilon=1.0).threshold_law(Neighbours.REPLACE)
    assert (wide.threshold_scale, wide.test_scale) == pytest.approx((40.0, 80.0))
    assert pegasus(epsilon=1.0).expected_noise() == pytest.approx(1.25)


def test_each_release_is_paid_for() -> None:
    mechanism = pegasus(epsilon=0.5)
    assert mechanism.guarantee().unit is Unit.SNAPSHOT
    assert mechanism.presence_epsilon(4, 32) == 2.0
    assert mechanism.presence_epsilon(32, 32) == 16.0


def test_smoothing_lowers_the_error_where_nothing_changes() -> None:
    def error(mechanism: Any, source: Noise) -> float:
        released = play(mechanism, [[cell] * 24 for cell in range(9)] * 20, source)
        return float(np.mean([np.abs(release.count - 20).mean() for release in released]))

    alone = np.mean([error(plugin("uniform_grid", cell_m=2000.0, epsilon=1.0), noise(seed)) for seed in range(8)])
    smooth = np.mean([error(pegasus(epsilon=1.0), noise(seed)) for seed in range(8)])
    assert smooth < 0.9 * alone
