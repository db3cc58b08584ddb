import numpy as np
import pytest
from scipy import stats

from geodp import plugin
from geodp.public.guarantee import Neighbours, Unit
from geodp.registry import PublicFacts
from tests.curator.mechanisms.crowds import REGION, RecordingNoise, crowd, noise


@pytest.mark.parametrize(("neighbours", "scale"), [(Neighbours.ADD_REMOVE, 2.5), (Neighbours.REPLACE, 5.0)])
def test_every_cell_gets_laplace_noise_of_its_sensitivity(neighbours: Neighbours, scale: float) -> None:
    """Kolmogorov-Smirnov at 1e-6 on the noise of all cells, empty ones included."""
    taken = crowd(6000, neighbours)
    release = plugin("uniform_grid", epsilon=0.4, cell_m=100).release(taken, noise(2))
    error = release.count - release.grid.count(taken.x_m, taken.y_m)
    assert stats.kstest(error, stats.laplace(scale=scale).cdf).pvalue > 1e-6
    assert set(release.noise_scale) == {scale}
    assert (release.guarantee.epsilon, release.guarantee.unit) == (0.4, Unit.SNAPSHOT)


def test_the_guideline_gives_sqrt_of_n_epsilon_over_ten_cells_per_side() -> None:
    facts = PublicFacts(6160, 0, 1, 0, REGION.width_m, REGION.height_m)
    cell_m = plugin("uniform_grid", epsilon=0.3).resolve(facts).cell_m
    assert np.sqrt(REGION.area_m2) / cell_m == pytest.approx(np.sqrt(6160 * 0.3 / 10), rel=1e-3)  # 13.6, about 1 km
    assert plugin("uniform_grid", count_share=0.1).resolve(facts).cell_m is None


def test_a_number_of_workers_that_is_not_public_is_paid_for() -> None:
    paid = plugin("uniform_grid", epsilon=1.0, count_share=0.1)
    source = RecordingNoise()
    taken = crowd(4000, expected=1.0)
    release = paid.release(taken, source)
    (workers, _), (cells, size) = source.laplaces
    assert 1 / workers[0] + 1 / cells[0] == pytest.approx(1.0, rel=1e-12)
    assert size == release.count.size == pytest.approx(4000 * 0.9 / 10, rel=0.1)
