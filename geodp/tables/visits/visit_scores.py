"""How much published visits are worth, and how well they hide: numbers for the holder of the truth."""

from __future__ import annotations

import numpy as np

from geodp.geometry import Array
from geodp.tables.visits.hierarchy import Hierarchy
from geodp.tables.visits.histories import Histories, Venues
from geodp.tables.visits.released_visits import ReleasedVisits, Replacements


def distance_error(truth: Replacements, hierarchy: Hierarchy, sensitivity_m: float) -> float:
    """Return DE: distance between true and published place in units of HS, per person, then over people (12.17-12.18).

    The book does not say what it is for visits that were added or deleted; it is taken over those that survived.
    """
    each = distance_errors(truth, hierarchy, np.full(int(truth.person.max(initial=-1)) + 1, sensitivity_m))
    return float(np.nanmean(each)) if np.isfinite(each).any() else float("nan")


def distance_errors(truth: Replacements, hierarchy: Hierarchy, sensitivity_m: Array) -> Array:
    """Return DE_u of every person in units of the sensitivity of their level (NaN: no visit survived)."""
    kept = truth.survived
    person, place = truth.person[kept], truth.true_venue[kept]
    away = np.hypot(truth.x_m[kept] - hierarchy.x_m[place], truth.y_m[kept] - hierarchy.y_m[place])
    people = sensitivity_m.size
    number, total = np.bincount(person, minlength=people), np.bincount(person, weights=away, minlength=people)
    return np.asarray(np.divide(total, number * sensitivity_m, out=np.full(people, np.nan), where=number > 0))


def count_error(histories: Histories, released: ReleasedVisits) -> float:
    """Return the mean difference between true and published numbers of visits per person."""
    return float(count_errors(histories, released).mean())


def count_errors(histories: Histories, released: ReleasedVisits) -> Array:
    """Return the difference between true and published numbers of visits of every person."""
    people = len(histories.people)
    true = np.bincount(histories.person, minlength=people)
    told = np.bincount(released.person, minlength=people)
    return np.asarray(np.abs(true - told), dtype=np.float64)


def popularity(histories: Histories, released: ReleasedVisits, venues: Venues, top: int = 20) -> tuple[float, float]:
    """Return Kendall's tau-b between true and published visit counts of venues, and the share of the top k kept."""
    from scipy.stats import kendalltau

    true = np.bincount(histories.venue, minlength=venues.size)
    told = np.bincount(released.venue[released.venue >= 0], minlength=venues.size)
    tau = float(kendalltau(true, told).statistic)
    best = [set(np.argsort(-counts, kind="stable")[:top].tolist()) for counts in (true, told)]
    return tau, len(best[0] & best[1]) / min(top, venues.size)


def category_error(histories: Histories, released: ReleasedVisits, venues: Venues) -> float:
    """Return half the L1 distance between the shares of categories in true and published visits."""
    if venues.category is None:
        return float("nan")
    code = np.unique(venues.category.astype(str), return_inverse=True)[1].reshape(-1)
    shares = []
    for visited in (histories.venue, released.venue[released.venue >= 0]):
        counts = np.bincount(code[visited], minlength=int(code.max()) + 1)
        shares.append(counts / max(int(counts.sum()), 1))
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def same_unit_share(truth: Replacements, hierarchy: Hierarchy, level: str) -> float:
    """Return the share of surviving visits whose published place lies in the same unit (city, district) as the true."""
    hierarchy.require(level)
    unit = hierarchy.units[level]
    kept = truth.survived & (truth.released_venue >= 0)
    if not kept.any():
        return float("nan")
    return float(np.mean(unit[truth.true_venue[kept]] == unit[truth.released_venue[kept]]))
