"""What noise says about the shape of a histogram, and no more: counts drawn towards a stated law by what noise allows.

A histogram is fitted by a law of few parameters (log-normal, gamma or Weibull for lengths, paces and numbers; beta for
shares; for hours the circle's slow waves, and the uniform law where nothing stands out). Every count is then a mean of
itself and of the law, weighted by how much real counts scatter around the law against the variance 2b² of the noise
(empirical Bayes). Nothing is set to zero for not standing out: where the noise says nothing, the law does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from geodp.curator.synthesis.noisy_histograms import fit_total
from geodp.geometry import Array

Family = Literal["positive", "share"]
"""Numbers above 0 (log-normal, gamma or Weibull), or shares between 0 and 1 (beta)."""
Law = Callable[[Array], Array]
"""A distribution function."""
_LEAST_SHARE = 0.02
"""Of a mean bin: below, real counts are taken to scatter alike."""
_SPREADS = np.geomspace(0.1, 2.5, 26)
_ROUNDS = 8
_LEAST_CELLS = 9
_PLACES = 60
_SHARES = np.linspace(0.02, 0.98, 33)
_SIZES = np.geomspace(0.5, 60.0, 22)


def shrink(noisy: Array, expected: Array, scale: float | Array, total: float) -> Array:
    """Return counts between noisy ones and those that a law expects, not negative, `total` together.

    The scatter of real counts grows with the count: var = v·expected^1.5 lies between chance and proportion. v is found
    from the noisy counts themselves.
    """
    expected = np.maximum(expected, 0.0)
    rest = noisy - expected
    noise = 2 * np.broadcast_to(np.asarray(scale, dtype=np.float64) ** 2, noisy.shape)
    shape = (expected + _LEAST_SHARE * max(total, 1.0) / noisy.size) ** 1.5
    # Counts matter as they are exact: the weighted least squares of rest² = v·shape + noise.
    strength = max(0.0, float(((rest**2 - noise) * shape).sum())) / float((shape**2).sum())
    trust = strength * shape / (strength * shape + noise)
    counts, doubt = expected + trust * rest, trust * noise
    # What is missing or too much lies where a count is least certain: what is known to be empty stays empty.
    for _ in range(_ROUNDS):
        counts = np.maximum(counts + (total - counts.sum()) * doubt / max(float(doubt.sum()), 1e-300), 0.0)
    return np.asarray(counts * (total / counts.sum() if counts.sum() > 0 else 0.0))


def fit_law(noisy: Array, edges: Array, family: Family) -> Law:
    """Return the law of a family that is nearest (least squares) to noisy counts in bins.

    What lies beyond the edges counts in the outermost bins.
    """
    from scipy.special import betainc, gammainc, ndtr

    inner = edges[1:-1]
    if family == "share":
        middle, size = (part.ravel()[:, None] for part in np.meshgrid(_SHARES, _SIZES))
        first, second = middle * size, (1 - middle) * size
        best = _find_nearest(noisy, np.asarray(betainc(first, second, np.clip(inner, 0, 1)), dtype=np.float64))
        first, second = first[best], second[best]
        return lambda values: np.asarray(betainc(first, second, np.clip(values, 0.0, 1.0)))
    least, most = np.log(max(edges[edges > 0][0], 1e-9)), np.log(edges[-1])
    place, spread = (part.ravel()[:, None] for part in np.meshgrid(np.linspace(least, most, _PLACES), _SPREADS))
    shape = 1 / spread**2  # of a gamma law: its relative spread is 1/√shape
    with np.errstate(divide="ignore", over="ignore"):
        relative = inner / np.exp(place)
        reached = np.concatenate([
            ndtr(np.log(relative) / spread),
            gammainc(shape, shape * relative),
            -np.expm1(-(relative ** (1 / spread))),
        ])  # fmt: skip
    best = _find_nearest(noisy, reached)
    at, wide = float(np.exp(place[best % place.size, 0])), float(spread[best % place.size, 0])
    if best < place.size:
        return lambda values: np.asarray(ndtr(np.log(np.maximum(values, 1e-300) / at) / wide))
    if best < 2 * place.size:
        return lambda values: np.asarray(gammainc(1 / wide**2, np.maximum(values, 0.0) / (wide**2 * at)))
    return lambda values: np.asarray(-np.expm1(-((np.maximum(values, 0.0) / at) ** (1 / wide))))


def _find_nearest(noisy: Array, reached: Array) -> int:
    """Return which row of distribution functions at the inner edges is nearest to the counts."""
    ends = np.zeros((len(reached), 1)), np.ones((len(reached), 1))
    shares = np.diff(np.concatenate([ends[0], reached, ends[1]], axis=1), axis=1)
    off = shares * max(float(noisy.sum()), 1.0) - noisy
    return int(np.argmin(np.einsum("ij,ij->i", off, off)))


def expect(law: Law, edges: Array, total: float) -> Array:
    """Return how many of `total` a law expects per bin; what lies beyond the edges counts in the outermost bins."""
    return np.asarray(total * np.diff(np.concatenate([[0.0], law(edges[1:-1]), [1.0]])))


def shrink_circular(noisy: Array, scale: float, total: float) -> Array:
    """Return counts on a circle (hours) drawn towards the uniform law, wave by wave, not negative.

    The power of the waves is taken to be A·k^-p, their noise being known; each wave is kept by its share of signal
    (Wiener's filter), a mean over all A and p by how well they explain the waves. Nothing that stands out leaves about
    the uniform law.
    """
    size = noisy.size
    wave = np.fft.rfft(noisy)
    number = np.arange(1, wave.size)
    noise = size * 2 * scale**2
    power = np.abs(wave[1:]) ** 2
    if not number.size:
        return np.full(size, total / size)
    steep = np.linspace(0.0, 4.0, 9)[:, None, None]
    height = np.append(0.0, np.geomspace(0.05 * noise, max(20 * power.max(), noise), 40))[None, :, None]
    expected = height * number**-steep + noise
    fitness = (np.log(expected) + power / expected).sum(axis=2)
    # One best guess of the power is now and then "nothing", and hours would be even: all guesses count as they fit,
    # where that there is nothing is as likely beforehand as that there is something.
    chance = np.exp(fitness.min() - fitness)[:, :, None]
    chance[:, 1:] /= chance.shape[1] - 1
    wave[1:] *= ((1 - noise / expected) * chance).sum(axis=(0, 1)) / chance.sum()
    wave[0] = total
    return fit_total(np.fft.irfft(wave, size), total)


def refine_circular(counts: Array, times: int) -> Array:
    """Return counts in bins so many times as narrow, through the same waves; every bin keeps its total."""
    size = counts.size
    wave = np.fft.rfft(counts) / np.sinc(np.arange(size // 2 + 1) / size)  # a bin's mean is flatter than the wave
    wave *= np.exp(1j * np.pi * np.arange(wave.size) * (1 / times - 1) / size)  # from middles of bins to those within
    fine = np.maximum(np.fft.irfft(wave, size * times), 0.0).reshape(size, times)
    total = fine.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, fine / np.where(total > 0, total, 1.0), 1 / times)
    return np.asarray((shares * counts[:, None]).ravel())


def shrink_map(noisy: Array, scale: float) -> Array:
    """Return counts of a grid (rows of cells) drawn towards what is smooth, wave by wave; they may be negative.

    As on the circle: the power of the cosine waves is fitted as A·k^-p (k: waves across the grid), and each wave is
    kept by its share of signal. Where noise is narrow this leaves the counts as they are.
    """
    from scipy.fft import dctn, idctn

    if noisy.size < _LEAST_CELLS:
        return noisy
    wave = dctn(noisy, norm="ortho")
    rows, columns = (np.arange(size) / size for size in noisy.shape)
    number = np.hypot(rows[:, None], columns) * max(noisy.shape)
    ring = np.rint(number).astype(np.int64)
    ring[0, 0] = 0
    count = np.bincount(ring.ravel())[1:]
    power = np.bincount(ring.ravel(), (wave**2).ravel())[1:] / np.maximum(count, 1)
    noise, far = 2 * scale**2, np.arange(1, count.size + 1)
    steep = np.linspace(0.0, 4.0, 17)[:, None, None]
    most = max(float(power.max(initial=0.0)) * 10, 10 * noise)
    height = np.append(0.0, np.geomspace(0.01 * noise, most, 60))[None, :, None]
    expected = height * far**-steep + noise
    fitness = (count * (np.log(expected) + power / expected)).sum(axis=2)
    best_steep, best_height = np.unravel_index(np.argmin(fitness), fitness.shape)
    signal = float(height[0, best_height, 0]) * np.maximum(number, 1.0) ** -float(steep[best_steep, 0, 0])
    kept = signal / (signal + noise)
    kept[0, 0] = 1.0
    return np.asarray(idctn(wave * kept, norm="ortho"))


def shrink_to_law(
    noisy: Array, edges: Array, family: Family, scale: float, total: float, *, smooth: bool = False
) -> Array:
    """Return the counts of a histogram drawn towards the law of a family that fits best.

    `smooth`: where counts lie off the law over several bins in a row (a tail that ends at once), the law is corrected
    first: the rest is smoothed as maps are.
    """
    expected = expect(fit_law(noisy, edges, family), edges, total)
    if smooth:
        corrected = np.maximum(expected + shrink_map((noisy - expected)[None, :], scale)[0], 0.0)
        expected = corrected if corrected.any() else expected  # noise far below 0 everywhere leaves the law
    return shrink(noisy, expected, scale, total)


@dataclass(frozen=True, eq=False)
class Axis:
    """One side of a table of counts: bins, and the family of laws that they are drawn towards."""

    values: Array
    edges: Array
    family: Family
    smooth: bool = False
    """Whether neighbouring bins are alike, so that what lies off the law in several of them is no noise."""


def spread_over(fine: Array, edges: Array, coarse: Array, counts: Array) -> Array:
    """Return expected counts in fine bins, raised or lowered so that coarse bins hold the given counts."""
    row = np.clip(np.searchsorted(coarse, (edges[:-1] + edges[1:]) / 2, side="right") - 1, 0, coarse.size - 2)
    now = np.bincount(row, fine, coarse.size - 1)
    even = np.bincount(row, minlength=coarse.size - 1)
    spread = np.where(now[row] > 0, fine / np.maximum(now[row], 1e-300), 1 / even[row])
    return np.asarray(spread * counts[row])
