import numpy as np
import pytest

from geodp.geometry import Array, Grid, Region
from geodp.public.channels import FiniteChannel
from geodp.public.em_deconvolution import deconvolve
from geodp.public.guarantee import Guarantee
from geodp.public.release import DensityEstimate, Points
from geodp.server.density_from_points import density_from_points


def unfold(counts: Array, table: Array, shape: tuple[int, int]) -> Array:
    return deconvolve(counts, table, shape, passes=12, smoothing_cells=0.6)


def test_a_channel_that_changes_nothing_leaves_counts_in_order() -> None:
    counts = np.array([5.0, 0.0, 3.0])
    shape = (1, 3)
    assert unfold(counts, np.eye(3), shape).sum() == pytest.approx(8.0)
    assert np.argsort(unfold(counts, np.eye(3), shape)).tolist() == [1, 2, 0]


def test_counts_keep_their_sum_and_move_back_to_where_they_came_from() -> None:
    cell = np.arange(60)
    table = np.exp(-np.abs(cell[:, None] - cell) / 4.0)
    table /= table.sum(axis=1, keepdims=True)
    true = np.where((cell > 20) & (cell < 35), 100.0, 5.0)
    found = unfold(true @ table, table, (1, 60))
    assert found.sum() == pytest.approx((true @ table).sum())
    assert np.abs(found - true).sum() < 0.65 * np.abs(true @ table - true).sum()


def test_answers_that_nobody_can_give_do_no_harm() -> None:
    table = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert unfold(np.array([4.0, 0.0]), table, (1, 2)).tolist() == [2.0, 2.0]
    assert unfold(np.zeros(2), table, (1, 2)).tolist() == [0.0, 0.0]


def test_the_stated_error_is_that_of_reports_drawn_anew_from_the_estimate() -> None:
    """Mean square error over 60 sets of 4,000 reports, drawn as if the estimate were the truth, with other seeds."""
    grid = Grid(0.0, 0.0, 100.0, 100.0, 12, 10)
    x, y = (axis.ravel() for axis in np.meshgrid(*grid.centres()))
    table = np.exp(-np.hypot(x[:, None] - x, y[:, None] - y) / 120.0)
    channel = FiniteChannel(1 / 120.0, grid, table / table.sum(axis=1, keepdims=True))
    hills = np.exp(-((x - 350) ** 2 + (y - 300) ** 2) / 80_000) + np.exp(-((x - 900) ** 2 + (y - 700) ** 2) / 80_000)

    def estimate(true: Array, seed: int) -> DensityEstimate:
        people = round(float(true.sum()))
        chance = true @ channel.table
        drawn = np.random.default_rng(seed).multinomial(people, chance / chance.sum())
        cell = np.repeat(np.arange(grid.size), drawn)
        names, nothing = np.arange(people).astype(str), Guarantee.none("a test")
        points = Points(0.0, "test", nothing, names, x[cell], y[cell], channel, 1e-9)
        return density_from_points(points, Region(0.0, 0.0, 0.1, 0.1))

    first = estimate(4000 * hills / hills.sum(), 1)
    assert first.count.sum() == pytest.approx(4000)
    error = np.array([estimate(first.count, seed).count - first.count for seed in range(100, 160)])
    made = (error**2).mean(axis=0)
    assert first.variance.mean() == pytest.approx(made.mean(), rel=0.3)
    assert np.corrcoef(first.variance, made)[0, 1] > 0.8  # cell by cell: larger where people are


def test_cells_that_are_empty_at_the_start_stay_empty() -> None:
    start = np.array([1.0, 0.0, 1.0])
    found = deconvolve(np.ones(3), np.eye(3), (1, 3), passes=5, smoothing_cells=0.5, start=start)
    assert found[1] == 0.0
    assert found.sum() == pytest.approx(3.0)
