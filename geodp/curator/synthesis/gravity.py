"""Numbers of trips between zones: noisy counts drawn towards what starts, ends and distances would lead to expect."""

from __future__ import annotations

import numpy as np

from geodp.curator.synthesis.consistency import fitted_total
from geodp.curator.synthesis.zones import Zones
from geodp.geometry import Array

_CLASSES = 12
_ROUNDS = 8


def settled_trips(noisy: Array, zones: Zones, scale: float, total: float) -> Array:
    """Return trips from zone to zone, not negative, `total` together.

    A gravity model (trips in proportion to those that leave, those that arrive, and a factor for the distance) is
    fitted to sums of the noisy counts, which are far more exact than single ones. Every count is then a mean of itself
    and of the model, weighted by how much real counts scatter around the model against the variance 2b² of the noise
    (empirical Bayes): where the noise says nothing, the model does.
    """
    expected = _gravity(noisy, zones, total)
    rest = noisy - expected
    # The scatter of real counts grows with the count: var = v · expected^1.5 lies between chance and proportion.
    shape = expected**1.5
    strength = max(0.0, float((rest**2).sum()) - 2 * scale**2 * noisy.size) / max(float(shape.sum()), 1e-9)
    trust = strength * shape / (strength * shape + 2 * scale**2)
    return fitted_total((expected + trust * rest).ravel(), total).reshape(noisy.shape)


def _gravity(noisy: Array, zones: Zones, total: float) -> Array:
    leaving = fitted_total(noisy.sum(axis=1), total) + 1e-6
    arriving = fitted_total(noisy.sum(axis=0), total) + 1e-6
    x_m, y_m = zones.centres
    away = np.hypot(x_m[:, None] - x_m, y_m[:, None] - y_m)
    edges = np.quantile(away, np.linspace(0, 1, _CLASSES + 1))
    distance = np.clip(np.searchsorted(edges, away, side="right") - 1, 0, _CLASSES - 1)
    np.fill_diagonal(distance, _CLASSES)
    by_class = np.bincount(distance.ravel(), noisy.ravel(), _CLASSES + 1).astype(np.float64)
    of_class = fitted_total(by_class, total) + 1e-6
    expected = np.outer(leaving, arriving) / total
    for _ in range(_ROUNDS):  # iterative proportional fitting
        now = np.bincount(distance.ravel(), expected.ravel(), _CLASSES + 1)
        expected *= (of_class / np.maximum(now, 1e-9))[distance]
        expected *= (leaving / np.maximum(expected.sum(axis=1), 1e-9))[:, None]
        expected *= arriving / np.maximum(expected.sum(axis=0), 1e-9)
    return expected
