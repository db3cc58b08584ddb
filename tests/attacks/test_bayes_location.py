from dataclasses import replace

import numpy as np
import pytest

from geodp.attacks import ANYONE, AttackView
from geodp.attacks.bayes_location import BayesLocation
from geodp.public.guarantee import Guarantee
from geodp.public.release import Points
from tests.server.noisy_worlds import SIDE_M, released
from tests.server.reports import REGION, Hills, names, reported

EPSILON = 0.005


def errors(attack: BayesLocation, points: Points, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    guesses = attack.guess(AttackView(REGION, [points]))
    row = np.searchsorted(points.who, guesses.who)
    return np.asarray(np.hypot(guesses.x_m - x[row], guesses.y_m - y[row]))


def test_with_nothing_known_beforehand_the_best_guess_is_the_report_and_errs_by_2_over_epsilon() -> None:
    """E R = 2/ε, sd √2/ε: mean of 2,000 within 5 sd (false alarm < 1e-6), and 1 % for the cells of the window."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-2000, 2000, (2, 2000))
    made = errors(BayesLocation(people=2000), reported(x, y, rng, epsilon_per_m=EPSILON), x, y)
    expected = 2 / EPSILON
    assert made.mean() == pytest.approx(expected, abs=5 * np.sqrt(2) / EPSILON / np.sqrt(2000) + 0.01 * expected)


def test_a_prior_helps_and_what_was_released_is_one() -> None:
    rng = np.random.default_rng(1)
    x, y = Hills().sample(4000, rng)
    points = reported(x, y, rng, epsilon_per_m=0.002)
    uniform = errors(BayesLocation(people=400), points, x, y)
    released_prior = errors(BayesLocation(people=400, prior="released"), points, x, y)
    assert released_prior.mean() < 0.85 * uniform.mean()


def test_the_guess_minimises_the_expected_distance_under_prior_and_noise_law() -> None:
    """Against a fine search of its own, for a report near a corner where prior and noise disagree."""
    west, south, _, _ = REGION.box_m
    report = (west + 100.0, south + 300.0)
    points = reported(np.array([0.0]), np.array([0.0]), np.random.default_rng(0), epsilon_per_m=EPSILON, clamp=False)
    points = replace(points, x_m=np.array([report[0]]), y_m=np.array([report[1]]))
    guesses = BayesLocation().guess(AttackView(REGION, [points]))
    step = np.arange(12.5, 2500, 25.0)
    x, y = (grid.ravel() for grid in np.meshgrid(west + step, south + step))
    weight = np.exp(-EPSILON * np.hypot(x - report[0], y - report[1]))
    cost = [float((np.hypot(x - gx, y - gy) * weight).sum()) for gx, gy in zip(x[::7], y[::7], strict=True)]
    best = int(np.argmin(cost)) * 7
    assert np.hypot(guesses.x_m[0] - x[best], guesses.y_m[0] - y[best]) < 120
    assert np.hypot(guesses.x_m[0] - report[0], guesses.y_m[0] - report[1]) > 100  # nobody lives beyond the edge


def test_clamped_and_rounded_reports_are_understood() -> None:
    rng = np.random.default_rng(3)
    x, y = REGION.sample(120, rng)
    free = errors(BayesLocation(), reported(x, y, np.random.default_rng(7), epsilon_per_m=0.002, clamp=False), x, y)
    clamped = errors(BayesLocation(), reported(x, y, np.random.default_rng(7), epsilon_per_m=0.002), x, y)
    rounded = errors(BayesLocation(), reported(x, y, np.random.default_rng(7), epsilon_per_m=0.002, cell_m=50.0), x, y)
    assert clamped.mean() == pytest.approx(free.mean(), rel=0.1)
    assert rounded.mean() == pytest.approx(clamped.mean(), rel=0.1)


def test_exact_reports_are_the_place() -> None:
    x, y = REGION.sample(50, np.random.default_rng(0))
    points = Points(0.0, "none", Guarantee.none("a test"), names(50), x, y, None, 1e-6)
    assert errors(BayesLocation(prior="released"), points, x, y).max() == 0


def test_counts_name_nobody_so_one_guess_holds_for_all() -> None:
    counts = np.zeros((3, 3))
    counts[0, 0] = 90
    region_of_cells = released(counts, 1.0, floor_per_m2=1e-9)
    half = SIDE_M / 2
    shifted = type(region_of_cells)(
        **{
            **vars(region_of_cells),
            **{edge: getattr(region_of_cells, edge) - half for edge in ("west_m", "south_m", "east_m", "north_m")},
            "grid": type(region_of_cells.grid)(-half, -half, SIDE_M / 3, SIDE_M / 3, 3, 3),
        }
    )
    guesses = BayesLocation().guess(AttackView(REGION, [shifted, shifted]))
    assert guesses.who.tolist() == [ANYONE, ANYONE]
    assert guesses.release.tolist() == [0, 1]
    assert guesses.x_m[0] == pytest.approx(-half + SIDE_M / 6, abs=400)
    assert np.hypot(guesses.blind_x_m, guesses.blind_y_m) < 200  # without the release: the middle of the region
