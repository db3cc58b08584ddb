"""How much published visits are worth, and how well they hide: numbers for the holder of the truth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.visits.hierarchy import Hierarchy
from geodp.visits.histories import Histories, Integers, Venues
from geodp.visits.released_visits import ReleasedVisits, Replacements


def distance_error(truth: Replacements, hierarchy: Hierarchy, sensitivity_m: float) -> float:
    """Return DE: distance between true and published place in units of HS, per person, then over people (12.17-12.18).

    The book does not say what it is for visits that were added or deleted; it is taken over those that survived.
    """
    kept = truth.survived
    person, place = truth.person[kept], truth.true_venue[kept]
    away = np.hypot(truth.x_m[kept] - hierarchy.x_m[place], truth.y_m[kept] - hierarchy.y_m[place])
    number = np.bincount(person)
    total = np.bincount(person, weights=away)
    present = number > 0
    return float(np.mean(total[present] / number[present]) / sensitivity_m) if present.any() else float("nan")


def count_error(histories: Histories, released: ReleasedVisits) -> float:
    """Return the mean difference between true and published numbers of visits per person."""
    people = len(histories.people)
    true = np.bincount(histories.person, minlength=people)
    told = np.bincount(released.person, minlength=people)
    return float(np.abs(true - told).mean())


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


def reidentified_share(histories: Histories, released: ReleasedVisits, venues: Venues, top: int = 1) -> float:
    """Return the share of people whose published rows, names taken off, are matched to them among the `top` best.

    The adversary knows everyone's true visits and scores every pair by the overlap of places, weighted by how rare
    they are. Hiding single visits hides nobody: rows of one person stay together and look like that person.
    """
    from scipy.sparse import csr_matrix

    people, label = len(histories.people), released.cluster
    bins: Integers = np.arange(venues.size) if label is None else label
    width = int(bins.max()) + 1

    def profile(person: Integers, venue: npt.NDArray[np.int64]) -> Array:
        keep = venue >= 0
        ones = np.ones(int(keep.sum()))
        table = csr_matrix((ones, (person[keep], bins[venue[keep]])), shape=(people, width)).toarray()
        rarity = np.log(people / (1 + np.count_nonzero(table, axis=0)) + 1.0)
        weighted = np.sqrt(table) * rarity
        length = np.linalg.norm(weighted, axis=1, keepdims=True)
        return np.asarray(weighted / np.maximum(length, 1e-12))

    likeness = profile(released.person, released.venue) @ profile(histories.person, histories.venue).T
    own = np.diag(likeness)[:, None]
    better, alike = (likeness > own + 1e-12).sum(axis=1), (np.abs(likeness - own) <= 1e-12).sum(axis=1)
    return float(np.mean(np.clip((top - better) / alike, 0.0, 1.0)))  # among equals the adversary guesses
