import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from geodp.public.acceptance.zipf import Zipf

MODEL = Zipf(mar=0.1, max_travel_m=1000, minimum_reward=1)
HARMONIC = 1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5


def test_ranks_start_at_one_and_end_at_the_last() -> None:
    """Rank = ⌊5 d / max⌋ clipped to 1…5: the two inner rings share rank 1, only the very edge has rank 5."""
    probability = MODEL.probability(1, [0.0, 199.0, 399.0, 401.0, 601.0, 999.0, 1000.0, 1001.0])
    ranks = np.array([1, 1, 1, 2, 3, 4, 5, np.inf])
    np.testing.assert_allclose(probability, 0.1 / ranks / HARMONIC)
    assert float(MODEL.probability(0.5, 0.0)) == 0.0


def test_the_exponent_sets_how_fast_ranks_fall() -> None:
    flat = Zipf(mar=0.5, exponent=0, steps=4, max_travel_m=1000)
    np.testing.assert_allclose(flat.probability(1, [10.0, 600.0, 900.0]), 0.125)
    steep = Zipf(mar=0.5, exponent=2, steps=2, max_travel_m=1000)
    np.testing.assert_allclose(steep.probability(1, [10.0, 1000.0]), [0.4, 0.1])


@settings(deadline=None, derandomize=True)
@given(st.floats(1, 1500))
def test_reach_is_the_integral_of_the_probability(radius_m: float) -> None:
    end = min(radius_m, 1000.0)
    exact = 0.0
    for low in range(0, 1000, 200):
        if low < end:
            high = min(low + 200, end)
            exact += quad(lambda s: float(MODEL.probability(1, s)) * 2 * math.pi * s, low, high - 1e-9)[0]
    assert float(MODEL.reach_m2(1, radius_m)) == pytest.approx(exact, rel=1e-8)


@settings(deadline=None, derandomize=True)
@given(st.floats(1e-3, 1000))
def test_radius_for_inverts_the_reach(radius_m: float) -> None:
    assert float(MODEL.radius_for(1, MODEL.reach_m2(1, radius_m))) == pytest.approx(radius_m, rel=1e-9)


def test_no_radius_suffices_for_more_than_the_whole_disc() -> None:
    whole = float(MODEL.reach_m2(1, 1000))
    radii = MODEL.radius_for([1, 1, 0.5, 0.5], [whole, whole * 1.001, 1.0, 0.0])
    np.testing.assert_allclose(radii, [1000, np.inf, np.inf, 0])
