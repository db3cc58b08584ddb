"""How many workers are where, worked out from noisy reports: the noise is taken out again, on average.

A report is a place plus noise of a public law f, so reports have the density λ * f (convolution), and in Fourier space
λ = reports / f. Where f is small that division blows chance up, so it is tempered: with residuals about an even spread
over the region, the filter is H = f / (f² + μ|ω|⁴), the answer of a smoothness penalty. The weight μ is the one with
the least unbiased estimate of the predictive risk, which reads the reports and their number alone: all public.

How far off the estimate is shows a replay (parametric bootstrap): reports are drawn anew as if the estimate were the
truth, and what the same steps make of them is held against it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from geodp.geometry import Array, Grid, Region
from geodp.public.channels import FiniteChannel
from geodp.public.release import DensityEstimate, Points
from geodp.server.em_deconvolution import unfolded
from geodp.server.reports_on_torus import ReportsOnTorus

MOST_CELLS_PER_SIDE = 200
_CELLS_PER_SCALE = 2.0  # cells per 1/ε: far finer than anything that can be seen through the noise
_SHARP_CELLS_PER_SIDE = 100  # grid for reports without noise
_ROUGHNESS_PER_DECADE = 4  # weights tried, per factor of ten
_PASSES = 5  # of putting clamped reports back
_REPLAYS = 24
_REPLAY_SEED = 0  # any will do; fixed, so that the same reports always give the same plan


@lru_cache(maxsize=4)  # one release serves the batches of offers until the next one
def density_from_points(points: Points, region: Region) -> DensityEstimate:
    """Estimate the density of workers over the region from what their phones reported."""
    if isinstance(points.channel, FiniteChannel):
        return unfolded(points, points.channel)
    grid = Grid.fit(region, _cell_m(points, region))
    reports = ReportsOnTorus.of(points, grid, region)
    even = _even_spread(reports, region)
    counts, predicted = np.zeros(grid.size), _predicted(reports, even)
    for _ in range(_PASSES if reports.clamped else 1):
        solved = _Deconvolution(reports, reports.counts(predicted), even)
        counts = onto_simplex(solved.estimate(), float(points.size))
        predicted = _predicted(reports, _in_corner(reports, counts))
    west, south, east, north = grid.edges()
    return DensityEstimate(
        time_s=points.time_s,
        mechanism=points.mechanism,
        guarantee=points.guarantee,
        west_m=west,
        south_m=south,
        east_m=east,
        north_m=north,
        count=counts,
        noise_scale=np.zeros(grid.size),
        floor_per_m2=points.floor_per_m2,
        grid=grid,
        variance=_replayed_error(solved, counts, predicted),
    )


def onto_simplex(values: Array, total: float) -> Array:
    """Return the nearest values that are not negative and add up to the total.

    The truth is such a point and the set is convex, so this can only bring an estimate nearer to the truth (in squared
    error). It takes the same amount off every value that stays above zero.
    """
    if total <= 0:
        return np.zeros_like(values)
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, values.size + 1)
    kept = np.flatnonzero(falling > excess)[-1]
    return np.asarray(np.maximum(values - excess[kept], 0.0))


def _cell_m(points: Points, region: Region) -> float:
    """Return a cell size well below what the noise lets one see; without noise a hundredth of the region."""
    side = max(region.width_m, region.height_m)
    if points.channel is None:
        return side / _SHARP_CELLS_PER_SIDE
    return float(max(1 / (_CELLS_PER_SCALE * points.channel.epsilon_per_m), side / MOST_CELLS_PER_SIDE))


def _even_spread(reports: ReportsOnTorus, region: Region) -> Array:
    """Return all workers spread evenly over the cells whose centre lies in the region."""
    x, y = reports.grid.centres()
    inside = region.contains(*np.meshgrid(x, y)).astype(np.float64).ravel()
    if not inside.any():
        inside[:] = 1.0
    return _in_corner(reports, inside * reports.points.size / inside.sum())


def _in_corner(reports: ReportsOnTorus, counts: Array) -> Array:
    whole = np.zeros((reports.rows, reports.columns))
    whole[: reports.grid.rows, : reports.grid.columns] = counts.reshape(reports.grid.rows, reports.grid.columns)
    return whole


def _predicted(reports: ReportsOnTorus, workers: Array) -> Array:
    """Return how many reports a spread of workers leads one to expect in each cell of the torus."""
    return np.asarray(np.fft.irfft2(np.fft.rfft2(workers) * reports.law, s=workers.shape))


def _replayed_error(solved: _Deconvolution, counts: Array, predicted: Array) -> Array:
    """Return the mean square error per cell, smoothed over as many cells as err together."""
    from scipy.ndimage import gaussian_filter

    reports = round(solved.reports)
    if reports == 0:
        return np.zeros_like(counts)
    rng = np.random.default_rng(_REPLAY_SEED)
    chance = np.maximum(predicted, 0.0).ravel()
    chance /= chance.sum()
    square = np.zeros_like(counts)
    for _ in range(_REPLAYS):
        replay = rng.multinomial(reports, chance).reshape(predicted.shape).astype(np.float64)
        square += (onto_simplex(solved.estimate(replay), float(reports)) - counts) ** 2
    shape = (solved.grid.rows, solved.grid.columns)
    sigma = np.sqrt(solved.cells_per_patch())
    return np.asarray(gaussian_filter(square.reshape(shape) / _REPLAYS, sigma, mode="nearest")).ravel()


class _Deconvolution:
    """The tempered division by the law of the noise, and what chance makes of it."""

    def __init__(self, reports: ReportsOnTorus, counts: Array, even: Array) -> None:
        self.grid, self.law, self.counts, self.even = reports.grid, reports.law, counts, even
        self.bend = reports.frequency**4
        self.reports = float(counts.sum())
        self.predicted_even = np.fft.rfft2(even) * self.law
        self.residual = np.fft.rfft2(counts) - self.predicted_even
        self.times = np.full(self.law.shape, 2.0)  # half of the frequencies is not stored: its conjugates are
        self.times[:, 0] = 1.0
        if counts.shape[1] % 2 == 0:
            self.times[:, -1] = 1.0
        self.kernel = self._filter()

    def _filter(self) -> Array:
        """Return H for the smoothness weight of the least estimated risk.

        For each frequency the risk of predicting the reports is |1 - Hf|²·|signal|² + N·(Hf)², with N, the number of
        reports, the level of chance (Poisson) and |residual|² - N an unbiased estimate of |signal|².
        """
        power = np.abs(self.residual) ** 2 - self.reports
        risks = []
        weights = self._weights()
        for roughness in weights:
            kept = self.law**2 / (self.law**2 + roughness * self.bend)
            risks.append(float((self.times * ((1 - kept) ** 2 * power + self.reports * kept**2)).sum()))
        best = weights[int(np.argmin(risks))]
        return np.asarray(self.law / (self.law**2 + best * self.bend))

    def _weights(self) -> Array:
        """Return weights from one that smooths hardly anything to one that leaves the even spread alone."""
        lowest, highest = self.bend[self.bend > 0].min(), self.bend.max()
        first, last = 2 * np.log10(np.abs(self.law).min() + 1e-9) - np.log10(highest), 3 - np.log10(lowest)
        return np.asarray(10 ** np.linspace(first, last, int((last - first) * _ROUGHNESS_PER_DECADE) + 2))

    def estimate(self, counts: Array | None = None) -> Array:
        """Return workers per cell of the region, for other reports too; some may be negative.

        They are right on average up to the smoothing: E = λ for every frequency with μ|ω|⁴ far below f².
        """
        residual = self.residual if counts is None else np.fft.rfft2(counts) - self.predicted_even
        found = self.even + np.fft.irfft2(residual * self.kernel, s=self.counts.shape)
        return found[: self.grid.rows, : self.grid.columns].ravel()

    def cells_per_patch(self) -> float:
        """Return Σρ², with ρ the correlation of the errors of two cells: n Σ|H|⁴ / (Σ|H|²)² by Parseval."""
        power = self.kernel**2
        return float(self.counts.size * (self.times * power**2).sum() / (self.times * power).sum() ** 2)
