"""What the server believes about the true number of workers in each cell, given noisy counts and their public noise.

A release is read on two levels. Cells come in groups (the parts of a coarse cell of an adaptive grid; blocks of 2 by 2
cells of a plain grid, and of the counts that a contour plot is drawn from and carries; each cell by itself in trees,
and where only lines or reports can be read). The total of a group has a gamma prior about
what the groups around it suggest, with the variation that all totals show beyond their noise; given the noisy total,
its posterior has a mean T and a variance Q. Within a group the parts differ from T/M as much as all parts do beyond
their noise. It reads the release alone, once, and serves every task until the next release: post-processing, no cost.

For s_c the share of cell c inside a region times a weight, and S_i its sum over group i, the weighted number inside has

    mean Σ s_c m_c   and   variance Σ_i [(S_i/M_i)² Q_i + v_i (Σ s_c² - S_i²/M_i)],

and a gamma law with these two moments gives the chance that nobody accepts in closed form (its Laplace transform).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.release import AdaptiveCells, Cells, Contours, DensityEstimate, GridCells
from geodp.server.cell_graph import CellGraph, cell_graph, counts_and_noise

Ids = npt.NDArray[np.int64]
_BLOCK = 2  # cells per side of a block of a plain grid: of six sizes the one that asks fewest at equal success
_LEAST_OF_MEAN = 0.05  # no group is expected to hold less than this share of what groups hold on average
_VARIATION = (0.05, 20.0)  # bounds of κ, the squared coefficient of variation of totals about what is expected
_PART_VARIATION = (0.02, 30.0)  # the same for the parts of a group
_LEAST_PART = 0.02  # a part holds at least this share of the mean part
_FAR_BELOW, _FAR_ABOVE = -20.0, 25.0  # beyond these arguments of D_ν(z) its asymptotic series are exact enough


@dataclass(frozen=True, eq=False)
class CountBelief:
    """Means and variances of the true counts, on two levels."""

    mean: Array
    """m_c: workers expected in each cell."""
    group: Ids
    """Which group each cell belongs to."""
    parts: Array
    """M_i: cells in each group."""
    expected: Array
    """μ_i: workers that a group's surroundings suggest."""
    total_variance: Array
    """Q_i: variance of each group's true total."""
    part_variance: Array
    """v_i: variance of each part of a group about its mean, given the total."""
    intensity: bool
    """Whether means are intensities of a Poisson field (smoothed plots, estimates), not numbers of people."""
    shared: float = 1.0
    """How many neighbouring groups err together (smoothing spreads the same noise over several)."""

    def aged(self, variance_share: float) -> CountBelief:
        """Return what is left of the belief when densities have moved on: Q grows by this share of μ²."""
        if variance_share <= 0:
            return self
        return replace(self, total_variance=self.total_variance + variance_share * self.expected**2)

    def weight(self, probability: Array) -> Array:
        """Return by what a worker who accepts with this probability adds to -ln of the chance of "nobody".

        E[(1 - p)^N] for a known number N is e^(-N·-ln(1 - p)); for N Poisson of intensity λ it is e^(-pλ).
        """
        if self.intensity:
            return probability
        return np.asarray(-np.log1p(-np.minimum(probability, 1 - 1e-12)))


@lru_cache(maxsize=4)  # one release serves the batches of offers until the next one
def believe_counts(release: Cells) -> CountBelief:
    """Return what a release tells about the true counts of its cells.

    Parameters
    ----------
    release
        Cells with noisy counts, a contour plot, or an estimate from reports.

    Returns
    -------
    CountBelief
        Posterior means and variances; exact counts are believed as they are.
    """
    groups = groups_of(release)
    return _believe_single_cells(release) if groups is None else _believe_parts(release, groups)


def groups_of(release: Cells) -> Groups | None:
    """Return how the cells of a release are grouped; None: each stands by itself."""
    if isinstance(release, AdaptiveCells) and release.fine_scale is not None:
        return _adaptive_groups(release)
    if type(release) is GridCells or (isinstance(release, Contours) and release.reading == "bilinear"):
        return _block_groups(release)
    return None


@dataclass(frozen=True)
class Groups:
    """How cells are grouped, with the noise of totals and parts; groups form a grid."""

    group: Ids
    shape: tuple[int, int]
    """Rows and columns of groups."""
    parts: Array
    full: float | None
    """Parts of a whole group where those at the edge have fewer; None: all groups cover the same area."""
    total_noise: Array
    """Variance of the noise in each group's total."""
    part_noise: Array
    """Variance of the noise in each part, group by group."""


def _adaptive_groups(release: AdaptiveCells) -> Groups:
    """Group the parts of each coarse cell.

    Counts that were made to agree add up to the average of coarse count and sum of parts by inverse variances, whose
    variance is 1/(1/s1 + 1/(M s2)); otherwise their sum has M s2.
    """
    parts = (release.per_side**2).astype(np.float64)
    fine = 2 * float(release.fine_scale or 0.0) ** 2
    total = parts * fine
    if release.coarse_scale is not None:
        coarse = 2 * release.coarse_scale**2
        total = coarse * total / np.maximum(coarse + total, 1e-300)
    group = np.repeat(np.arange(parts.size), release.per_side**2)
    shape = (release.coarse.rows, release.coarse.columns)
    return Groups(
        group=group, shape=shape, parts=parts, full=None, total_noise=total, part_noise=np.full(parts.size, fine)
    )


def _block_groups(release: GridCells) -> Groups:
    grid = release.grid
    rows, columns = -(-grid.rows // _BLOCK), -(-grid.columns // _BLOCK)
    row, column = np.divmod(np.arange(grid.size), grid.columns)
    group = (row // _BLOCK) * columns + column // _BLOCK
    parts = np.bincount(group, minlength=rows * columns).astype(np.float64)
    total = add_up(group, 2 * release.noise_scale**2, rows * columns)
    return Groups(
        group=group,
        shape=(rows, columns),
        parts=parts,
        full=float(_BLOCK**2),
        total_noise=total,
        part_noise=total / parts,
    )


def add_up(place: Ids, weights: Array, size: int) -> Array:
    """Return the sum of the weights at each of so many places."""
    return np.asarray(np.bincount(place, weights=weights, minlength=size), dtype=np.float64)


def _believe_parts(release: Cells, groups: Groups) -> CountBelief:
    count = np.asarray(release.count, dtype=np.float64)
    size = groups.parts.size
    total = add_up(groups.group, count, size)
    expected = expect_from_surroundings(total, groups)
    mean, variance = total_posterior(total, groups.total_noise, expected)
    parts, part_variance = _share_out(count, total, mean, groups)
    return CountBelief(
        mean=parts,
        group=groups.group,
        parts=groups.parts,
        expected=expected,
        total_variance=variance,
        part_variance=part_variance,
        intensity=False,
    )


def expect_from_surroundings(total: Array, groups: Groups) -> Array:
    """Return how many workers the groups around suggest for each group, itself left out: its noise must not vouch.

    How much the mean b of the (at most eight) touching groups tells, against the mean of all, is what it has told about
    the others: the slope β of the totals on b. Groups cut off by the edge are scaled up to whole ones.
    """
    size = np.ones(total.size) if groups.full is None else groups.parts / groups.full
    whole = total / size
    table, ones = whole.reshape(groups.shape), np.ones(groups.shape)
    touching = np.maximum(_sum_around(ones) - ones, 1.0)
    around = ((_sum_around(table) - table) / touching).ravel()
    noise = float(np.sqrt(np.sum(groups.total_noise / size**2))) / total.size
    level = max(float(whole.mean()), noise)
    offset = around - level
    spread = float(offset @ offset)
    slope = float(np.clip(offset @ (whole - level) / spread, 0.0, 1.0)) if spread > 0 else 0.0
    return np.asarray(np.maximum(level + slope * offset, _LEAST_OF_MEAN * level) * size)


def _sum_around(table: Array) -> Array:
    """Return the sum over each place and its at most eight neighbours."""
    padded = np.pad(table, 1)
    rows = padded[:-2] + padded[1:-1] + padded[2:]
    return np.asarray(rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:])


def total_posterior(total: Array, noise: Array, expected: Array) -> tuple[Array, Array]:
    """Return mean and variance of the true totals, given noisy ones and what was expected.

    The prior is a gamma law about the expected total with one coefficient of variation for all, which is what totals
    show beyond their noise.
    """
    if not np.any(noise > 0):
        return np.maximum(total, 0.0), np.zeros(total.size)
    expected = np.maximum(expected, 1e-12)
    weight = 1 / (expected**2 + noise)
    beyond = float(weight @ ((total - expected) ** 2 - noise)) / float(weight @ expected**2)
    shape = 1 / float(np.clip(beyond, *_VARIATION))
    safe = np.where(noise > 0, noise, 1.0)
    mean, variance = gamma_normal_moments(total, safe, shape, shape / expected)
    exact = noise <= 0
    return np.where(exact, np.maximum(total, 0.0), mean), np.where(exact, 0.0, variance)


def gamma_normal_moments(value: Array, noise: Array, shape: float, rate: Array) -> tuple[Array, Array]:
    """Return mean and variance of X ~ Gamma(shape, rate), given X + normal noise of this variance.

    With z = rate·√V - value/√V the mean is √V·k·D_{-k-1}(z)/D_{-k}(z), D the parabolic cylinder function, and the
    recurrence of D gives the variance k·V + (value - rate·V)·T - T². Far above nothing both are those of the normal law
    about the mode, x² - (value - rate·V)·x = (k - 1)·V; far below, series.
    """
    from scipy.special import pbdv

    deviation = np.sqrt(noise)
    z = rate * deviation - value / deviation
    middle = np.clip(z, _FAR_BELOW, _FAR_ABOVE)
    mean = deviation * shape * pbdv(-shape - 1, middle)[0] / pbdv(-shape, middle)[0]
    variance = shape * noise + (value - rate * noise) * mean - mean**2
    high, low = z < _FAR_BELOW, z > _FAR_ABOVE
    likely = np.where(high, value - rate * noise, 1.0 + noise)
    mode = (likely + np.sqrt(np.maximum(likely**2 + 4 * (shape - 1) * noise, 0.0))) / 2
    mean = np.where(high, mode, mean)
    far = np.where(low, z, 1.0)
    mean = np.where(low, deviation * (shape / far) * (1 - (shape + 1) / far**2), mean)
    near = noise / (1 + (shape - 1) * noise / np.maximum(mode, 1e-300) ** 2)
    variance = np.where(high, near, np.where(low, mean**2 / shape, variance))
    return mean, np.maximum(variance, 1e-9 * mean**2)


def _share_out(count: Array, total: Array, mean: Array, groups: Groups) -> tuple[Array, Array]:
    """Return the mean of each part, and the variance of a group's parts about their means, given its total."""
    group, parts, noise = groups.group, groups.parts, groups.part_noise
    if not np.any(noise > 0):
        return np.maximum(count, 0.0), np.zeros(parts.size)
    even = mean / parts
    offset = count - (total / parts)[group]
    square = add_up(group, offset**2, parts.size)
    several = parts > 1
    weight = np.where(several, (even**2 + noise) ** -2.0, 0.0)
    scale = float(weight @ ((parts - 1) * even**2))
    seen = float(weight @ (square - (parts - 1) * noise)) / scale if scale > 0 else 0.0
    differ = float(np.clip(seen, *_PART_VARIATION)) * even**2
    kept = differ / np.maximum(differ + noise, 1e-300)
    part = np.maximum(even[group] + kept[group] * offset, _LEAST_PART * even[group])
    part *= (mean / np.maximum(add_up(group, part, parts.size), 1e-300))[group]
    return part, np.where(several, (1 - kept) * differ, 0.0)


def _believe_single_cells(release: Cells) -> CountBelief:
    """Take each cell as a group of its own: cells of trees, smoothed plots, and estimates from reports."""
    count, noise = counts_and_noise(release)
    shared = 1.0
    smooth = isinstance(release, Contours | DensityEstimate)
    if isinstance(release, DensityEstimate):  # its error holds everything already, and it is never negative
        mean, variance, expected, shared = count, noise, np.maximum(count, 0.0), release.err_together
    else:
        expected = _expect(count, noise, release, None if smooth else cell_graph(release))
        if isinstance(release, Contours):
            kept = _kept_noise(release, noise)
            noise, shared = noise + kept * np.maximum(count, expected), 1 / float(np.median(kept))
        mean, variance = total_posterior(count, noise, expected)
    ones = np.ones(count.size)
    return CountBelief(
        mean=np.maximum(mean, release.floor_per_m2 * release.area_m2 if smooth else 0.0),
        group=np.arange(count.size),
        parts=ones,
        expected=expected,
        total_variance=variance,
        part_variance=0 * ones,
        intensity=smooth,
        shared=max(shared, 1.0),
    )


def _kept_noise(plot: Contours, noise: Array) -> Array:
    """Return Σw² of the smoothing in each cell: the share of a count's own variance, also by chance, that is left."""
    raw = 2 * np.asarray(plot.noise_scale, dtype=np.float64) ** 2
    return np.asarray(np.clip(np.divide(noise, raw, out=np.ones_like(noise), where=raw > 0), 1e-6, 1.0))


def _expect(count: Array, noise: Array, release: Cells, graph: CellGraph | None) -> Array:
    """Return what the surroundings suggest; smoothed counts share their noise, so only the whole plot can vouch."""
    area = release.area_m2
    level = max(float(count.sum()), float(np.sqrt(noise.sum()))) / float(area.sum())
    even = level * area
    if graph is None or count.size < 2:
        return even
    around, known = _density_around(count, area, graph)
    offset = np.where(known, around - level, 0.0) * area
    weight = 1 / (noise + even**2 + (around * area) ** 2)  # else a few crowded cells would speak for all
    spread = float(weight @ offset**2)
    slope = float(np.clip(weight @ (offset * (count - even)) / spread, 0.0, 1.0)) if spread > 0 else 0.0
    return np.asarray(np.maximum(even + slope * offset, _LEAST_OF_MEAN * even))


def _density_around(count: Array, area: Array, graph: CellGraph) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return the density of the cells within two steps of each cell, itself left out, and whether there are any."""
    from scipy import sparse

    links: Any = (np.ones(len(graph.neighbour)), graph.neighbour, graph.first)
    touch: Any = sparse.csr_array(links, shape=(count.size, count.size))
    near: Any = ((touch + touch @ touch) > 0).astype(np.float64)
    near.setdiag(0.0)
    around = np.asarray(near @ area)
    known = around > 0
    return np.where(known, (near @ count) / np.where(known, around, 1.0), 0.0), known
