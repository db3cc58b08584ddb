"""What the server may believe about the density of workers, given noisy cells and the public noise law.

Planning on the noisy estimate as if it were the truth is too optimistic: a circle sized 1/estimate is too
small where noise raised the estimate, and where noise lowered it the surplus helps less than the lack hurts.
The honest plan asks for E[exp(-density · I) | release] = 1 - target instead.

The prior is empirical Bayes: a gamma law whose mean and variance are those of the released densities, less
the variance that noise and chance explain. It reads the release alone: post-processing, at no cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.release import Cells, DensityEstimate, DensityLaw

_NODES = 64  # of the prior, and as many of the noise law
_LEAST_VARIATION = 0.05  # coefficient of variation of the prior when the release shows none
_GAUSSIAN_TERMS = 60.0  # a sum of so many Laplace terms has excess kurtosis 3/60: Gaussian
_NEAR_PEAK = 1e-3  # in noise scales: nearer to its peak the variance-gamma density is flat enough


@dataclass(frozen=True)
class Belief:
    """A discrete law of the density at each task: one row per task, `share` sums to 1 in each."""

    density_per_m2: Array
    share: Array

    @classmethod
    def certain(cls, density_per_m2: npt.ArrayLike) -> Belief:
        """Believe an estimate as if it were the truth."""
        density = np.asarray(density_per_m2, dtype=np.float64)[:, None]
        return cls(density, np.ones_like(density))

    @property
    def mean_per_m2(self) -> Array:
        """Expected density at each task."""
        return np.asarray((self.share * self.density_per_m2).sum(axis=1))

    def success(self, reach_m2: npt.ArrayLike) -> Array:
        """Return 1 - E[exp(-density · reach)]: the chance that a Poisson field has an acceptor."""
        exponent = self.density_per_m2 * np.asarray(reach_m2, dtype=np.float64)[:, None]
        return -np.asarray((self.share * np.expm1(-exponent)).sum(axis=1))

    def reach_for(self, target: float) -> Array:
        """Return the reach I at which success equals the target.

        ln E[exp(-density · I)] is convex and falls from 0, so Newton's method from I = 0 climbs to the root
        without overshooting; for a certain belief its first step is the answer, -ln(1 - target)/density.
        """
        reach, goal = np.zeros(len(self.share)), np.log1p(-target)
        for _ in range(200):
            missed = self.share * np.exp(-self.density_per_m2 * reach[:, None])
            total = missed.sum(axis=1)
            step = (np.log(total) - goal) * total / (missed * self.density_per_m2).sum(axis=1)
            reach = reach + np.maximum(step, 0.0)
            if np.all(step <= 1e-12 * reach):
                break
        return reach


def noise_aware_belief(release: Cells, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Belief:
    """Return what a release tells about the density at each point; a point mass where it has no noise."""
    if isinstance(release, DensityEstimate):
        return _around_estimate(release.density_law(x_m, y_m), release.floor_per_m2)
    law, chance = _law_at(release, x_m, y_m)
    estimate = np.maximum(law.estimate_per_m2, release.floor_per_m2)
    if not np.any(law.variance > 0):
        return Belief.certain(estimate)
    nodes, share = posterior(prior(release), law, chance)
    exact = law.variance <= 0
    nodes[exact], share[exact] = estimate[exact, None], 1 / share.shape[1]
    return Belief(np.maximum(nodes, release.floor_per_m2), share)


def _around_estimate(law: DensityLaw, floor_per_m2: float) -> Belief:
    """Return the belief after an estimate from reported points: normal about it, and never below the floor.

    Such an estimate has used what its reports say about the spread of workers already, and its error holds both noise
    and chance, so there is no prior to be added: every density from the floor upwards is as good as any other.
    """
    from scipy.special import ndtr, ndtri

    error = np.sqrt(law.variance)[:, None]
    safe = np.where(error > 0, error, 1.0)
    below = ndtr((floor_per_m2 - law.estimate_per_m2[:, None]) / safe)
    level = (np.arange(2 * _NODES) + 0.5) / (2 * _NODES)
    quantile = ndtri(np.minimum(below + (1 - below) * level, 1 - 1e-12))
    nodes = np.maximum(law.estimate_per_m2[:, None] + error * quantile, floor_per_m2)
    return Belief(nodes, np.full(nodes.shape, 1 / nodes.shape[1]))


@dataclass(frozen=True)
class GammaPrior:
    """A gamma law of the density, by its two moments."""

    mean: float
    variance: float

    @property
    def shape(self) -> float:
        """Shape parameter."""
        return self.mean**2 / self.variance

    @property
    def scale(self) -> float:
        """Scale parameter, in workers per square metre."""
        return self.variance / self.mean


@lru_cache(maxsize=4)
def prior(release: Cells) -> GammaPrior:
    """Return the law of the density over the region that fits a release; every place counts alike.

    Unevenness counts only beyond one standard error of what noise and chance alone would show: cut off at
    zero without that margin, an even world would look uneven in every second release.
    """
    x_m, y_m = (release.west_m + release.east_m) / 2, (release.south_m + release.north_m) / 2
    law, chance = _law_at(release, x_m, y_m)
    weight = release.area_m2 / release.area_m2.sum()
    seen_mean = float(weight @ law.estimate_per_m2)
    mean = max(seen_mean, release.floor_per_m2)
    seen = float(weight @ (law.estimate_per_m2 - seen_mean) ** 2)
    even = law.variance + chance * mean  # what an even world would show
    error = float(np.sqrt(np.sum((weight * even) ** 2 * (2 + 3 / law.terms))))  # kurtosis of a Laplace sum
    variance = seen - float(weight @ even) - error
    return GammaPrior(mean, max(variance, (_LEAST_VARIATION * mean) ** 2))


def _law_at(release: Cells, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> tuple[DensityLaw, Array]:
    """Return the estimates with their noise law, and the variance that chance adds per unit of density.

    A count in a cell of a Poisson field has variance density · area, so an estimate with weights w over cells
    has Poisson variance density · Σw²/area; Σw² is read off the noise variance 2 (scale/area)² Σw².
    """
    law = release.density_law(x_m, y_m)
    cell = release.locate(x_m, y_m)
    scale, area = release.noise_scale[cell], release.area_m2[cell]
    noisy = (cell >= 0) & (scale > 0)
    chance = np.where(noisy, law.variance * area / (2 * np.where(noisy, scale, 1.0) ** 2), 0.0)
    return law, chance


def posterior(before: GammaPrior, law: DensityLaw, chance: Array) -> tuple[Array, Array]:
    """Return nodes and shares of the posterior: prior mass around each node times the likelihood there.

    The nodes are quantiles of the prior and of the noise around the estimate together, so that the sum is
    accurate whichever of the two is the narrower.
    """
    from scipy.special import gammainc, gammaincc, gammaincinv

    level = (np.arange(_NODES) + 0.5) / _NODES
    laplace = -np.sign(level - 0.5) * np.log(1 - 2 * np.abs(level - 0.5)) / np.sqrt(2)  # unit variance
    width = np.sqrt(law.variance + chance * np.maximum(law.estimate_per_m2, before.mean))
    around = law.estimate_per_m2[:, None] + width[:, None] * laplace
    quantiles = np.broadcast_to(gammaincinv(before.shape, level) * before.scale, around.shape)
    nodes = np.sort(np.concatenate([quantiles, np.maximum(around, quantiles[:, :1])], axis=1), axis=1)
    edges = (nodes[:, 1:] + nodes[:, :-1]) / (2 * before.scale)
    below = np.pad(gammainc(before.shape, edges), ((0, 0), (1, 1)), constant_values=(0.0, 1.0))
    above = np.pad(gammaincc(before.shape, edges), ((0, 0), (1, 1)), constant_values=(1.0, 0.0))
    mass = np.where(below[:, 1:] < 0.5, np.diff(below, axis=1), -np.diff(above, axis=1))  # no cancellation
    with np.errstate(divide="ignore"):
        log_share = np.log(np.maximum(mass, 0.0)) + log_likelihood(nodes, law, chance)
    share = np.exp(log_share - log_share.max(axis=1, keepdims=True))
    return nodes, share / share.sum(axis=1, keepdims=True)


def log_likelihood(density: Array, law: DensityLaw, chance: Array) -> Array:
    """Return the log density of the estimates, given each node's density.

    Noise and chance together have variance V and the noise's excess kurtosis 3/terms shrunk by (v/V)²: the
    symmetric variance-gamma law with those two moments. For one Laplace term without chance it is Laplace.
    """
    from scipy.special import gammaln, kve

    noise = np.where(law.variance > 0, law.variance, 1.0)[:, None]
    variance = noise + chance[:, None] * density
    terms = law.terms[:, None] * (variance / noise) ** 2
    error = np.abs(law.estimate_per_m2[:, None] - density)
    gaussian = -0.5 * (np.log(2 * np.pi * variance) + error**2 / variance)
    few = np.minimum(terms, _GAUSSIAN_TERMS)
    scale = np.sqrt(variance / (2 * few))
    y, order = np.maximum(error / scale, _NEAR_PEAK), few - 0.5
    bessel = np.log(kve(order, y)) - y + order * np.log(y / 2)
    variance_gamma = bessel - 0.5 * np.log(np.pi) - gammaln(few) - np.log(scale)
    return np.where(terms < _GAUSSIAN_TERMS, variance_gamma, gaussian)
