"""Events that tell two inputs apart: the one a case names, thresholds of its score, and unions of bins of a histogram.

What is chosen by samples is chosen on one half of them and certified on the other. The likelihood-ratio event finds a
scale that is too small; the histogram finds shapes it does not think of (wrong tails, atoms, holes), because it asks
the outputs themselves where the two inputs differ.

In simulation a mechanism stands for its law in real numbers. The last bits of doubles betray the input all the same (a
score that saturates at 1 comes out as 1 - 2^-53 more often on one input than on the other), so every test but those on
raw bits looks at values rounded to about nine digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.audit.certify import certify_epsilon
from geodp.geometry import Array

Hits = npt.NDArray[np.int64]
_TAIL = np.geomspace(1e-4, 5e-3, 12)
_SHARES = np.unique(np.concatenate([_TAIL, np.linspace(0, 1, 201), 1 - _TAIL]))
"""Quantiles tried as thresholds: all over, and denser in the tails, where composed mechanisms give themselves away."""


@dataclass(frozen=True)
class Finding:
    """What one test certified about one pair."""

    test: str
    favours: str
    """The input the event speaks for: `with` or `without`."""
    certified: float


def certify_stated_event(with_: Array, without: Array, threshold: float, *, alpha: float, delta: float) -> Finding:
    """Certify the event {score >= threshold} that the mechanism itself names; no sample is used to choose it."""
    hits, other = (np.count_nonzero(scores >= threshold) for scores in (with_, without))
    certified = certify_epsilon(hits, with_.size, other, without.size, alpha=alpha, delta=delta)
    return Finding("likelihood-ratio event", "with", float(certified))


def scan_events(with_: Array, without: Array, *, alpha: float, delta: float) -> list[Finding]:
    """Choose the best upper and the best lower threshold on the first half, certify both on the second (alpha each)."""
    (train_with, test_with), (train_without, test_without) = halves(with_), halves(without)
    pooled = np.concatenate([train_with, train_without])
    pooled = pooled[np.isfinite(pooled)]
    if pooled.size == 0:
        return []
    thresholds = np.unique(np.quantile(pooled, _SHARES, method="nearest"))

    above = [_at_least(scores, thresholds) for scores in (train_with, train_without)]
    best = choose_event(above[0], train_with.size, above[1], train_without.size, alpha=alpha, delta=delta)
    hits = [_at_least(scores, thresholds[best : best + 1]) for scores in (test_with, test_without)]
    high = certify_epsilon(hits[0], test_with.size, hits[1], test_without.size, alpha=alpha, delta=delta)

    below = [_at_least(-scores, -thresholds) for scores in (train_without, train_with)]
    best = choose_event(below[0], train_without.size, below[1], train_with.size, alpha=alpha, delta=delta)
    hits = [_at_least(-scores, -thresholds[best : best + 1]) for scores in (test_without, test_with)]
    low = certify_epsilon(hits[0], test_without.size, hits[1], test_with.size, alpha=alpha, delta=delta)
    return [
        Finding("scanned threshold", "with", float(high[0])),
        Finding("scanned threshold", "without", float(low[0])),
    ]


def halves(values: Array) -> tuple[Array, Array]:
    """Split samples into the half that chooses an event and the half that certifies it."""
    middle = len(values) // 2
    return values[:middle], values[middle:]


def choose_event(hits: Hits, trials: int, other_hits: Hits, other_trials: int, *, alpha: float, delta: float) -> int:
    """Return the event whose bound would be best if these were the counts that certify."""
    promise = certify_epsilon(hits, trials, other_hits, other_trials, alpha=alpha, delta=delta)
    return int(np.argmax(promise))


def _at_least(scores: Array, thresholds: Array) -> Hits:
    """Count the scores at or above each threshold; NaN is above nothing."""
    known = np.sort(scores[~np.isnan(scores)])
    return np.asarray(known.size - np.searchsorted(known, thresholds, side="left"), dtype=np.int64)


_BITS = 30


def drop_last_bits(*parts: Array) -> list[Array]:
    """Round all parts, column by column, to one step: a power of two, 2^-30 of how far the values spread."""
    pooled = np.concatenate([part.reshape(len(part), -1) for part in parts])
    steps = np.array([_step(column) for column in pooled.T])
    with np.errstate(invalid="ignore"):
        return [(np.round(part.reshape(len(part), -1) / steps) * steps).reshape(part.shape) for part in parts]


def _step(column: Array) -> float:
    finite = column[np.isfinite(column)]
    if finite.size == 0:
        return 1.0
    spread = float(np.quantile(np.abs(finite), 0.999))
    return 2.0 ** (np.ceil(np.log2(spread)) - _BITS) if spread > 0 else 2.0**-_BITS


Labels = npt.NDArray[np.int64]
_TAIL_SHARES = np.array([0.001, 0.002, 0.005, 0.01, 0.02])
LINE_SHARES = np.concatenate([_TAIL_SHARES, np.arange(1, 32) / 32, 1 - _TAIL_SHARES[::-1]])
"""Quantiles at which outputs are cut along the direction in which the inputs differ: finer in the tails."""
PLANE_BINS = 12
"""Cells across that direction, in the plane."""
LEAST_IN_CELL = 50
MOST_ATOMS = 512
ATOM_HITS = 20
"""An output seen so often among the training outputs gets a bin of its own."""


def histogram_events(with_: Array, without: Array, *, alpha: float, delta: float) -> list[Finding]:
    """Certify the best union of bins for either input (alpha each)."""
    (train_with, test_with), (train_without, test_without) = halves(with_), halves(without)
    bins = Bins.fit(train_with, train_without)
    labels = [bins.label(part) for part in (train_with, train_without, test_with, test_without)]
    return union_events("held-out histogram", *labels, alpha=alpha, delta=delta)


def union_events(
    test: str,
    train_with: Labels,
    train_without: Labels,
    test_with: Labels,
    test_without: Labels,
    *,
    alpha: float,
    delta: float,
) -> list[Finding]:
    """Choose unions of labels on the training samples and certify them on the others, for either input."""
    size = 1 + max(int(labels.max(initial=0)) for labels in (train_with, train_without, test_with, test_without))
    trained = {"with": np.bincount(train_with, minlength=size), "without": np.bincount(train_without, minlength=size)}
    tested = {"with": np.bincount(test_with, minlength=size), "without": np.bincount(test_without, minlength=size)}
    findings = []
    for side, other in (("with", "without"), ("without", "with")):
        hits, rest = trained[side], trained[other]
        ratio = (hits + 0.5) / (rest + 0.5)  # half a hit more, so that an empty bin is no infinite promise
        order = np.argsort(-ratio, kind="stable")
        seen = np.cumsum(hits[order]), np.cumsum(rest[order])
        best = choose_event(seen[0], int(hits.sum()), seen[1], int(rest.sum()), alpha=alpha, delta=delta)
        union = order[: best + 1]
        inside, outside = int(tested[side][union].sum()), int(tested[other][union].sum())
        trials, others = int(tested[side].sum()), int(tested[other].sum())
        certified = certify_epsilon(inside, trials, outside, others, alpha=alpha, delta=delta)
        findings.append(Finding(test, side, float(certified)))
    return findings


@dataclass(frozen=True)
class Bins:
    """A partition of the outputs, fitted to training outputs of both inputs.

    Outputs that come up again and again get a bin each; what is left is cut at quantiles: on a line, or in the plane
    along the direction in which the means differ and then across it. In more dimensions the second coordinate is
    the distance from that line. Outputs that are not finite share the last bin.
    """

    atoms: npt.NDArray[np.uint64]
    centre: Array
    axis: Array
    edges: Array
    cross_edges: tuple[Array, ...]

    @classmethod
    def fit(cls, with_: Array, without: Array) -> Bins:
        """Choose atoms, direction and quantiles."""
        first, second = _rows(with_), _rows(without)
        pooled = np.concatenate([first, second])
        keys = row_keys(pooled)
        values, place, hits = np.unique(keys, return_inverse=True, return_counts=True)
        often = np.flatnonzero(hits >= ATOM_HITS)
        often = np.sort(often[np.argsort(-hits[often], kind="stable")][:MOST_ATOMS])
        rest = ~np.isin(place, often) & np.isfinite(pooled).all(axis=1)
        centre, axis = _direction(first, second)
        along, across = _coordinates(pooled[rest], centre, axis)
        if along.size == 0:
            return cls(values[often], centre, axis, np.empty(0), (np.empty(0),))
        if pooled.shape[1] == 1:
            return cls(values[often], centre, axis, np.unique(np.quantile(along, LINE_SHARES)), ())
        edges = np.unique(np.quantile(along, LINE_SHARES))
        strip = np.searchsorted(edges, along, side="right")
        cross = tuple(_across_quantiles(across[strip == index]) for index in range(edges.size + 1))
        return cls(values[often], centre, axis, edges, cross)

    def label(self, outputs: Array) -> Labels:
        """Return the bin of each output: atoms first, then the cut bins, then the bin of what is not finite."""
        rows = _rows(outputs)
        along, across = _coordinates(rows, self.centre, self.axis)
        labels = np.searchsorted(self.edges, along, side="right")
        if self.cross_edges:
            cell = np.zeros_like(labels)
            for index, edges in enumerate(self.cross_edges):
                inside = labels == index
                cell[inside] = np.searchsorted(edges, across[inside], side="right")
            labels = labels * PLANE_BINS + cell
        labels = labels + self.atoms.size
        last = self.atoms.size + (self.edges.size + 1) * (PLANE_BINS if self.cross_edges else 1)
        labels[~np.isfinite(rows).all(axis=1)] = last
        if self.atoms.size:
            keys = row_keys(rows)
            place = np.minimum(np.searchsorted(self.atoms, keys), self.atoms.size - 1)
            labels = np.where(self.atoms[place] == keys, place, labels)
        return np.asarray(labels, dtype=np.int64)


def row_keys(rows: Array) -> npt.NDArray[np.uint64]:
    """Return one 64-bit key per row: equal for bit-equal rows, and practically never otherwise.

    A collision would merge two outputs into one bin, which is still a legitimate event.
    """
    keys = np.zeros(len(rows), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in (rows + 0.0).T:  # minus zero becomes zero
            bits = np.ascontiguousarray(column).view(np.uint64)
            keys = (keys ^ bits) * np.uint64(0x9E3779B97F4A7C15)
            keys ^= keys >> np.uint64(29)
    return keys


def _rows(outputs: Array) -> Array:
    return outputs.reshape(len(outputs), -1)


def _direction(first: Array, second: Array) -> tuple[Array, Array]:
    """Return the middle between the two means and the unit vector from one to the other (the first axis if equal)."""
    means = []
    for rows in (first, second):
        finite = rows[np.isfinite(rows).all(axis=1)]
        means.append(finite.mean(axis=0) if len(finite) else np.zeros(rows.shape[1]))
    step = means[0] - means[1]
    length = float(np.linalg.norm(step))
    axis = step / length if length > 0 else np.eye(step.size)[0]
    return (means[0] + means[1]) / 2, axis


def _coordinates(rows: Array, centre: Array, axis: Array) -> tuple[Array, Array]:
    """Return each row's coordinate along the axis, and across it (signed in the plane, a distance beyond)."""
    with np.errstate(invalid="ignore"):
        moved = rows - centre
        along = moved @ axis
        if axis.size == 1:
            return along, np.zeros_like(along)
        if axis.size == 2:
            return along, moved @ np.array([-axis[1], axis[0]])
        return along, np.sqrt(np.sum((moved - np.outer(along, axis)) ** 2, axis=1))


def _across_quantiles(values: Array) -> Array:
    """Cut a strip across, into fewer cells where it holds too few outputs to learn from."""
    bins = min(PLANE_BINS, values.size // LEAST_IN_CELL)
    return np.unique(np.quantile(values, np.arange(1, bins) / bins)) if bins > 1 else np.empty(0)
