import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq

from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.registry import PublicFacts

FACTS = PublicFacts(
    expected_workers=10_000,
    expected_tasks=600,
    mean_reward=5.0,
    minimum_reward=0.5,
    width_m=13_000,
    height_m=13_000,
)
BOOK = TanhReward(ceiling=1, metres_per_reward=100)

pulls = st.floats(0.01, 50)
radii = st.floats(1, 20_000)
ceilings = st.sampled_from([0.05, 0.25, 0.9, 1.0])


def test_the_default_puts_four_tenths_of_the_ceiling_half_way() -> None:
    resolved = TanhReward(max_travel_m=3000).resolve(FACTS)
    assert float(resolved.probability(5.0, 1500)) == pytest.approx(0.4 * 0.25)
    assert resolved.metres_per_reward == pytest.approx(math.atanh(0.4) * 1500 / 5)
    assert resolved.minimum_reward == 0.5
    assert resolved.resolve(FACTS) == resolved


def test_what_the_scenario_says_stands() -> None:
    own = TanhReward(metres_per_reward=77, minimum_reward=2).resolve(FACTS)
    assert (own.metres_per_reward, own.minimum_reward) == (77, 2)


def test_unresolved_it_takes_the_mean_reward_to_be_one() -> None:
    assert float(TanhReward().probability(1.0, 1800)) == pytest.approx(0.1)


def test_equation_13_7() -> None:
    model = TanhReward(ceiling=1, metres_per_reward=100, minimum_reward=1, max_travel_m=1000)
    probability = model.probability([2.0, 2.0, 0.99, 2.0], [200.0, 1000.0, 200.0, 1000.1])
    np.testing.assert_allclose(probability, [math.tanh(1), math.tanh(0.2), 0, 0], rtol=1e-15)


def test_at_distance_zero_the_ceiling_accepts() -> None:
    assert float(TanhReward(minimum_reward=1).probability(1.0, 0.0)) == 0.25
    assert float(TanhReward(minimum_reward=1).probability(0.5, 0.0)) == 0.0
    assert float(TanhReward().probability(0.0, 0.0)) == 0.0


def test_a_share_of_the_purse_a_rounding_error_short_of_the_minimum_still_pays() -> None:
    model = TanhReward(minimum_reward=0.1)
    assert 0.3 / 3 < 0.1
    assert float(model.probability(0.3 / 3, 100)) > 0


@settings(deadline=None, derandomize=True)
@given(pulls, st.floats(1, 3600))
def test_more_reward_attracts_and_more_distance_repels(reward: float, distance_m: float) -> None:
    """Book eq. (13.8) prints ∂θ/∂d > 0; it is negative."""
    at = float(BOOK.probability(reward, distance_m))
    if at < 1 - 1e-9:  # where tanh has not rounded to 1
        assert float(BOOK.probability(reward * 1.01, distance_m)) > at
        assert float(BOOK.probability(reward, distance_m * 0.99)) > at


@settings(deadline=None, derandomize=True)
@given(st.floats(0.001, 30), st.floats(1, 3600), ceilings)
def test_log_refusal_is_the_logarithm_of_refusing(reward: float, distance_m: float, ceiling: float) -> None:
    model = TanhReward(ceiling=ceiling, metres_per_reward=10)
    x = 10 * reward / distance_m
    exact = math.log1p(-ceiling * math.tanh(x)) if x < 1 or ceiling < 1 else math.log(2 / (math.exp(2 * x) + 1))
    assert float(model.log_refusal(reward, distance_m)) == pytest.approx(exact, rel=1e-12)


def test_log_refusal_is_exact_where_the_probability_rounds_to_one() -> None:
    assert float(BOOK.probability(100, 100)) == 1.0
    assert float(BOOK.log_refusal(100, 100)) == pytest.approx(-(200 - math.log(2)), rel=1e-14)
    assert float(BOOK.log_refusal(1, 0.0)) == -math.inf


@settings(deadline=None, derandomize=True)
@given(pulls, radii, ceilings)
def test_reach_is_the_integral_of_the_probability(reward: float, radius_m: float, ceiling: float) -> None:
    model = TanhReward(ceiling=ceiling, metres_per_reward=100, max_travel_m=5000)
    end = min(radius_m, 5000.0)
    exact, _ = quad(
        lambda s: float(model.probability(reward, s)) * 2 * math.pi * s,
        0,
        end,
        points=[min(end, 50 * reward)] if 50 * reward < end else None,
        epsrel=1e-10,
        limit=200,
    )
    assert float(model.reach_m2(reward, radius_m)) == pytest.approx(exact, rel=1e-8)


@settings(deadline=None, derandomize=True)
@given(pulls, st.floats(1, 1e9), ceilings)
def test_radius_for_inverts_the_uncapped_reach(reward: float, reach_m2: float, ceiling: float) -> None:
    capped = TanhReward(ceiling=ceiling, metres_per_reward=100, max_travel_m=100)
    uncapped = TanhReward(ceiling=ceiling, metres_per_reward=100, max_travel_m=1e15)
    radius_m = float(capped.radius_for(reward, reach_m2))
    assert float(uncapped.reach_m2(reward, radius_m)) == pytest.approx(reach_m2, rel=1e-9)


def test_radius_for_agrees_with_brentq() -> None:
    def missing(radius_m: float) -> float:
        return quad(lambda s: math.tanh(150 / s) * 2 * math.pi * s, 1e-9, radius_m, epsrel=1e-12)[0] - 2e5

    root = brentq(missing, 1, 1e4, xtol=1e-9)
    assert float(BOOK.radius_for(1.5, 2e5)) == pytest.approx(root, rel=1e-9)


def test_no_radius_suffices_below_the_minimum() -> None:
    model = TanhReward(minimum_reward=1)
    np.testing.assert_array_equal(model.radius_for([0.5, 0.5], [100.0, 0.0]), [np.inf, 0.0])
    assert float(model.reach_m2(0.5, 1000)) == 0.0
    assert float(TanhReward().radius_for(1e-200, 100.0)) == np.inf


def test_workers_who_differ_have_a_mean_eagerness_of_one() -> None:
    drawn = TanhReward(spread=0.5).eagerness(200_000, np.random.default_rng(3))
    assert drawn is not None
    # standard error of the mean: sqrt(e^0.25 - 1)/sqrt(200000) = 0.0012; six of them: false alarm 2e-9
    assert drawn.mean() == pytest.approx(1, abs=0.0072)
    assert np.log(drawn).std() == pytest.approx(0.5, abs=6 * 0.5 / math.sqrt(400_000))
    assert TanhReward().eagerness(10, np.random.default_rng(3)) is None


def test_reach_of_workers_who_differ_is_their_mean() -> None:
    model = TanhReward(spread=0.8, metres_per_reward=100, max_travel_m=2000)
    alike = TanhReward(metres_per_reward=100, max_travel_m=2000)
    exact, _ = quad(
        lambda z: (
            float(alike.reach_m2(1.3 * math.exp(0.8 * z - 0.32), 900)) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        ),
        -9,
        9,
        epsrel=1e-11,
    )
    assert float(model.reach_m2(1.3, 900)) == pytest.approx(exact, rel=1e-8)


@settings(deadline=None, derandomize=True)
@given(pulls, st.floats(1, 1e8), st.floats(0.05, 1.5))
def test_radius_of_workers_who_differ_inverts_their_reach(reward: float, reach_m2: float, spread: float) -> None:
    model = TanhReward(spread=spread, metres_per_reward=100, max_travel_m=1e15)
    radius_m = float(model.radius_for(reward, reach_m2))
    assert float(model.reach_m2(reward, radius_m)) == pytest.approx(reach_m2, rel=1e-9)


def test_arrays_broadcast() -> None:
    model = TanhReward()
    grid = model.probability(np.ones((3, 1)), np.full(4, 100.0))
    assert grid.shape == (3, 4)
    assert model.reach_m2(np.ones((3, 1)), np.full(4, 100.0)).shape == (3, 4)
    assert model.radius_for(np.ones((3, 1)), np.full(4, 100.0)).shape == (3, 4)
