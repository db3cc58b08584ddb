"""How much published visits and counts are worth, and how well they hide: numbers for the holder of the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.tables.visits.hierarchy import Hierarchy, hierarchy_of
from geodp.tables.visits.histories import Histories, Integers, ReleasedVisits, Replacements, Venues

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


def distance_errors(truth: Replacements, hierarchy: Hierarchy, sensitivity_m: Array) -> Array:
    """Return DE_u of every person in units of the sensitivity of their level (NaN: no visit survived)."""
    person, away = truth.person[truth.survived], find_displacements(truth, hierarchy)
    people = sensitivity_m.size
    number, total = np.bincount(person, minlength=people), np.bincount(person, weights=away, minlength=people)
    return np.asarray(np.divide(total, number * sensitivity_m, out=np.full(people, np.nan), where=number > 0))


def find_displacements(truth: Replacements, hierarchy: Hierarchy) -> Array:
    """Return how far every surviving visit was moved, metres."""
    kept = truth.survived
    place = truth.true_venue[kept]
    return np.hypot(truth.x_m[kept] - hierarchy.x_m[place], truth.y_m[kept] - hierarchy.y_m[place])


def same_unit_share(truth: Replacements, unit: npt.NDArray[np.int64]) -> float:
    """Return the share of surviving visits whose published place lies in the same unit as the true one."""
    kept = truth.survived & (truth.released_venue >= 0)
    return float(np.mean(unit[truth.true_venue[kept]] == unit[truth.released_venue[kept]]))


def count_error(histories: Histories, released: ReleasedVisits) -> float:
    """Return the mean difference between true and published numbers of visits per person."""
    return float(count_errors(histories, released).mean())


def count_errors(histories: Histories, released: ReleasedVisits) -> Array:
    """Return the difference between true and published numbers of visits of every person."""
    people = len(histories.people)
    true = np.bincount(histories.person, minlength=people)
    published = np.bincount(released.person, minlength=people)
    return np.asarray(np.abs(true - published), dtype=np.float64)


def popularity(histories: Histories, released: ReleasedVisits, venues: Venues, top: int = 20) -> tuple[float, float]:
    """Return Kendall's tau-b between true and published visit counts of venues, and the share of the top k kept."""
    from scipy.stats import kendalltau

    true = np.bincount(histories.venue, minlength=venues.size)
    published = np.bincount(released.venue[released.venue >= 0], minlength=venues.size)
    tau = float(kendalltau(true, published).statistic)
    best = [set(np.argsort(-counts, kind="stable")[:top].tolist()) for counts in (true, published)]
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


SANITY = 0.001
"""Relative errors divide by at least so large a share of the users (0.1 %)."""
TOP = 50


Numbers = npt.NDArray[np.float64]


def absolute_errors(released: npt.ArrayLike, true: npt.ArrayLike) -> Numbers:
    """Return |released - true| of every venue; their mean is the MAE."""
    return np.abs(np.asarray(released, dtype=np.float64) - np.asarray(true, dtype=np.float64))


def relative_errors(released: npt.ArrayLike, true: npt.ArrayLike, users: int) -> Numbers:
    """Return |released - true| / max(true, 0.1 % of users) of every venue; their mean is the MRE with sanity bound."""
    least = SANITY * max(users, 1)
    return np.asarray(absolute_errors(released, true) / np.maximum(np.asarray(true, dtype=np.float64), least))


def top_venues(true: npt.ArrayLike, top: int = TOP) -> npt.NDArray[np.int64]:
    """Return the venues with the largest true counts (the first ones among equals)."""
    return np.argsort(-np.asarray(true, dtype=np.float64), kind="stable")[:top]


def top_accuracy(released: npt.ArrayLike, true: npt.ArrayLike, top: int = TOP) -> float:
    """Return the share of the true top venues that are among the released top.

    Venues of one group share a released number; among equals at the border any is as likely as another.
    """
    published = np.asarray(released, dtype=np.float64)
    top = min(top, published.size)
    border = np.partition(published, published.size - top)[published.size - top]
    above, equal = published > border, published == border
    wanted = np.zeros(published.size, dtype=np.bool_)
    wanted[top_venues(true, top)] = True
    lucky = (top - np.count_nonzero(above)) * np.count_nonzero(equal & wanted) / np.count_nonzero(equal)
    return float((np.count_nonzero(above & wanted) + lucky) / top)


MOST_PEOPLE = 2000
_BLOCK = 250


@dataclass(frozen=True, eq=False)
class Matching:
    """How well every person looked for was matched."""

    nearer: Integers
    """How many others' true visits look more like the person's published rows than their own do."""
    alike: Integers
    """How many look exactly as like, the person among them."""
    people: int
    """Among how many they were looked for."""

    def shares(self, top: int) -> Array:
        """Return for each person the probability of being among the `top` best guesses (equals are drawn by lot)."""
        return np.asarray(np.clip((top - self.nearer) / self.alike, 0.0, 1.0))

    def share(self, top: int = 1) -> float:
        """Return the share of people who are among the `top` best guesses."""
        return float(self.shares(top).mean())


def chance_of_unit(hierarchy: Hierarchy, level: str) -> Array:
    """Return for every venue the chance that a venue drawn from the area above a level lies in the same unit of it."""
    unit, parent = hierarchy.units[level], hierarchy.parent_of(level)
    above = np.zeros(unit.size, dtype=np.int64) if parent is None else hierarchy.units[parent]
    return np.asarray(np.bincount(unit)[unit] / np.bincount(above)[above])


def match_people(histories: Histories, released: ReleasedVisits, venues: Venues, most: int = MOST_PEOPLE) -> Matching:
    """Match the published rows of at most `most` people to all people.

    The adversary knows everyone's true visits and the public clusters. Published numbers per cluster are true ones with
    two-sided exponential noise, so the likeliest person is the one with the least sum of differences |published - true|
    over clusters (over venues where there are no clusters; a centroid counts as the venue nearest to it). Hiding single
    visits hides nobody: the rows of one person stay together and look like that person.
    """
    from scipy.spatial.distance import cdist

    bins = np.arange(venues.size) if released.cluster is None else released.cluster
    people, width = len(histories.people), int(bins.max()) + 1
    venue = _as_venues(released, venues)
    published = _numbers(released.person, bins[venue], people, width)[:most]
    true = _numbers(histories.person, bins[histories.venue], people, width)
    nearer, alike = np.zeros(len(published), dtype=np.int64), np.zeros(len(published), dtype=np.int64)
    for start in range(0, len(published), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(published)))
        apart = cdist(published[rows], true, "cityblock")
        own = apart[np.arange(rows.size), rows][:, None]
        nearer[rows] = np.count_nonzero(apart < own, axis=1)
        alike[rows] = np.count_nonzero(apart == own, axis=1)
    return Matching(nearer, alike, people)


def _as_venues(released: ReleasedVisits, venues: Venues) -> Integers:
    """Return the venue of every published visit; for a place that is none, the nearest."""
    from scipy.spatial import cKDTree

    venue = released.venue.copy()
    nowhere = venue < 0
    if nowhere.any():
        tree = cKDTree(np.column_stack(venues.places_m()))
        venue[nowhere] = tree.query(np.column_stack([released.x_m[nowhere], released.y_m[nowhere]]))[1]
    return venue


def _numbers(person: Integers, bins: Integers, people: int, width: int) -> Array:
    count = np.bincount(person * width + bins, minlength=people * width)
    return count.reshape(people, width).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ScoredVisits:
    """One publication of visits with everything a score needs."""

    histories: Histories
    venues: Venues
    hierarchy: Hierarchy
    released: ReleasedVisits
    replacements: Replacements
    sensitivity_m: Array
    """HS of each person's level, metres."""

    @property
    def names_venues(self) -> bool:
        """Whether published places are venues, and not centroids of some."""
        return bool((self.released.venue >= 0).any())

    def find_units(self, part: str) -> Integers | None:
        """Return each venue's unit of the level that plays a part, `city` or `district`.

        It is the level of that name, else the coarsest (city) or the one above the finest. None where the hierarchy has
        too few levels for it.
        """
        levels = self.hierarchy.levels
        city = levels[0] if len(levels) > 1 else None
        district = levels[-2] if len(levels) > 2 else (levels[-1] if levels else None)
        level = part if part in levels else city if part == "city" else district
        return None if level is None else self.hierarchy.units[level]


def read_scored_visits(run: RunFolder, item: PublishedRun) -> ScoredVisits:
    """Read a publication of visits and the truth behind it (once per opened run)."""
    cache: dict[str, ScoredVisits] = run.__dict__.setdefault("_scored_visits", {})
    if item.name not in cache:
        cache[item.name] = _read_scored(run, item)
    return cache[item.name]


def _read_scored(run: RunFolder, item: PublishedRun) -> ScoredVisits:
    histories, venues, frame = run.visits, run.venues, item.released
    number = {name: place for place, name in enumerate(histories.people.tolist())}
    x_m, y_m = venues.region().projection.to_m(lon=frame["lon"].to_numpy(), lat=frame["lat"].to_numpy())
    label = item.facts.get("cluster")
    released = ReleasedVisits(
        people=histories.people,
        person=frame["user"].map(number).to_numpy(dtype=np.int64),
        venue=venues.numbers_of(frame["venue"].tolist()),
        x_m=x_m,
        y_m=y_m,
        mechanism=item.kind,
        guarantee=item.guarantee,
        cluster=None if label is None else np.array(label, dtype=np.int64),
    )
    rows = item.truth("replacements")
    replaced = Replacements(**{name: rows[name].to_numpy() for name in rows.columns})
    people = item.truth("people")
    order = people.set_index("user")["sensitivity_m"].reindex(histories.people.astype(str)).to_numpy(dtype=np.float64)
    return ScoredVisits(
        histories=histories,
        venues=venues,
        hierarchy=hierarchy_of(venues),
        released=released,
        replacements=replaced,
        sensitivity_m=order,
    )
