"""How much published visits are worth, and how well they hide people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, PublicationMetric, RecordErrors
from geodp.metrics.intervals import mean, share
from geodp.run_folder import visit_scores as scores
from geodp.run_folder.visit_scores import read_scored_visits

if TYPE_CHECKING:
    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


class VisitMetric(PublicationMetric):
    """Metrics of published visits."""

    published: ClassVar[str] = "visits"


class PriLocationDistanceError(VisitMetric, RecordErrors):
    """Distance between true and published place over the sensitivity HS of the person's level (DE).

    DE_u is the mean over the visits of user u that survived (added ones have no true place, deleted ones no published
    one: `visit_count_error` counts those); DE is the mean over users with any. The book divides by the number of
    published visits and leaves added and deleted ones undefined. Interval: t, over users.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, eq. (12.17) and (12.18).
    """

    kind: ClassVar[str] = "prilocation_distance_error"
    label: ClassVar[str] = "distance of published visits from the true ones"
    unit: ClassVar[str] = "of HS"

    def errors(self, run: RunFolder, item: PublishedRun) -> Array:
        """Return the mean distance of every person's visits."""
        found = read_scored_visits(run, item)
        return scores.distance_errors(found.replacements, found.hierarchy, found.sensitivity_m)


class VisitCountError(VisitMetric, RecordErrors):
    """Mean difference between the true and the published number of visits of a person, up or down.

    All true visits count, also those beyond the publication's cap. Interval: t, over people.
    """

    kind: ClassVar[str] = "visit_count_error"
    label: ClassVar[str] = "error of published numbers of visits"
    unit: ClassVar[str] = "visits"

    def errors(self, run: RunFolder, item: PublishedRun) -> Array:
        """Return the difference of every person's numbers."""
        found = read_scored_visits(run, item)
        return scores.count_errors(found.histories, found.released)


class SameDistrictShare(VisitMetric):
    """Share of surviving visits whose published place lies in the same unit of a level as the true one.

    `same_<level>_share` for every level of the hierarchy, and `chance_<level>_share` beside it: what a place drawn
    blindly from all venues of the area above finds, the mean over true visits. A level is hidden where the first is no
    larger than the second. `same_district_share` is always there: the level of that name, else the one above the
    finest; so is `same_city_share`: the level of that name, else the coarsest. Undefined (null) without such levels,
    and where places are no venues. Interval: Wilson, over visits.
    """

    kind: ClassVar[str] = "same_district_share"
    label: ClassVar[str] = "visits in the same district"
    labels: ClassVar[Mapping[str, str]] = {"same_city_share": "visits in the same city"}
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "higher"

    @classmethod
    def key_starts(cls) -> tuple[str, ...]:
        """Return how the keys of all levels begin."""
        return (cls.kind, "same_", "chance_")

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:
        """Compare units of true and published places."""
        found = read_scored_visits(run, item)
        levels = found.hierarchy.levels
        moved = found.replacements
        kept = moved.survived & (moved.released_venue >= 0)
        shares = {}
        for name in dict.fromkeys(("district", "city", *levels)):
            unit = found.hierarchy.units[name] if name in levels else found.find_units(name)
            key = f"same_{name}_share"
            if unit is None:
                shares[key] = Measured(None, has_interval=True)
                continue
            same = unit[moved.true_venue[kept]] == unit[moved.released_venue[kept]]
            shares[key] = share(int(same.sum()), int(same.size))
        for name in levels:
            chance = scores.chance_of_unit(found.hierarchy, name)[moved.true_venue[kept]]
            shares[f"chance_{name}_share"] = Measured(float(chance.mean()) if chance.size else None)
        return shares


class PopularityTau(VisitMetric):
    """Kendall's tau-b between true and published numbers of visits of venues, and the share of the top 20 kept.

    Undefined (null) where places are no venues (centroids). `popularity_top20` is the share of the 20 most visited
    venues that are also among the 20 most visited as published.
    """

    kind: ClassVar[str] = "popularity_tau"
    label: ClassVar[str] = "agreement of popular venues (τ)"
    labels: ClassVar[Mapping[str, str]] = {"popularity_top20": "top 20 venues kept"}
    unit: ClassVar[str] = "tau"
    units: ClassVar[Mapping[str, str]] = {"popularity_top20": "share"}
    better: ClassVar[str] = "higher"

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:
        """Rank venues by true and by published visits."""
        found = read_scored_visits(run, item)
        if not found.names_venues:
            return {self.kind: Measured(None), "popularity_top20": Measured(None)}
        tau, kept = scores.popularity(found.histories, found.released, found.venues, top=20)
        return {self.kind: _as_measured(tau), "popularity_top20": Measured(kept)}


class CategoryHistogramError(VisitMetric):
    """Half the L1 distance between the shares of categories among true and among published visits (0 to 1).

    Undefined (null) where venues have no category, or places are no venues.
    """

    kind: ClassVar[str] = "category_histogram_error"
    label: ClassVar[str] = "error of the shares of categories"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:
        """Compare the two histograms."""
        found = read_scored_visits(run, item)
        if not found.names_venues:
            return {self.kind: Measured(None)}
        return {self.kind: _as_measured(scores.category_error(found.histories, found.released, found.venues))}


class ReidentifiedShare(VisitMetric):
    """Share of people whose published rows, names taken off, are matched to their true visits at the first guess.

    The adversary knows everyone's true visits and the public clusters, and picks the person with the least sum of
    differences between published and true numbers per cluster; `reidentified_top5` allows five guesses,
    `reidentified_by_chance` is what guessing blindly finds. At most 2,000 people are looked for. It is what this attack
    finds, and no bound on what others may. Interval: t, over people.
    """

    kind: ClassVar[str] = "reidentified_share"
    label: ClassVar[str] = "people re-identified"
    labels: ClassVar[Mapping[str, str]] = {"reidentified_top5": "people among the first five guesses"}
    unit: ClassVar[str] = "share"
    units: ClassVar[Mapping[str, str]] = {"reidentified_top5": "share"}
    better: ClassVar[str] = "lower"

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:
        """Match published rows to people."""
        found = read_scored_visits(run, item)
        matching = scores.match_people(found.histories, found.released, found.venues)
        return {
            self.kind: _of_people(matching.shares(1)),
            "reidentified_top5": _of_people(matching.shares(5)),
            "reidentified_by_chance": Measured(1 / matching.people),
        }


def _of_people(shares: Array) -> Measured:
    """Return the mean of probabilities, its interval kept between 0 and 1."""
    found = mean(shares)
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


def _as_measured(value: float) -> Measured:
    return Measured(value if math.isfinite(value) else None)
