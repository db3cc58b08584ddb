import numpy as np

from geodp.registry import plugin
from tests.world.places import box, uniform_population


def test_nobody_moves() -> None:
    region = box(1000, 1000)
    population = uniform_population(region, 20)
    motion = plugin("static").move(population, region, start_s=0.0, duration_s=60.0, rng=np.random.default_rng(0))
    assert motion.is_static
    assert np.array_equal(motion.at(60.0), [population.x_m, population.y_m])
