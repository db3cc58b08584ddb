from typing import Any

import numpy as np
import pytest

from geodp.geometry import Array, Grid
from geodp.public.guarantee import Guarantee
from geodp.public.norm_sub import onto_simplex
from geodp.public.release import Points
from geodp.server.density_from_points import (
    Deconvolution,
    ReportsOnTorus,
    density_from_points,
    spread_evenly,
)
from tests.server.reports import REGION, Hills, names, reported

EPSILON = 0.005  # mean displacement 400 m
WORKERS = 10_000


def centres(grid: Grid) -> tuple[Array, Array]:
    x, y = grid.centres()
    return np.tile(x, grid.rows), np.repeat(y, grid.columns)


def absolute_error(density: Array, grid: Grid) -> float:
    """Share of workers in the wrong place: the integral of |estimate - truth| for one worker."""
    true = Hills().density(*centres(grid))
    return float(np.abs(density / WORKERS - true).sum() * grid.cell_area_m2)


@pytest.mark.parametrize(
    "fields",
    [
        {"epsilon_per_m": EPSILON, "clamp": False},
        {"epsilon_per_m": EPSILON},
        {"epsilon_per_m": EPSILON, "cell_m": 60.0},
        {"epsilon_per_m": EPSILON, "kind": "planar_geometric", "cell_m": 60.0},
        {"epsilon_per_m": EPSILON, "remap": True},
    ],
    ids=["free", "clamped", "rounded", "geometric", "remapped"],
)
def test_a_known_density_is_recovered_better_than_by_counting_reports(fields: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    points = reported(*Hills().sample(WORKERS, rng), rng, **fields)
    estimate = density_from_points(points, REGION)
    assert estimate.count.sum() == pytest.approx(WORKERS)
    assert (estimate.count >= 0).all()
    blurred = _kernel_estimate(points, estimate.grid)
    ours = absolute_error(estimate.count / estimate.grid.cell_area_m2, estimate.grid)
    assert ours < 0.8 * absolute_error(blurred, estimate.grid)


def _kernel_estimate(points: Points, grid: Grid) -> Array:
    """The usual estimate that knows nothing of the noise: a kernel about every report, of the best of five widths."""
    from scipy.ndimage import gaussian_filter

    counts = grid.count(points.x_m, points.y_m).reshape(grid.rows, grid.columns) / grid.cell_area_m2
    tries = [
        gaussian_filter(counts.astype(float), width / grid.cell_x_m).ravel() for width in (100, 200, 300, 400, 600)
    ]
    return min(tries, key=lambda density: absolute_error(density, grid))


def test_with_many_reports_the_noise_is_taken_out_altogether() -> None:
    """400,000 reports: counting them shows 60 to 80 % of each hill's top, the estimate all of it."""
    hills, rng, many = Hills(), np.random.default_rng(0), 400_000
    points = reported(*hills.sample(many, rng), rng, epsilon_per_m=EPSILON)
    estimate = density_from_points(points, REGION)
    x, y = centres(estimate.grid)
    counted = estimate.grid.count(points.x_m, points.y_m)
    for centre in hills.centres:
        near = np.hypot(x - centre[0], y - centre[1]) < 200
        true = many * hills.density(x[near], y[near]).mean() * estimate.grid.cell_area_m2
        assert counted[near].mean() < 0.82 * true
        assert estimate.count[near].mean() == pytest.approx(true, rel=0.05)


def test_the_linear_estimate_is_right_on_average_up_to_the_smoothing() -> None:
    """Mean of 100 estimates with one filter against that filter on the true density: 5 sd, false alarm < 1e-6.

    (Cells err together: 17,955 of them are about 1,000 independent ones, so 5.5 sd allow for the largest of all.)
    """
    hills, rng = Hills(), np.random.default_rng(0)
    grid = Grid.fit(REGION, 100.0)
    parts: list[Array] = []
    for _ in range(100):
        points = reported(*hills.sample(WORKERS, rng), rng, epsilon_per_m=EPSILON, clamp=False)
        torus = ReportsOnTorus.of(points, grid, REGION)
        even = spread_evenly(torus, REGION)
        if not parts:
            solved = Deconvolution(torus, torus.counts(even), even)
        parts.append(solved.estimate(torus.counts(even)))
    true = np.zeros_like(even)
    workers = WORKERS * hills.density(*centres(grid)).reshape(grid.rows, grid.columns) * grid.cell_area_m2
    true[: grid.rows, : grid.columns] = workers * (WORKERS / workers.sum())
    expected = solved.estimate(np.fft.irfft2(np.fft.rfft2(true) * torus.law, s=true.shape))
    error = np.std(parts, axis=0) / np.sqrt(len(parts))
    assert np.abs((np.mean(parts, axis=0) - expected) / error).max() < 5.5


def test_an_even_world_stays_even() -> None:
    rng = np.random.default_rng(5)
    estimate = density_from_points(reported(*REGION.sample(WORKERS, rng), rng, epsilon_per_m=EPSILON), REGION)
    assert estimate.count.std() < 0.1 * estimate.count.mean()


def test_clamped_reports_are_put_back_beyond_the_edge() -> None:
    """Half of all workers live along the western edge, so that most clamped reports come from there."""
    rng = np.random.default_rng(2)
    west = REGION.box_m[0]
    x, y = REGION.sample(WORKERS, rng)
    x[: WORKERS // 2] = west + rng.uniform(0, 1000, WORKERS // 2)
    band_m = 2000
    clamped = density_from_points(reported(x, y, np.random.default_rng(9), epsilon_per_m=EPSILON), REGION)
    free = density_from_points(reported(x, y, np.random.default_rng(9), epsilon_per_m=EPSILON, clamp=False), REGION)
    true = np.count_nonzero(x < west + band_m)

    def along_the_edge(estimate: Any) -> float:
        return float(estimate.count[(estimate.west_m + estimate.east_m) / 2 < west + band_m].sum())

    assert along_the_edge(clamped) == pytest.approx(along_the_edge(free), rel=0.05)
    assert along_the_edge(clamped) == pytest.approx(true, rel=0.08)


def test_the_stated_error_is_the_error_made() -> None:
    """Mean square error over the region against the stated variance, over eight sets of reports."""
    hills, ratios = Hills(), []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        estimate = density_from_points(reported(*hills.sample(WORKERS, rng), rng, epsilon_per_m=EPSILON), REGION)
        law = estimate.density_law(*centres(estimate.grid))
        made = (law.estimate_per_m2 - WORKERS * hills.density(*centres(estimate.grid))) ** 2
        ratios.append(made.mean() / law.variance.mean())
    assert 0.5 < np.mean(ratios) < 2


def test_exact_reports_need_no_law() -> None:
    rng = np.random.default_rng(1)
    x, y = Hills().sample(WORKERS, rng)
    points = Points(0.0, "none", Guarantee.none("a test"), names(WORKERS), x, y, None, 1e-6)
    estimate = density_from_points(points, REGION)
    assert estimate.count.sum() == pytest.approx(WORKERS)
    assert absolute_error(estimate.count / estimate.grid.cell_area_m2, estimate.grid) < 0.2


def test_no_reports_leave_nothing_but_the_floor() -> None:
    nobody = Points(0.0, "none", Guarantee.none("a test"), names(0), np.empty(0), np.empty(0), None, 2e-6)
    estimate = density_from_points(nobody, REGION)
    assert estimate.density([0.0], [0.0]).tolist() == [2e-6]


def test_projection_keeps_the_sum_and_never_moves_away_from_the_truth() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        truth = rng.exponential(1.0, 40) * (rng.random(40) < 0.5)
        guess = truth + rng.normal(0, 1, 40)
        projected = onto_simplex(guess, float(truth.sum()))
        assert projected.sum() == pytest.approx(truth.sum())
        assert (projected >= 0).all()
        assert ((projected - truth) ** 2).sum() <= ((guess - truth) ** 2).sum() + 1e-12
    assert onto_simplex(np.array([3.0, 1.0, -2.0]), 2.0).tolist() == [2.0, 0.0, 0.0]
