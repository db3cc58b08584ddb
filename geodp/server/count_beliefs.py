"""What the server believes about the true number of workers in each cell, given noisy counts and their public noise.

A release is read on two levels: cells come in groups (`cell_groups`; each by itself where only lines or reports can be
read). The total of a group has a gamma prior about what the groups around it suggest, with the variation that all
totals show beyond their noise; given the noisy total, its posterior has a mean T and a variance Q. Within a group the
parts differ from T/M by chance and as much as all parts do beyond their noise, those side by side together. It reads
the release alone, once, and serves every task until the next release: post-processing, no cost.

For s_c the share of cell c inside a region times a weight, and S_i its sum over group i, the weighted number inside has

    mean Σ s_c m_c   and   variance Σ_i [(S_i/M_i)² Q_i + v_i (Σ s_c² - S_i²/M_i)],

and a gamma law with these two moments gives the chance that nobody accepts in closed form (its Laplace transform).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.release import Cells, Contours, DensityEstimate
from geodp.server.cell_graph import counts_and_noise
from geodp.server.cell_groups import Groups, add_up, expect_evenly, expect_from_surroundings, group_cells

Ids = npt.NDArray[np.int64]
_VARIATION = (0.05, 20.0)  # bounds of κ, the squared coefficient of variation of totals about what is expected
_PART_VARIATION = (0.02, 30.0)  # the same for the parts of a group
_TOGETHER = (1.0, 10.0)  # the same for φ, how many times as much as single parts the halves of a group differ
_LEAST_PART = 0.02  # a part holds at least this share of an even one
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

    def age(self, variance_share: float) -> CountBelief:
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
    groups = group_cells(release)
    return _believe_smooth_cells(release) if groups is None else _believe_parts(release, groups)


def _believe_parts(release: Cells, groups: Groups) -> CountBelief:
    count = np.asarray(release.count, dtype=np.float64)
    total = add_up(groups.group, count, groups.parts.size)
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
    """Return the mean of each part, and the variance of a group's parts about their means, given its total.

    Parts of an evenly filled group differ by chance alone, as much as they hold on average; beyond that, and beyond
    their noise, by a share κ2 of its square. Parts side by side differ together, as crowds have slopes: the halves of a
    group differ φ times as much as they would if parts did by themselves, so that what halves show is kept more.
    """
    group, parts, noise = groups.group, groups.parts, groups.noise
    if not np.any(noise > 0):
        return np.maximum(count, 0.0), np.zeros(parts.size)
    share = 1 / parts[group]
    even = mean[group] * share
    offset = count - total[group] * share
    several = parts[group] > 1
    # Noise of c - α Σc, and what is left of differences when their sum is taken away.
    left = noise * (1 - 2 * share) + share**2 * add_up(group, noise, parts.size)[group]
    weight = np.where(several, (even**2 + noise) ** -2.0, 0.0)
    scale = float(weight @ (even**2 * (1 - share)))
    beyond = float(weight @ (offset**2 - left - even * (1 - share))) / scale if scale > 0 else 0.0
    differ = even + float(np.clip(beyond, *_PART_VARIATION)) * even**2
    slopes, together = _find_slopes(offset, differ, groups)
    kept = differ / np.maximum(differ + noise, 1e-300)
    kept_of_slope = together * differ / np.maximum(together * differ + noise, 1e-300)
    part = even + kept * offset + (kept_of_slope - kept) * slopes
    part = np.maximum(part, _LEAST_PART * even)
    part *= (mean / np.maximum(add_up(group, part, parts.size), 1e-300))[group]
    unsure = (1 - kept_of_slope) * together * differ
    return part, np.where(parts > 1, add_up(group, unsure, parts.size) / parts, 0.0)


def _find_slopes(offset: Array, differ: Array, groups: Groups) -> tuple[Array, float]:
    """Return how much of each part's difference the halves of its group show, west and east, south and north, and φ."""
    group, parts = groups.group, groups.parts
    slopes, seen, scale = np.zeros(offset.size), 0.0, 0.0
    for half in groups.halves:
        pattern = half - (add_up(group, half.astype(np.float64), parts.size) / parts)[group]
        square = add_up(group, pattern**2, parts.size)
        usable = square > 0
        square = np.where(usable, square, 1.0)
        lean = add_up(group, pattern * offset, parts.size)
        slopes += pattern * (lean / square)[group]
        noise, signal = (add_up(group, pattern**2 * each, parts.size) / square for each in (groups.noise, differ))
        weight = np.where(usable, np.maximum(signal + noise, 1e-9) ** -2.0, 0.0)
        seen += float(weight @ (lean**2 / square - noise))
        scale += float(weight @ signal)
    return slopes, float(np.clip(seen / scale, *_TOGETHER)) if scale > 0 else 1.0


def _believe_smooth_cells(release: Cells) -> CountBelief:
    """Take each cell as a group of its own: smoothed plots, and estimates from reports."""
    count, noise = counts_and_noise(release)
    shared = 1.0
    if isinstance(release, DensityEstimate):  # its error holds everything already, and it is never negative
        mean, variance, expected, shared = count, noise, np.maximum(count, 0.0), release.err_together
    else:
        expected = expect_evenly(count, noise, release.area_m2)  # smoothed counts share their noise
        if isinstance(release, Contours):
            kept = _sum_square_weights(release, noise)
            noise, shared = noise + kept * np.maximum(count, expected), 1 / float(np.median(kept))
        mean, variance = total_posterior(count, noise, expected)
    ones = np.ones(count.size)
    return CountBelief(
        mean=np.maximum(mean, release.floor_per_m2 * release.area_m2),
        group=np.arange(count.size),
        parts=ones,
        expected=expected,
        total_variance=variance,
        part_variance=0 * ones,
        intensity=True,
        shared=max(shared, 1.0),
    )


def _sum_square_weights(plot: Contours, noise: Array) -> Array:
    """Return Σw² of the smoothing in each cell: the share of a count's own variance, also by chance, that is left."""
    raw = 2 * np.asarray(plot.noise_scale, dtype=np.float64) ** 2
    return np.asarray(np.clip(np.divide(noise, raw, out=np.ones_like(noise), where=raw > 0), 1e-6, 1.0))
