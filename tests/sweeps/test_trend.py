"""Trends: exact on numbers without chance, and wrong no more often than stated on noise."""

import math

import numpy as np
import pytest

from geodp.sweeps.trend import ERROR, find_trend


@pytest.mark.parametrize(
    ("values", "word", "rises", "falls"),
    [
        ([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]], "rises", (0, 1), None),
        ([[3.0, 4.0], [2.0, 3.0], [2.0, 3.0]], "falls", None, (0, 1)),
        ([[1.0, 1.0], [2.0, 2.0], [1.5, 1.5]], "rises and falls", (0, 1), (1, 2)),
        ([[1.0, 2.0], [1.0, 2.0]], "does not clearly change", None, None),
        ([[0.1 + 0.2, 1.0], [0.3, 1.0]], "does not clearly change", None, None),  # rounding is no difference
        ([[1.0, 2.0], [2.0, 1.0]], "does not clearly change", None, None),
        ([[1.0, None], [2.0, 3.0]], "does not clearly change", None, None),  # one pair alone has no interval
        ([[1.0, 2.0, math.inf], [2.0, 3.0, 1.0]], "rises", (0, 1), None),  # the infinite one is left out
        ([[1.0]], "does not clearly change", None, None),
    ],
)
def test_differences_without_chance_are_seen_for_what_they_are(
    values: list[list[float | None]], word: str, rises: object, falls: object
) -> None:
    found = find_trend(values)
    assert (found.word, found.rises, found.falls) == (word, rises, falls)
    assert found.monotone is (word != "rises and falls")


def test_the_interval_is_students_with_bonferroni() -> None:
    # Three values make three pairs; t(1 - 0.05/6; 3) = 4.8567, so a mean of 1 is clear up to sd = 2 / 4.8567 = 0.4118.
    def shifted(spread: float) -> list[list[float]]:
        gaps = [1 - spread, 1 + spread, 1 - spread, 1 + spread]  # sd = spread · √(4/3)
        return [[0.0] * 4, gaps, gaps]

    edge = 0.411806 / math.sqrt(4 / 3)
    assert find_trend(shifted(0.999 * edge)).rises is not None
    assert find_trend(shifted(1.001 * edge)).rises is None


def test_noise_around_a_line_that_only_rises_is_seldom_said_to_fall() -> None:
    # 4,000 series, each wrong with a chance of at most 2.5 %: more than 150 has a chance of 1e-6 (binomial tail).
    rng = np.random.default_rng(5)
    flat = [find_trend(rng.normal(size=(5, 8)).tolist()) for _ in range(4000)]
    assert sum(trend.falls is not None for trend in flat) <= 150
    assert sum(trend.falls is not None or trend.rises is not None for trend in flat) > 0  # it is not blind
    assert ERROR == 0.05


def test_a_clear_rise_and_fall_is_found_in_noise() -> None:
    rng = np.random.default_rng(6)
    hill = np.array([0.0, 1.0, 0.0])[:, None] + rng.normal(scale=0.1, size=(3, 8))
    assert find_trend(hill.tolist()).word == "rises and falls"
