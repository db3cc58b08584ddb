"""Visits as centroids of groups of k: a baseline without differential privacy."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.curator.visits_publication import VisitsPublication
from geodp.errors import DataError, NotReleasable
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee
from geodp.tables.visits.histories import Histories, Integers, ReleasedVisits, Replacements, Venues

_WHY = "places are averaged over groups of k visits, which tells where groups were and bounds nobody's influence"


class KAnonymousVisits(VisitsPublication):
    """Every visit is replaced by the centroid of k neighbouring visits (k-anonymity): a baseline.

    Guarantee
    ---------
    None in the sense of differential privacy: the centroids follow exactly from the visits.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 12.4.5, baseline of figure 12.7.
    """

    kind: ClassVar[str] = "k_anonymous_visits"

    k: int = Field(default=10, ge=1)
    """Least number of visits in a group; 1 publishes the visits as they are (no privacy at all)."""

    def guarantee(self) -> Guarantee:
        """Promise nothing."""
        return Guarantee.none(_WHY)

    def release_with_truth(
        self, histories: Histories, venues: Venues, noise: Noise
    ) -> tuple[ReleasedVisits, Replacements]:
        """Publish the centroids, and keep for scoring which visit became which."""
        if noise.releasable:
            raise NotReleasable(f"k_anonymous_visits promises nothing: {_WHY}. It must not be released.")
        if histories.size < self.k:
            raise DataError(f"{histories.size} visits make no group of {self.k}")
        x_m, y_m = (values[histories.venue] for values in venues.places_m())
        group = groups_of(x_m, y_m, self.k)
        size = np.bincount(group)
        centre_x_m = (np.bincount(group, weights=x_m) / size)[group]
        centre_y_m = (np.bincount(group, weights=y_m) / size)[group]
        nowhere = histories.venue if self.k == 1 else np.full(histories.size, -1)
        order = np.lexsort((centre_y_m, centre_x_m, histories.person))
        released = ReleasedVisits(
            people=histories.people,
            person=histories.person[order],
            venue=nowhere[order],
            x_m=centre_x_m[order],
            y_m=centre_y_m[order],
            mechanism=self.kind,
            guarantee=self.guarantee(),
        )
        truth = Replacements(
            person=histories.person,
            true_venue=histories.venue,
            released_venue=nowhere,
            survived=np.ones(histories.size, np.bool_),
            x_m=centre_x_m,
            y_m=centre_y_m,
        )
        return released, truth


def groups_of(x_m: Array, y_m: Array, k: int) -> Integers:
    """Split points at medians, across the longer side, until a half would hold fewer than k."""
    group = np.zeros(x_m.size, dtype=np.int64)
    waiting, found = [np.arange(x_m.size)], 0
    while waiting:
        members = waiting.pop()
        if members.size < 2 * k:
            group[members] = found
            found += 1
            continue
        wide, high = np.ptp(x_m[members]), np.ptp(y_m[members])
        order = members[np.argsort(x_m[members] if wide >= high else y_m[members], kind="stable")]
        waiting += [order[: members.size // 2], order[members.size // 2 :]]
    return group
