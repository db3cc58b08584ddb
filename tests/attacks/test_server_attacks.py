"""Attacks on the protocol: toys by hand, figures of the page, and what rules do to a malicious server."""

from typing import Any

import numpy as np
import pytest

from geodp.attacks import SeenOffers
from geodp.attacks.sybil import Rules, post_until_named
from geodp.attacks.triangulation import least_distance, log_evidence, posterior, share_ratio
from geodp.public.acceptance.tanh_reward import TanhReward

ACCEPTANCE = TanhReward(ceiling=0.25, metres_per_reward=152.5, max_travel_m=1500.0, minimum_reward=0.0)


def offers(x_m: np.ndarray, y_m: np.ndarray, reward: np.ndarray, winners: list[list[str]]) -> SeenOffers:
    size = x_m.size
    return SeenOffers(
        np.arange(size), np.zeros(size), x_m, y_m, np.full(size, 1500.0), reward, np.full(size, np.nan), winners
    )


@pytest.mark.parametrize(("winners", "named", "near"), [([["her"]], 1.0, 0.857), ([[]], 0.0, 0.445)])
def test_two_places_by_hand(winners: list[list[str]], named: float, near: float) -> None:
    task = offers(np.zeros(1), np.zeros(1), np.ones(1), winners)
    took, declined = log_evidence(task, np.array([100.0, 1000.0]), np.zeros(2), ACCEPTANCE)
    belief = posterior(np.array([[named]]), took, declined, np.ones(2))
    assert belief[0, 0] == pytest.approx(near, abs=5e-4)


def test_the_share_ratio_is_that_of_a_poisson_number_of_others() -> None:
    rng = np.random.default_rng(1)
    others = rng.poisson(1.5, 1_000_000)
    expected = np.mean(1 / (2 + others)) / np.mean(1 / (1 + others))
    assert share_ratio(np.array([-np.expm1(-1.5)]))[0] == pytest.approx(expected, abs=2e-3)
    assert share_ratio(np.array([1e-9]))[0] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.slow
def test_where_a_fixed_worker_is_found() -> None:
    """Worker in 3 × 3 km, offers in 6 × 6 km: mean error and share within 200 m; blind 1,150 m."""
    cell = np.linspace(-1500, 1500, 61)[:-1] + 25
    east, north = (axis.ravel() for axis in np.meshgrid(cell, cell))
    for number, mean_m, hit in ((10, 1030, 0.03), (30, 800, 0.05), (100, 440, 0.19), (300, 210, 0.55)):
        errors = []
        for seed in range(4):
            rng = np.random.default_rng([number, seed])
            x, y = rng.uniform(-1500, 1500, (2, 300))
            task_x, task_y = rng.uniform(-3000, 3000, (2, number))
            reward = rng.uniform(2, 8, number)
            tasks = offers(task_x, task_y, reward, [[]] * number)
            far = np.hypot(task_x - x[:, None], task_y - y[:, None])
            chance = np.where(far <= 1500, ACCEPTANCE.probability(reward, far), 0.0)
            named = (rng.random(chance.shape) < chance).astype(float)
            took, declined = log_evidence(tasks, east, north, ACCEPTANCE, alone=True)
            belief = posterior(named, took, declined, np.ones(east.size))
            guess_x, guess_y = least_distance(belief, east, north)
            errors.append(np.hypot(guess_x - x, guess_y - y))
        found = np.concatenate(errors)
        assert found.mean() == pytest.approx(mean_m, rel=0.09)
        assert np.mean(found < 200) == pytest.approx(hit, abs=0.04)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "passes", "named"),
    [
        (Rules(), 1, 0.14),
        (Rules(), 10, 0.85),
        (Rules(answers=3), 10, 0.35),
        (Rules(answers=3, mute=0.368), 10, 0.30),
        (Rules(answers=1), 10, 0.14),
    ],
)
def test_how_often_a_malicious_server_finds_somebody(rules: Rules, passes: int, named: float) -> None:
    """100 per km², 4 km²: both figures have a standard error of about 3 points (200 trials)."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(200):
        x, y = rng.uniform(0, 2000, (2, 400))
        settings: dict[str, Any] = {"reward": 1.0, "side_m": 2000.0, "spacing_m": 200.0, "radius_m": 141.0}
        one = post_until_named(x, y, ACCEPTANCE, **settings, passes=passes, rules=rules, rng=rng)
        found.append(one.named)
        assert one.paid <= one.posts <= 100 * passes
    assert np.mean(found) == pytest.approx(named, abs=0.13)


def test_rules_limit_a_malicious_server() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0, 2000, (2, 400))
    settings: dict[str, Any] = {
        "reward": 1.0,
        "side_m": 2000.0,
        "spacing_m": 200.0,
        "radius_m": 141.0,
        "passes": 10,
        "rng": rng,
    }
    few = post_until_named(x, y, ACCEPTANCE, **settings, rules=Rules(per_km2_hour=5))
    assert few.posts <= 20
    trials = [post_until_named(x, y, ACCEPTANCE, **settings, rules=Rules(least_people=100)) for _ in range(20)]
    usual = [post_until_named(x, y, ACCEPTANCE, **settings, rules=Rules()) for _ in range(20)]
    found, narrow = ([one.error_m for one in some if one.named] or [np.inf] for some in (trials, usual))
    assert np.mean(found) > np.mean(narrow)  # a wide circle finds her further off, if at all
