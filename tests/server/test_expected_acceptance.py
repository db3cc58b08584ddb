import numpy as np
import pytest

from geodp.privacy.primitives import planar_laplace_offsets
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.public.channels import PlanarLaplaceChannel
from geodp.server.assignment.nearest_report import expected_acceptance

ACCEPTANCE = TanhReward(metres_per_reward=100.0, max_travel_m=2000.0, minimum_reward=0.1)


@pytest.mark.parametrize("epsilon", [0.002, 0.01])
def test_the_table_is_the_mean_over_where_the_worker_may_be(epsilon: float) -> None:
    """Against 200,000 draws at six distances; the mean's standard error is at most 2.7e-4: 5 sd, false alarm < 1e-6."""
    table = expected_acceptance(ACCEPTANCE, 5.0, PlanarLaplaceChannel(epsilon))
    east, north = planar_laplace_offsets(200_000, epsilon, np.random.default_rng(0))
    for distance in (0.0, 150.0, 400.0, 900.0, 1900.0, 2500.0):
        drawn = ACCEPTANCE.probability(5.0, np.hypot(distance + east, north)).mean()
        assert float(table.at(distance)) == pytest.approx(drawn, abs=1.5e-3)


def test_it_falls_with_distance_and_is_zero_beyond_all_reach() -> None:
    table = expected_acceptance(ACCEPTANCE, 5.0, PlanarLaplaceChannel(0.005))
    values = table.at(np.linspace(0, 5000, 300))
    assert (np.diff(values) <= 0).all()
    assert values[-1] == 0
    assert values[0] < ACCEPTANCE.ceiling  # nobody is known to be at the task


def test_without_noise_it_is_the_willingness_itself() -> None:
    table = expected_acceptance(ACCEPTANCE, 5.0, None)
    distance = np.array([100.0, 700.0, 1999.0])
    assert table.at(distance) == pytest.approx(ACCEPTANCE.probability(5.0, distance), abs=1e-4)
    assert float(table.at(2001.0)) == 0
