import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from geodp.public.acceptance.linear import Linear
from geodp.registry import PublicFacts

MODEL = Linear(mar=0.4, max_travel_m=2000, minimum_reward=1)


def test_falls_linearly_to_zero() -> None:
    probability = MODEL.probability(1.0, [0.0, 500.0, 1000.0, 2000.0, 2500.0])
    np.testing.assert_allclose(probability, [0.4, 0.3, 0.2, 0, 0])
    assert float(MODEL.probability(0.99, 0.0)) == 0.0


@settings(deadline=None, derandomize=True)
@given(st.floats(0.1, 5000))
def test_reach_is_the_integral_of_the_probability(radius_m: float) -> None:
    end = min(radius_m, 2000.0)
    exact, _ = quad(lambda s: float(MODEL.probability(1, s)) * 2 * math.pi * s, 0, end, epsrel=1e-12)
    assert float(MODEL.reach_m2(1, radius_m)) == pytest.approx(exact, rel=1e-10)


@settings(deadline=None, derandomize=True)
@given(st.floats(1e-3, 2000))
def test_radius_for_inverts_the_reach(radius_m: float) -> None:
    # the curve is flat at the end, where a relative error of 1e-16 in the reach is one of 1e-8 in the radius
    assert float(MODEL.radius_for(1, MODEL.reach_m2(1, radius_m))) == pytest.approx(radius_m, rel=3e-8)


def test_no_radius_suffices_for_more_than_the_whole_disc() -> None:
    whole = float(MODEL.reach_m2(1, 2000))
    assert whole == pytest.approx(0.4 * math.pi * 2000**2 / 3)
    radii = MODEL.radius_for([1, 1, 0.5, 0.5], [whole * 0.999, whole * 1.001, 1.0, 0.0])
    assert radii[0] < 2000
    np.testing.assert_array_equal(radii[1:], [np.inf, np.inf, 0.0])


def test_a_certain_acceptance_has_no_refusal() -> None:
    assert float(Linear(mar=1).log_refusal(1, 0.0)) == -math.inf


def test_the_minimum_reward_comes_from_the_scenario() -> None:
    facts = PublicFacts(expected_workers=1, expected_tasks=1, mean_reward=5, minimum_reward=0.5, width_m=1, height_m=1)
    assert Linear().resolve(facts).minimum_reward == 0.5
    assert MODEL.resolve(facts).minimum_reward == 1
