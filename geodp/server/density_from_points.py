"""How many workers are where, worked out from noisy reports: the noise is taken out again, on average.

A report is a place plus noise of a public law f, so reports have the density λ * f (convolution), and in Fourier space
λ = reports / f. Where f is small that division blows chance up, so it is tempered: with residuals about an even spread
over the region, the filter is H = f / (f² + μ|ω|⁴), the answer of a smoothness penalty. The weight μ is the one with
the least unbiased estimate of the predictive risk, which reads the reports and their number alone: all public.

How far off the estimate is shows a replay (parametric bootstrap): reports are drawn anew as if the estimate were the
truth, and what the same steps make of them is held against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Grid, Region
from geodp.public.channels import Channel, FiniteChannel, PlanarGeometricChannel
from geodp.public.em_deconvolution import deconvolve
from geodp.public.norm_sub import onto_simplex
from geodp.public.place_sets import Cloaks, PlaceSets
from geodp.public.release import DensityEstimate, Points
from geodp.public.tree_metric import TreeChannel

MOST_CELLS_PER_SIDE = 200
_CELLS_PER_SCALE = 2.0  # cells per 1/ε: far finer than anything that can be seen through the noise
_SHARP_CELLS_PER_SIDE = 100  # grid for reports without noise
_ROUGHNESS_PER_DECADE = 4  # weights tried, per factor of ten
_PASSES = 5  # of putting clamped reports back
_REPLAYS = 24
_EM_PASSES = 12
_EM_SMOOTHING_CELLS = 0.6
_EM_REPLAYS = 12
_MOST_SQUARES = 2_500  # of a tree: every one is compared with every other
_REPLAY_SEED = 0  # any will do; fixed, so that the same reports always give the same plan


@lru_cache(maxsize=4)  # one release serves the batches of offers until the next one
def density_from_points(points: Points, region: Region) -> DensityEstimate:
    """Estimate the density of workers over the region from what their phones reported."""
    if isinstance(points, PlaceSets):
        return _by_spreading(points, Grid.fit(region, _cell_m(points, region)))
    parts = [part for part in points.of_each_law() if part.size]
    if len(parts) > 1:
        return _from_groups(points, [density_from_points(part, region) for part in parts], [one.size for one in parts])
    if isinstance(points.channel, FiniteChannel):
        return _by_sharing_out(points, points.channel)
    if isinstance(points.channel, TreeChannel):
        return _by_sharing_out(points, points.channel.coarse(_MOST_SQUARES))
    grid = Grid.fit(region, _cell_m(points, region))
    reports = ReportsOnTorus.of(points, grid, region)
    even = spread_evenly(reports, region)
    counts, predicted = np.zeros(grid.size), _predict_reports(reports, even)
    for _ in range(_PASSES if reports.clamped else 1):
        solved = Deconvolution(reports, reports.counts(predicted), even)
        counts = onto_simplex(solved.estimate(), float(points.size))
        predicted = _predict_reports(reports, _in_corner(reports, counts))
    error = _replay_error(solved, counts, predicted)
    return _estimate(points, grid, counts, error, max(solved.cells_per_patch(), 1.0))


def _from_groups(points: Points, estimates: list[DensityEstimate], sizes: list[int]) -> DensityEstimate:
    """Put together what each group's reports say by themselves, by how well they say it.

    Groups are drawn by lot, so every group is spread as everyone is: its estimate, scaled up, is one of all. Weights
    are inverse mean square errors over the whole region: one each, since errors by cell would follow the estimates.
    """
    grid = max((one.grid for one in estimates), key=lambda grid: grid.size)
    x, y = grid.all_centres()
    scales = [points.size / size for size in sizes]
    laws = [one.density_law(x, y) for one in estimates]
    area = grid.cell_area_m2
    counts = [scale * area * law.estimate_per_m2 for scale, law in zip(scales, laws, strict=True)]
    errors = [(scale * area) ** 2 * law.variance for scale, law in zip(scales, laws, strict=True)]
    weight = np.array([1 / max(float(error.mean()), np.finfo(np.float64).tiny) for error in errors])
    weight /= weight.sum()
    together = sum((one * w for one, w in zip(counts, weight, strict=True)), start=np.zeros(grid.size))
    if together.sum() > 0:
        together *= points.size / together.sum()  # reading between other cells' centres loses a little at the edges
    error = sum((one * w**2 for one, w in zip(errors, weight, strict=True)), start=np.zeros(grid.size))
    patches = [one.err_together * one.grid.cell_area_m2 / area for one in estimates]
    return _estimate(points, grid, together, error, max(1.0, float(np.dot(patches, weight))))


def _by_sharing_out(points: Points, channel: FiniteChannel) -> DensityEstimate:
    """Estimate workers per cell of a finite channel; the error is that of replaying the estimate itself."""
    grid = channel.cells
    cell = grid.locate(points.x_m, points.y_m)
    counts = np.bincount(cell[cell >= 0], minlength=grid.size).astype(np.float64)

    def unfold(reported: Array) -> Array:
        shape = (grid.rows, grid.columns)
        return deconvolve(reported, channel.table, shape, passes=_EM_PASSES, smoothing_cells=_EM_SMOOTHING_CELLS)

    found = unfold(counts)
    reports, chance = round(counts.sum()), found @ channel.table
    rng = np.random.default_rng(_REPLAY_SEED)
    replays = rng.multinomial(reports, chance / max(float(chance.sum()), 1.0), size=_EM_REPLAYS if reports else 1)
    error = unfold(replays.astype(np.float64)) - found
    return _estimate(points, grid, found, (error**2).mean(axis=0))


def _by_spreading(points: PlaceSets, grid: Grid) -> DensityEstimate:
    """Spread every report evenly over its set of places; the error is chance alone, as if that belief were right."""
    if isinstance(points, Cloaks):
        across = _share_between(points.west_m, points.east_m, grid.west_m, grid.cell_x_m, grid.columns)
        along = _share_between(points.south_m, points.north_m, grid.south_m, grid.cell_y_m, grid.rows)
        counts = np.asarray(along.T @ across).ravel()
        return _estimate(points, grid, counts, np.maximum(counts - np.asarray(along.T**2 @ across**2).ravel(), 0.0))
    x_m, y_m = points.list_places()
    cell = grid.locate(x_m, y_m)
    row = np.broadcast_to(np.arange(len(cell))[:, None], cell.shape)
    key, places = np.unique(row[cell >= 0] * grid.size + cell[cell >= 0], return_counts=True)
    share = places / max(cell.shape[1], 1)
    counts = np.bincount(key % grid.size, share, grid.size).astype(np.float64)
    variance = np.bincount(key % grid.size, share * (1 - share), grid.size).astype(np.float64)
    return _estimate(points, grid, counts, variance)


def _share_between(low_m: Array, high_m: Array, edge_m: float, cell_m: float, size: int) -> Array:
    """Return the share of each interval that lies in each column (or row) of a grid."""
    low, high = (low_m - edge_m) / cell_m, (high_m - edge_m) / cell_m
    high = np.maximum(high, low + 1e-6)
    begin = np.arange(size, dtype=np.float64)
    shared = np.minimum(high[:, None], begin + 1) - np.maximum(low[:, None], begin)
    return np.asarray(np.maximum(shared, 0.0) / (high - low)[:, None])


def _estimate(points: Points, grid: Grid, counts: Array, variance: Array, err_together: float = 1.0) -> DensityEstimate:
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
        variance=variance,
        err_together=err_together,
    )


def _cell_m(points: Points, region: Region) -> float:
    """Return a cell size well below what the noise lets one see; without noise a hundredth of the region."""
    side = max(region.width_m, region.height_m)
    if points.channel is None:
        return side / _SHARP_CELLS_PER_SIDE
    return float(max(1 / (_CELLS_PER_SCALE * points.channel.epsilon_per_m), side / MOST_CELLS_PER_SIDE))


def spread_evenly(reports: ReportsOnTorus, region: Region) -> Array:
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


def _predict_reports(reports: ReportsOnTorus, workers: Array) -> Array:
    """Return how many reports a spread of workers leads one to expect in each cell of the torus."""
    return np.asarray(np.fft.irfft2(np.fft.rfft2(workers) * reports.law, s=workers.shape))


def _replay_error(solved: Deconvolution, counts: Array, predicted: Array) -> Array:
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


class Deconvolution:
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


_MARGIN = 4.74  # in 1/ε: 95 % of reports lie nearer to their place, the rest wrap around
_LEAST_MARGIN = 0.1  # of the region's longer side: smoothing must not reach from one edge to the other
_EVEN_X, _EVEN_Y = 0.7548776662466927, 0.5698402909980532  # multiples of these fill a square evenly (R2 sequence)
_EDGE_M = 1e-6  # what is clamped lies on the edge up to rounding


@dataclass(eq=False)
class ReportsOnTorus:
    """Counts of reports per cell; the region is the corner of `grid.rows` by `grid.columns` cells."""

    points: Points
    grid: Grid
    rows: int
    columns: int
    inside: Array = field(init=False)
    """Counts of the reports that were not clamped."""
    law: Array = field(init=False)
    """Characteristic function of a report's displacement, at the frequencies of `rfft2`."""
    frequency: Array = field(init=False)
    """|ω| of each frequency, radians per metre."""

    @classmethod
    def of(cls, points: Points, grid: Grid, region: Region) -> ReportsOnTorus:
        """Count reports on a torus with room for the noise around the region."""
        from scipy.fft import next_fast_len

        side = max(region.width_m, region.height_m)
        reach_m = 0.0 if points.channel is None else _MARGIN / points.channel.epsilon_per_m
        margin_m = min(max(reach_m, _LEAST_MARGIN * side), side)
        columns = next_fast_len(grid.columns + 2 * int(np.ceil(margin_m / grid.cell_x_m)), real=True)
        rows = next_fast_len(grid.rows + 2 * int(np.ceil(margin_m / grid.cell_y_m)), real=True)
        return cls(points, grid, rows, columns)

    def __post_init__(self) -> None:
        across: Array = np.asarray(2 * np.pi * np.fft.rfftfreq(self.columns, self.grid.cell_x_m))[None, :]
        along: Array = np.asarray(2 * np.pi * np.fft.fftfreq(self.rows, self.grid.cell_y_m))[:, None]
        self.frequency = np.hypot(across, along)
        self.law = _finish_law(self.points.channel, across, along)
        x, y = _spread_over_lattice(self.points)
        self._column = np.floor((x - self.grid.west_m) / self.grid.cell_x_m).astype(np.int64) % self.columns
        self._row = np.floor((y - self.grid.south_m) / self.grid.cell_y_m).astype(np.int64) % self.rows
        self._side_x, self._side_y = _sides(self.points)
        self.inside = self._count_reports((self._side_x == 0) & (self._side_y == 0))

    @property
    def clamped(self) -> bool:
        """Whether some reports lie on an edge to which they were moved."""
        return bool(self._side_x.any() or self._side_y.any())

    def counts(self, predicted: Array) -> Array:
        """Return all reports per cell of the torus, clamped ones put back beyond the edge as predicted."""
        total = self.inside.copy()
        predicted = np.maximum(predicted, 1e-12 * predicted.max())
        for side_x, side_y in product((-1, 0, 1), repeat=2):
            mine = (self._side_x == side_x) & (self._side_y == side_y)
            if (side_x or side_y) and mine.any():
                part = np.ix_(
                    _beyond(side_y, self.grid.rows, self.rows), _beyond(side_x, self.grid.columns, self.columns)
                )
                axes = tuple(axis for axis, side in enumerate((side_y, side_x)) if side)
                number = self._count_reports(mine).sum(axis=axes, keepdims=True)
                total[part] += number * predicted[part] / predicted[part].sum(axis=axes, keepdims=True)
        return total

    def _count_reports(self, mine: npt.NDArray[np.bool_]) -> Array:
        cell = self._row[mine] * self.columns + self._column[mine]
        return np.bincount(cell, minlength=self.rows * self.columns).reshape(self.rows, self.columns).astype(np.float64)


def _beyond(side: int, inside: int, total: int) -> npt.NDArray[np.int64]:
    """Return the cells of the margin on one side: the far one follows the region, the near one wraps around; 0: all."""
    half = inside + (total - inside) // 2
    return np.arange(total) if side == 0 else np.arange(inside, half) if side > 0 else np.arange(half, total)


def _sides(points: Points) -> list[npt.NDArray[np.int8]]:
    """Return -1, 0 or 1 for reports on the lower edge, on none, or on the upper edge of the box they are clamped to."""
    low_x, low_y, high_x, high_y = getattr(points.channel, "box_m", None) or (-np.inf, -np.inf, np.inf, np.inf)
    # on a lattice the outermost points hold what was clamped to them
    edge = (getattr(points.channel, "cell_m", None) or 0.0) * (1 - 1e-9) + _EDGE_M
    sides = ((points.x_m, low_x, high_x), (points.y_m, low_y, high_y))
    return [(at > high - edge).astype(np.int8) - (at < low + edge).astype(np.int8) for at, low, high in sides]


def _spread_over_lattice(points: Points) -> tuple[Array, Array]:
    cell_m = getattr(points.channel, "cell_m", None)
    if cell_m is None:
        return points.x_m, points.y_m
    number = np.arange(points.size)
    x = points.x_m + cell_m * ((number * _EVEN_X) % 1.0 - 0.5)
    y = points.y_m + cell_m * ((number * _EVEN_Y) % 1.0 - 0.5)
    return x, y


def _finish_law(channel: Channel | None, across: Array, along: Array) -> Array:
    """Return the law of place to spread-out report; each rounding, and the spreading, is a factor sinc·sinc."""
    if channel is None:
        return np.ones((along.size, across.size))
    law = channel.characteristic(across, along)
    cell_m = getattr(channel, "cell_m", None)
    if cell_m is None:
        return law
    cell = np.sinc(across * cell_m / (2 * np.pi)) * np.sinc(along * cell_m / (2 * np.pi))
    # planar geometric noise starts from a rounded place, which its own law does not count
    return np.asarray(law * cell * (cell if isinstance(channel, PlanarGeometricChannel) else 1.0))
