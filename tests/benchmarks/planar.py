"""A million reports with planar noise, and a million noisy counts, against numpy alone and against Lambert's W."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import lambertw

from geodp.device.planar_geometric import PlanarGeometric
from geodp.device.planar_laplace import PlanarLaplace
from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.privacy.noise import SimulatedNoise
from geodp.privacy.primitives import laplace_counts
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import best_cpu_s, cpu_s

POINTS = 1_000_000
EPSILON_PER_M = 0.01
RELEASED = 5_000


def measure() -> Iterator[Figure]:
    """Report a million places that are spread over 20 km, and count in a million cells."""
    rng = np.random.default_rng(0)
    x_m, y_m = rng.uniform(-10_000, 10_000, (2, POINTS))
    device, grid = PlanarLaplace(epsilon_per_m=EPSILON_PER_M), PlanarGeometric(epsilon_per_m=EPSILON_PER_M)
    ours, on_grid, gamma, inverse = best_cpu_s(
        lambda: device.report(x_m, y_m, rng=rng),
        lambda: grid.report(x_m, y_m, rng=rng),
        lambda: _by_gamma(x_m, y_m, rng),
        lambda: _by_lambert(x_m, y_m, rng),
        repeats=7,
    )
    yield Figure("planar_laplace_1000000_s", ours, against="numpy_gamma", yardstick=gamma, at_least=1 / 1.3)
    yield Figure("planar_laplace_1000000_s", ours, against="lambert_w", yardstick=inverse, at_least=3)
    yield Figure("planar_geometric_1000000_s", on_grid, against="numpy_gamma", yardstick=gamma)
    yield _released()
    yield from _counts(rng)


def _by_gamma(x_m: Array, y_m: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    radius, angle = rng.gamma(2.0, 1 / EPSILON_PER_M, POINTS), rng.uniform(0, 2 * np.pi, POINTS)
    return x_m + radius * np.cos(angle), y_m + radius * np.sin(angle)


def _by_lambert(x_m: Array, y_m: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Invert the radius' distribution function: r = -(W₋₁((p - 1)/e) + 1)/ε."""
    share, angle = rng.random(POINTS), rng.uniform(0, 2 * np.pi, POINTS)
    radius = -(lambertw((share - 1) / np.e, -1).real + 1) / EPSILON_PER_M
    return x_m + radius * np.cos(angle), y_m + radius * np.sin(angle)


def _released() -> Figure:
    """Draw releasable reports; there is nothing to compare them with."""
    try:
        from geodp.privacy.release_noise import ReleaseNoise

        noise = ReleaseNoise()
    except UsageError:
        return Figure("planar_geometric_release_us_per_report", None, note="OpenDP is not installed")
    device = PlanarGeometric(epsilon_per_m=EPSILON_PER_M)
    spent, _ = cpu_s(lambda: device.report(np.zeros(RELEASED), 0.0, rng=noise))
    return Figure("planar_geometric_release_us_per_report", spent / RELEASED * 1e6)


def _counts(rng: np.random.Generator) -> Iterator[Figure]:
    counts, noise = rng.integers(0, 50, POINTS), SimulatedNoise(rng)
    ours, numpy = best_cpu_s(
        lambda: laplace_counts(counts, epsilon=0.5, sensitivity=1.0, noise=noise),
        lambda: rng.laplace(0.0, 2.0, POINTS),
        repeats=9,
    )
    yield Figure("laplace_counts_1000000_s", ours, against="generator_laplace", yardstick=numpy, at_least=1 / 1.2)
