"""How much privacy budget a report needs: EpicRec's quantification (S-PBQ), with three rules for stopping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from geodp.device.history_reports._calibration import calibrated_scales
from geodp.device.history_reports._fitting import fitted_history
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import with_laplace
from geodp.tables.visits.catalogue import Catalogue

Rule = Literal["relative", "prose", "literal"]
RULES: tuple[Rule, ...] = ("relative", "prose", "literal")
_ENOUGH = 0.05
"""The relative rule stops when an improvement is below this share of the error."""


@dataclass(frozen=True)
class Search:
    """How the budget is searched for; no private data are read, so it costs nothing."""

    step: float = 0.02
    """δ: budgets tried are δ, 2δ, …"""
    most: float = 1.0
    """No larger budget is chosen."""
    repeats: int = 10
    """Searches on random public histories, averaged."""


def quantified_epsilon(
    catalogue: Catalogue, noise: Noise, *, rule: Rule = "relative", search: Search | None = None
) -> float:
    """Return the budget above which the error falls no more by much, from public data alone (algorithm 2)."""
    search = search or Search()
    scales = calibrated_scales(catalogue.membership, 1.0)
    found = [_one_search(catalogue, scales, noise, rule, search) for _ in range(search.repeats)]
    return float(np.mean(found))


def error_curve(catalogue: Catalogue, scales: Array, noise: Noise, search: Search) -> list[float]:
    """Return err(1), err(2), … of one random public history, up to the largest budget."""
    curve = _Curve(catalogue, scales, noise, search.step)
    return [curve.error(i) for i in range(1, round(search.most / search.step) + 1)]


def _one_search(catalogue: Catalogue, scales: Array, noise: Noise, rule: Rule, search: Search) -> float:
    curve = _Curve(catalogue, scales, noise, search.step)
    errors: list[float] = []
    for i in range(1, round(search.most / search.step) + 1):
        errors.append(curve.error(i))
        if stops(errors, rule):
            return (i - 1) * search.step
    return search.most


def stops(errors: list[float], rule: Rule) -> bool:
    """Tell whether the search ends after err(1) … err(i).

    The printed rule, err(i) - err(i-1) ≥ err(i-1) - err(i-2), is true at i = 3 for every convex falling curve, so it
    always answers 2δ (at i = 2 it would need err(0)). The prose, "improvement no smaller than the one before", stops at
    the first jitter of the rounding. Ours stops when the improvement is below 5 % of the error.
    """
    if len(errors) < (2 if rule == "relative" else 3):
        return False
    change = errors[-1] - errors[-2]
    if rule == "relative":
        return -change < _ENOUGH * errors[-2]
    before = errors[-2] - errors[-3]
    return change >= before if rule == "literal" else -change >= -before


class _Curve:
    """The error of one random public history as the budget grows; its noise is drawn once and scaled."""

    def __init__(self, catalogue: Catalogue, scales: Array, noise: Noise, step: float) -> None:
        chosen = noise.uniform(catalogue.items) < catalogue.typical_items / catalogue.items
        self._aggregates = catalogue.membership.T @ chosen
        self._noise = with_laplace(np.zeros(scales.size), 1.0, noise) * scales
        self._catalogue, self._luck, self._step = catalogue, noise, step

    def error(self, i: int) -> float:
        """Return err(i) = ‖l + r‖₁/c + 1/(iδ) with the rounded history."""
        catalogue = self._catalogue
        target = self._aggregates + self._noise / (i * self._step)
        told = fitted_history(target, catalogue, np.ones(catalogue.items), self._luck)
        miss = np.abs(catalogue.membership.T @ told - target)
        return float(miss.sum() / miss.size + 1 / (i * self._step))
