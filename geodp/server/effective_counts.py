"""How many workers the server may count on in each cell, given a noisy count and the public law of its noise.

`effective` counts are those that give the right chance of "nobody accepts" on average: with N the true number in a
cell, E[(1 - p)^N | noisy count] = (1 - p)^n_eff. Because refusals multiply, a lack of workers hurts more than a surplus
helps, so n_eff is below the mean; and where the count is mostly noise, n_eff falls back to what cells hold in general.

The prior is empirical Bayes: a gamma law about what the cells around suggest, with the variation that all cells show
beyond the noise, and a small share of something wider. The cells around are found by the graph of cells that share an
edge. It reads the release alone, once, and serves every task until the next release: post-processing, at no cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.messages import Rectangle
from geodp.public.release import Cells, Contours, DensityEstimate

_LEAST_VARIATION = 0.05  # coefficient of variation of the prior when the release shows none
_HEAVY_SHARE = 0.05  # of the prior's heavy tail
_LARGEST_PROBABILITY = 0.9  # beyond it (1 - p)^N asks only whether a cell is empty, and a line would mislead
_FAR = 500.0  # beyond it the incomplete gamma function is its asymptotic series
_LEAST_OF_MEAN = 0.01  # no place is taken to be emptier than this share of the mean
_LEAST_SHAPE = 0.02  # of the gamma law: a prior that says "nearly all cells are empty" cannot be told from this one


@dataclass(frozen=True, eq=False)
class EffectiveCounts:
    """Count of each cell as a line in the probability of acceptance: `at_zero` - `fall` · p."""

    at_zero: list[float]
    fall: list[float]


def released_counts(release: Cells) -> EffectiveCounts:
    """Take the noisy counts at their word; negative ones count as none."""
    count, _ = counts_and_noise(release)
    return EffectiveCounts(np.maximum(count, 0.0).tolist(), [0.0] * count.size)


@lru_cache(maxsize=4)
def effective_counts(release: Cells, probability: float) -> EffectiveCounts:
    """Return effective counts, exact at p = 0 and at the given probability (at most 0.9), and on a line between."""
    probability = min(probability, _LARGEST_PROBABILITY)
    count, variance = counts_and_noise(release)
    noisy = variance > 0
    at_zero, at_p = np.maximum(count, 0.0), np.maximum(count, 0.0)
    if noisy.any():
        # Smoothed counts share their noise with the cells around, which therefore cannot vouch for them.
        smoothed = isinstance(release, Contours | DensityEstimate)
        prior = prior_of_counts(count, variance, release.area_m2, None if smoothed else cell_graph(release))
        refusal = -float(np.log1p(-probability))
        noise = np.sqrt(np.where(noisy, variance, 1.0) / 2)
        small = 1e-4 * refusal
        at_zero = np.where(noisy, -log_mean_refusal(count, noise, prior, small) / small, at_zero)
        at_p = np.where(noisy, -log_mean_refusal(count, noise, prior, refusal) / refusal, at_p)
    fall = np.maximum(at_zero - at_p, 0.0) / probability
    return EffectiveCounts(at_zero.tolist(), fall.tolist())


@dataclass(frozen=True, eq=False)
class Gamma:
    """A gamma law of the true count of each cell, and its share in a mixture."""

    shape: float
    scale: Array | float
    share: float = 1.0


def prior_of_counts(count: Array, variance: Array, area: Array, graph: CellGraph | None) -> tuple[Gamma, Gamma]:
    """Return the law of true counts that fits noisy ones: about the mean of the cells around, with a common variation.

    Without a graph the mean is that of the whole release.

    A small share of it has tails heavier than the noise: without them a cell that stands out would be taken for noise,
    however far it stands out.
    """
    total = max(float(count.sum()), float(np.sqrt(variance.sum()))) / float(area.sum())
    mean, error = total * area, np.zeros(count.size)
    if graph is not None:
        mean, error = surrounding_mean(count, variance, area, graph)
    weight = 1 / (mean**2 + variance)  # else a few crowded cells would speak for all
    spread, square = float(weight @ ((count - mean) ** 2 - variance - error)), float(weight @ mean**2)
    shape = square / max(spread, _LEAST_VARIATION**2 * square)
    shape = float(np.clip(shape, _LEAST_SHAPE, 1 / _LEAST_VARIATION**2))
    heavy = max(float(count.max()), 4 * float(np.sqrt(variance.max() / 2)), 1e-9)
    return Gamma(shape, mean / shape, 1 - _HEAVY_SHARE), Gamma(1.0, heavy, _HEAVY_SHARE)


def surrounding_mean(count: Array, variance: Array, area: Array, graph: CellGraph) -> tuple[Array, Array]:
    """Return how many workers each cell would hold at the density of the cells around it, and the error of that.

    Around are the cells within two steps, without the cell itself: its own noise must not vouch for it. How much the
    density around tells, against that of the whole release, is what it has told about the other cells (regression).
    """
    from scipy import sparse

    size = count.size
    parts: Any = (np.ones(len(graph.neighbour)), graph.neighbour, graph.first)
    touch: Any = sparse.csr_array(parts, shape=(size, size))
    near: Any = ((touch + touch @ touch) > 0).astype(np.float64)
    near.setdiag(0.0)
    around = np.asarray(near @ area)
    some = np.where(around > 0, around, 1.0)
    total = max(float(count.sum()), float(np.sqrt(variance.sum()))) / float(area.sum())
    density = np.where(around > 0, (near @ count) / some, total)
    noise = np.where(around > 0, (near @ variance) / some**2, 0.0)
    even, offset = total * area, (density - total) * area
    weight = 1 / (variance + even**2 + (density * area) ** 2)
    scale = float(weight @ offset**2)
    share = float(np.clip(weight @ (offset * (count - even)) / scale, 0.0, 1.0)) if scale > 0 else 0.0
    return np.maximum(even + share * offset, _LEAST_OF_MEAN * even), share**2 * noise * area**2


def log_mean_refusal(count: Array, noise: Array, prior: Sequence[Gamma], refusal: float) -> Array:
    """Return ln E[exp(-refusal · N) | count] for N from the prior and count = N + Laplace(noise), by closed form.

    The posterior of N is a sum of N^(shape-1) exp(-N/scale - |N - count|/noise). Below the count such a term is an
    incomplete gamma integral with a rate that may be negative (Kummer's function), above it an ordinary one.
    """
    return _log_mixture(count, noise, prior, refusal) - _log_mixture(count, noise, prior, 0.0)


def _log_mixture(count: Array, noise: Array, prior: Sequence[Gamma], refusal: float) -> Array:
    from scipy.special import gammaln

    parts = [
        np.log(part.share)
        - gammaln(part.shape)
        - part.shape * np.log(part.scale)
        + _log_mass(count, noise, part.shape, 1 / part.scale + refusal)
        for part in prior
    ]
    return np.asarray(np.logaddexp.reduce(parts))


def _log_mass(count: Array, noise: Array, shape: float, rate: Array | float) -> Array:
    """Return ln ∫₀^∞ N^(shape-1) exp(-rate·N - |N - count|/noise) dN."""
    from scipy.special import gammaincc, gammaln, hyp1f1

    above, below = rate + 1 / noise, rate - 1 / noise
    positive = np.maximum(count, 0.0)
    x, z = above * positive, -below * positive
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = (shape - 1) * np.log(x) - x + np.log1p((shape - 1) / x)  # Γ(a, x) for large x, where it underflows
        tail = np.where(x > _FAR, far, np.log(gammaincc(shape, x)) + gammaln(shape)) - shape * np.log(above)
        # 1F1(a; a+1; z) = e^z 1F1(1; a+1; -z): the form with a negative argument neither overflows nor cancels
        kummer = np.where(
            z > 0,
            z + np.log(hyp1f1(1.0, shape + 1, -np.maximum(z, 0.0))),
            np.log(hyp1f1(shape, shape + 1, np.minimum(z, 0.0))),
        )
        head = np.where(count > 0, shape * np.log(positive) - np.log(shape) + kummer - count / noise, -np.inf)
    return np.asarray(np.logaddexp(head, tail + count / noise))


Ids = npt.NDArray[np.int64]
TOUCH_M = 1e-3
"""Edges nearer than this are one edge: cells of a decomposition may differ by a rounding error."""


@dataclass(frozen=True, eq=False)
class CellGraph:
    """Cells of one release with their neighbours; index = the release's own."""

    release: Cells
    rectangle: list[Rectangle]
    area_m2: list[float]
    noise_variance: list[float]
    """Variance of the noise in each cell's count."""
    first: list[int]
    """Cell i touches `neighbour[first[i]:first[i + 1]]`."""
    neighbour: list[int]

    def cells_of(self, x_m: Array, y_m: Array) -> list[int]:
        """Return the cell of each place; one outside all cells belongs to the nearest."""
        release = self.release
        found = release.locate(x_m, y_m)
        for place in np.flatnonzero(found < 0):
            x, y = float(x_m[place]), float(y_m[place])
            across = np.maximum(np.maximum(release.west_m - x, x - release.east_m), 0)
            along = np.maximum(np.maximum(release.south_m - y, y - release.north_m), 0)
            found[place] = int(np.argmin(across**2 + along**2))
        return [int(cell) for cell in found]


@lru_cache(maxsize=4)  # one release serves the batches of offers until the next one
def cell_graph(release: Cells) -> CellGraph:
    """Return the graph of a release's cells."""
    edges = (release.west_m, release.south_m, release.east_m, release.north_m)
    first, neighbour = touching(*edges)
    return CellGraph(
        release=release,
        rectangle=list(zip(*(edge.tolist() for edge in edges), strict=True)),
        area_m2=release.area_m2.tolist(),
        noise_variance=counts_and_noise(release)[1].tolist(),
        first=first.tolist(),
        neighbour=neighbour.tolist(),
    )


def counts_and_noise(release: Cells) -> tuple[Array, Array]:
    """Return the workers in each cell as the release tells them, and the variance of the noise in that number.

    Contour plots and estimates from reports are read as densities in the middle of each cell, smoothed as they are.
    """
    if isinstance(release, Contours | DensityEstimate):
        area = release.area_m2
        x_m, y_m = (release.west_m + release.east_m) / 2, (release.south_m + release.north_m) / 2
        law = release.density_law(x_m, y_m)
        return law.estimate_per_m2 * area, law.variance * area**2
    return np.asarray(release.count, dtype=np.float64), 2 * np.asarray(release.noise_scale, dtype=np.float64) ** 2


def touching(west: Array, south: Array, east: Array, north: Array) -> tuple[Ids, Ids]:
    """Return which rectangles share a piece of an edge, as rows of a compressed matrix; corners do not count.

    The rectangles must not overlap: then those that begin on one line lie one after the other along it, and the ones
    that touch a given rectangle there are a run, found by bisection.
    """
    beside = _contacts(west, east, south, north)
    above = _contacts(south, north, west, east)
    one = np.concatenate([beside[0], beside[1], above[0], above[1]])
    other = np.concatenate([beside[1], beside[0], above[1], above[0]])
    order = np.lexsort((other, one))
    one, other = one[order], other[order]
    return np.searchsorted(one, np.arange(west.size + 1)), other


def _contacts(begin: Array, end: Array, low: Array, high: Array) -> tuple[Ids, Ids]:
    """Return pairs (i, j) where i ends on the line on which j begins, and both share a piece of it."""
    line_begin, line_end = _lines(begin, end)
    length = float(high.max() - low.min()) + 1.0
    base = float(low.min())
    order = np.lexsort((low, line_begin))
    from_key = line_begin[order] * length + (low[order] - base)
    upto_key = line_begin[order] * length + (high[order] - base)
    start = np.searchsorted(upto_key, line_end * length + (low - base) + TOUCH_M, side="right")
    stop = np.searchsorted(from_key, line_end * length + (high - base) - TOUCH_M, side="left")
    many = np.maximum(stop - start, 0)
    one = np.repeat(np.arange(begin.size), many)
    place = np.arange(one.size) - np.repeat(np.cumsum(many) - many, many) + np.repeat(start, many)
    return one, order[place]


def _lines(begin: Array, end: Array) -> tuple[Ids, Ids]:
    """Give numbers to the lines on which rectangles begin and end; what differs by a rounding error is one line."""
    both = np.concatenate([begin, end])
    order = np.argsort(both, kind="stable")
    fresh = np.append(0, np.cumsum(np.diff(both[order]) > TOUCH_M))
    line = np.empty(both.size, dtype=np.int64)
    line[order] = fresh
    return line[: begin.size], line[begin.size :]
