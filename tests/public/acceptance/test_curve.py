"""The plain functions for loops say what the arrays say."""

import numpy as np
import pytest

from geodp.public.acceptance import Acceptance
from geodp.public.acceptance.linear import Linear
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.public.acceptance.zipf import Zipf

MODELS = [
    Linear(mar=0.1, max_travel_m=3600.0, minimum_reward=1.0),
    Zipf(mar=0.7, max_travel_m=3600.0, minimum_reward=1.0),
    TanhReward(metres_per_reward=80.0, max_travel_m=3600.0, minimum_reward=1.0),
    TanhReward(ceiling=1.0, metres_per_reward=80.0, max_travel_m=3600.0, minimum_reward=1.0),
]
DISTANCES = np.concatenate([[0.0, 720.0, 1440.0, 3600.0, 3600.1, 9000.0], np.linspace(0.5, 4000.0, 200)])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
@pytest.mark.parametrize("reward", [0.5, 1.0, 7.0])
def test_a_curve_is_the_probability_at_one_reward(model: Acceptance, reward: float) -> None:
    curve = model.curve(reward)
    assert [curve(float(d)) for d in DISTANCES] == pytest.approx(model.probability(reward, DISTANCES), abs=1e-15)


def test_golden_values() -> None:
    """Linear 0.1 · (1 - d/MTD); zipf with 1/Σ1/j = 60/137: ranks 1, 1, 2 and 5 at 0, 1.9, 2 and 5 fifths of the MTD."""
    linear, zipf, tanh = MODELS[0].curve(1.0), MODELS[1].curve(1.0), MODELS[3].curve(1.0)
    assert [linear(d) for d in (0.0, 900.0, 3600.0)] == pytest.approx([0.1, 0.075, 0.0])
    assert [zipf(d) for d in (0.0, 1400.0, 1440.0, 3600.0)] == pytest.approx(
        [0.7 * 60 / 137 / rank for rank in (1, 1, 2, 5)]
    )
    assert tanh(80.0) == pytest.approx(0.7615941559557649)


def test_where_workers_differ_it_is_the_mean_over_them() -> None:
    """Against 200,000 drawn workers: standard error < 0.0003, within 6 of them."""
    model = TanhReward(metres_per_reward=80.0, spread=0.8, max_travel_m=3600.0, minimum_reward=0.0)
    eager = model.eagerness(200_000, np.random.default_rng(0))
    assert eager is not None
    for distance in (10.0, 80.0, 500.0):
        assert model.curve(1.0)(distance) == pytest.approx(
            float(model.probability(1.0, distance, eager).mean()), abs=0.0018
        )


def test_a_model_without_a_curve_of_its_own_has_one() -> None:
    assert Acceptance.curve(MODELS[0], 1.0)(900.0) == pytest.approx(0.075)
