"""Small tables of visits for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geodp.privacy.keyed_choice import user_words
from geodp.run_folder.visit_scores import distance_errors
from geodp.tables.visits.hierarchy import Hierarchy
from geodp.tables.visits.histories import Replacements
from geodp.tables.visits.visit_sets import VisitSets, visit_sets


def table(rows: Sequence[Sequence[int]], venues: int) -> VisitSets:
    """Return a table from the venues of each user."""
    number = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    venue = np.array([place for row in rows for place in row], dtype=np.int64)
    return visit_sets(user_words([f"u{index}" for index in range(len(rows))]), number, venue, venues)


def long_tailed(users: int, venues: int, sizes: np.ndarray, seed: int = 0) -> VisitSets:
    """Return users with the given numbers of venues (before repeats), drawn by popularity with a long tail."""
    rng = np.random.default_rng(seed)
    weight = (np.arange(venues) + 2.0) ** -0.9
    rows = [
        rng.choice(venues, min(int(size), venues), replace=False, p=weight / weight.sum()) for size in sizes[:users]
    ]
    return table([row.tolist() for row in rows], venues)


def distance_error(truth: Replacements, hierarchy: Hierarchy, sensitivity_m: float) -> float:
    """Return the mean over people of DE, in units of one sensitivity for all (12.17-12.18)."""
    people = int(truth.person.max(initial=-1)) + 1
    return float(np.nanmean(distance_errors(truth, hierarchy, np.full(people, sensitivity_m))))


def same_unit_share(truth: Replacements, hierarchy: Hierarchy, level: str) -> float:
    """Return the share of surviving visits whose published place lies in the same unit (city, district) as the true."""
    unit = hierarchy.units[level]
    kept = truth.survived & (truth.released_venue >= 0)
    return float(np.mean(unit[truth.true_venue[kept]] == unit[truth.released_venue[kept]]))
