"""Plans made from any decomposition keep their word where workers are evenly spread: the stated noise law is right."""

import numpy as np
import pytest

from geodp import plugin
from geodp.curator.mechanisms import Snapshot
from geodp.privacy.noise import SimulatedNoise
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.server.count_beliefs import believe_counts
from geodp.server.disc import find_discs
from tests.curator.mechanisms.crowds import REGION
from tests.server.noisy_worlds import realised_success

TARGET, TASKS, WORLDS = 0.9, 150, 6


@pytest.mark.parametrize("kind", ["uniform_grid", "adaptive_grid", "quadtree", "kd_tree", "dpcube"])
def test_noise_aware_plans_reach_their_target(kind: str) -> None:
    """Mean success of 900 circles in six Poisson fields; its standard deviation is below 0.005, so 0.025 is five."""
    acceptance = TanhReward(ceiling=0.25, metres_per_reward=100.0, max_travel_m=3600.0, minimum_reward=0.0)
    reached = []
    for seed in range(WORLDS):
        rng = np.random.default_rng(seed)
        x, y = REGION.sample(int(rng.poisson(6160)), rng)
        release = plugin(kind, epsilon=0.3).release(Snapshot(0.0, x, y, REGION, 6000.0), SimulatedNoise(rng))
        task_x, task_y = (0.6 * place for place in REGION.sample(TASKS, rng))  # clear of the region's edge
        belief, reward = believe_counts(release), np.full(TASKS, 5.0)
        radius_m = find_discs(release, belief, acceptance, task_x, task_y, reward, TARGET, TARGET).radius_m
        workers_m = np.column_stack([x, y])
        reached.append(realised_success(acceptance, 5.0, task_x, task_y, radius_m=radius_m, workers_m=workers_m).mean())
    assert np.mean(reached) == pytest.approx(TARGET, abs=0.025)
