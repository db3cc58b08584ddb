"""The radius equations: golden values are in kilometres and workers per square kilometre, as in the book."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from geodp.public.acceptance.linear import Linear
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.public.acceptance.zipf import Zipf
from geodp.server.assignment.reward_radius import (
    compute_printed_load_m2,
    compute_printed_success,
    eq1314_radius_m,
    first_radius_m,
    solve_printed_radius_m,
    taylor_radius_m,
)
from geodp.server.rewards import by_radius

TARGET = 0.9
BOOK = TanhReward(ceiling=1, metres_per_reward=1000, max_travel_m=1e9)  # c·w in km is the reward


def load_m2(per_km2: float, target: float = TARGET) -> float:
    return -math.log1p(-target) / (math.pi * per_km2 * 1e-6)


def printed_km(k_km: float, per_km2: float) -> float:
    return float(solve_printed_radius_m(k_km * 1000, load_m2(per_km2))) / 1000


@pytest.mark.parametrize(("k", "slope"), [(1, 0.5091704353), (3, 1.8531579616)])
def test_slope_of_the_right_side_at_one(k: float, slope: float) -> None:
    """Book eq. (13.16)'s bracket 2L - ks, which needs the r² that eq. (13.14) lacks."""
    assert float(compute_printed_load_m2(1.0, k)[1]) == pytest.approx(slope, abs=1e-10)
    logarithm, sigmoid = math.log((math.exp(k) + 1) / 2), 1 / (1 + math.exp(-k))
    assert float(compute_printed_load_m2(1.0, k)[1]) == pytest.approx(2 * logarithm - k * sigmoid, abs=1e-12)


@pytest.mark.parametrize(
    ("k", "per_km2", "radius_km"),
    [(1, 1, 1.2225), (3, 0.2, 1.7688), (0.3, 5, 0.9026), (1, 5, 0.1655), (1, 20, 0.0376), (3, 1, 0.2599)],
)
def test_exact_radii(k: float, per_km2: float, radius_km: float) -> None:
    assert printed_km(k, per_km2) == pytest.approx(radius_km, abs=5e-5)


@pytest.mark.parametrize(
    ("k", "per_km2", "radius_km"), [(1, 1, 1.2216), (1, 5, 0.0700), (1, 20, -0.1459), (3, 1, 0.1245)]
)
def test_taylor_radii(k: float, per_km2: float, radius_km: float) -> None:
    taylor_km = float(taylor_radius_m(k * 1000, load_m2(per_km2))) / 1000
    assert taylor_km == pytest.approx(radius_km, abs=5e-5)


def test_taylor_promises_nine_tenths_and_plans_two_thirds() -> None:
    taylor_m = taylor_radius_m(1000, load_m2(5))
    assert float(compute_printed_success(BOOK, 1 / 3, taylor_m, 5e-6)) == pytest.approx(0.649, abs=5e-4)


@pytest.mark.parametrize(("k", "per_km2", "radius_km"), [(1, 0.2, 0.230), (1, 5, 3.64)])
def test_radii_of_equation_13_14_as_printed(k: float, per_km2: float, radius_km: float) -> None:
    assert float(eq1314_radius_m(k * 1000, load_m2(per_km2))) / 1000 == pytest.approx(radius_km, abs=5e-3)


def test_success_of_equation_13_14_as_printed() -> None:
    radius_m = eq1314_radius_m(1000, load_m2(0.2))
    assert float(compute_printed_success(BOOK, 1 / 3, radius_m, 0.2e-6)) == pytest.approx(0.115, abs=5e-4)


@settings(deadline=None, derandomize=True)
@given(st.floats(-2, 2), st.floats(-1, 4), st.floats(0.05, 0.999), st.sampled_from([0.05, 0.25, 0.999, 1.0]))
def test_exact_solver_agrees_with_brentq(log_cw: float, log_den: float, target: float, ceiling: float) -> None:
    k, load = 3000 * 10**log_cw, load_m2(10**log_den, target)

    def missing(log_r: float) -> float:
        value = float(compute_printed_load_m2(math.exp(log_r), k, ceiling)[0])
        return math.log(value / load)

    root = math.exp(brentq(missing, -25, 40, xtol=1e-14, rtol=1e-14))
    assert float(solve_printed_radius_m(k, load, ceiling)) == pytest.approx(root, rel=1e-10)


@settings(deadline=None, derandomize=True)
@given(st.floats(-3, 3), st.floats(-1, 4))
def test_the_root_lies_between_once_and_twice_a_over_k(log_k: float, log_den: float) -> None:
    k, load = 1000 * 10**log_k, load_m2(10**log_den)
    assert load / k * (1 - 1e-9) <= float(solve_printed_radius_m(k, load)) <= 2 * load / k * (1 + 1e-9)


@settings(deadline=None, derandomize=True)
@given(st.floats(0.01, 100), st.floats(0.01, 100), st.sampled_from([0.1, 0.5, 1.0]))
def test_the_right_side_increases_so_the_root_is_unique(radius: float, k: float, ceiling: float) -> None:
    assert float(compute_printed_load_m2(radius, k, ceiling)[1]) > 0


def test_success_at_the_exact_radius_is_the_target() -> None:
    reward = np.geomspace(0.001, 10, 2000)[:, None]
    density = np.geomspace(0.1, 1e4, 11) * 1e-6
    for ceiling in (0.25, 1.0):
        model = BOOK.model_copy(update={"ceiling": ceiling})
        radius = solve_printed_radius_m(3 * model.pull_m(reward), load_m2(1) * 1e-6 / density, ceiling)
        assert radius.shape == (2000, 11)  # more than one chunk of the solver
        np.testing.assert_allclose(compute_printed_success(model, reward, radius, density), TARGET, rtol=1e-11)


def test_without_reward_no_radius_suffices() -> None:
    for solve in (solve_printed_radius_m, taylor_radius_m):
        assert float(solve(0.0, 1e5)) == math.inf


def test_other_ceilings_go_through_the_same_algebra() -> None:
    """With a < 1: Taylor is the tangent at 1 km, eq. (13.14) is A = -ln(1 - a·tanh(k/2r))."""
    value, slope = compute_printed_load_m2(1000.0, 900.0, 0.25)
    load = load_m2(3)
    assert float(taylor_radius_m(900.0, load, 0.25)) == pytest.approx(1000 + (load - value) / slope)
    radius = float(eq1314_radius_m(900.0, load, 0.25))
    assert -math.log1p(-0.25 * math.tanh(450 / radius)) == pytest.approx(load / 1e6)
    assert float(eq1314_radius_m(900.0, 1e6, 0.25)) == 0.0  # A = 1 > -ln(0.75): no root


def test_the_printed_model_fails_where_reward_and_density_are_high() -> None:
    """100 workers per km², cw = 100 m: the book's disc of 26 m holds 0.2 workers; 0.9 promised, 0.19 true."""
    radius_m = solve_printed_radius_m(300, load_m2(100))
    assert float(radius_m) == pytest.approx(26.0, abs=0.05)
    truth = -np.expm1(-100e-6 * BOOK.reach_m2(0.1, radius_m))
    assert float(truth) == pytest.approx(0.19, abs=0.005)
    rng = np.random.default_rng(5)  # the same by drawing Poisson fields; six standard errors: false alarm 2e-9
    trials = 20_000
    counts = rng.poisson(100e-6 * math.pi * float(radius_m) ** 2, trials)
    distance_m = float(radius_m) * np.sqrt(rng.random(counts.sum()))
    accepts = rng.random(counts.sum()) < BOOK.probability(0.1, distance_m)
    trial = np.repeat(np.arange(trials), counts)
    share = np.unique(trial[accepts]).size / trials
    assert share == pytest.approx(float(truth), abs=6 * math.sqrt(0.19 * 0.81 / trials))


@settings(deadline=None, derandomize=True)
@given(st.floats(-3, 3), st.floats(-1, 4))
def test_the_poisson_model_always_asks_for_enough_workers(log_reward: float, log_den: float) -> None:
    """No acceptance below 1 does with fewer than -ln(1 - 0.9) = 2.303 expected workers."""
    density = 10**log_den * 1e-6
    radius = float(BOOK.radius_for(10**log_reward, -math.log(0.1) / density))
    assert density * math.pi * radius**2 >= 2.302585 * (1 - 1e-9)


def test_with_linear_acceptance_the_first_radius_is_found() -> None:
    model = Linear(mar=0.5, max_travel_m=2000)
    density = np.array([20e-6, 60e-6])
    radius = first_radius_m(model, 1.0, -math.log(0.1) / density / math.pi)
    np.testing.assert_allclose(compute_printed_success(model, 1.0, radius, density), TARGET, rtol=1e-9)
    before = compute_printed_success(model, 1.0, radius * 0.999, density)
    assert (before < TARGET).all()
    assert radius[1] < radius[0] < 1000


def test_with_linear_acceptance_sparse_places_have_no_radius() -> None:
    """-r² ln(1 - θ(2r/3)) rises and falls again: below some density it never reaches A."""
    model = Linear(mar=0.1, max_travel_m=1000)
    density = np.array([1e-6, 1e-3])
    radius = first_radius_m(model, 1.0, -math.log(0.1) / density / math.pi)
    best = compute_printed_success(model, 1.0, np.linspace(1, 1500, 3000), density[0]).max()
    assert best < TARGET
    assert radius[0] == math.inf
    assert radius[1] < 100


def test_with_zipf_acceptance_the_radius_is_a_square_root() -> None:
    model = Zipf(mar=0.3, max_travel_m=3000)
    load = load_m2(200)
    probability = float(model.probability(1.0, 10.0))
    radius = first_radius_m(model, 1.0, [load])
    assert float(radius[0]) == pytest.approx(math.sqrt(load / -math.log1p(-probability)), rel=1e-9)


def execution_cost(model: str, mean_reward: float, tuned: bool) -> float:
    """Expected distance of all notified workers to their tasks, Σ density · 2π r³/3, in 200 uneven places."""
    density = np.random.default_rng(0).lognormal(math.log(5e-6), 1.0, 200)
    need = -math.log(0.1) / density

    def radius(
        reward: np.ndarray[tuple[int], np.dtype[np.float64]],
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        if model == "poisson":
            return BOOK.radius_for(reward, need)
        return solve_printed_radius_m(3 * BOOK.pull_m(reward), need / math.pi)

    reward = np.full(200, mean_reward)
    if tuned:
        reward = by_radius(radius(reward), 200 * mean_reward, 0.005)
    return float((density * 2 * math.pi / 3 * radius(reward) ** 3).sum())


def test_tuned_rewards_never_cost_more_in_the_poisson_model_and_the_curve_flattens() -> None:
    rewards = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5]
    uniform = [execution_cost("poisson", w, tuned=False) for w in rewards]
    tuned = [execution_cost("poisson", w, tuned=True) for w in rewards]
    assert all(t <= u * (1 + 1e-6) for t, u in zip(tuned, uniform, strict=True))
    assert tuned[0] < 0.6 * uniform[0]
    assert uniform == sorted(uniform, reverse=True)
    assert uniform[-1] > 0.9 * uniform[-2]


def test_tuned_rewards_cost_more_in_the_printed_model_when_rewards_are_high() -> None:
    assert execution_cost("printed", 0.05, tuned=True) < 0.6 * execution_cost("printed", 0.05, tuned=False)
    assert execution_cost("printed", 0.25, tuned=True) > 2 * execution_cost("printed", 0.25, tuned=False)
    assert execution_cost("printed", 0.5, tuned=True) > 1.5 * execution_cost("printed", 0.5, tuned=False)
    # and its curve never flattens: it trusts in ever smaller fractions of a worker
    assert execution_cost("printed", 2.5, tuned=False) < 0.1 * execution_cost("printed", 1.0, tuned=False)
