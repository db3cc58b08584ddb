"""Visits as centroids of groups of k people: a baseline without differential privacy."""

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

_WHY = (
    "no ε is claimed: places are averaged over neighbouring visits of k people, which tells where they were and bounds "
    "nobody's influence"
)


class KAnonymousVisits(VisitsPublication):
    """Every visit is replaced by the centroid of neighbouring visits of k people (k-anonymity): a baseline.

    Groups are of people: k visits of one regular guest are a group of one, who stands where she always does. Visits are
    split at medians for as long as both halves are of k people.

    Guarantee
    ---------
    None: no ε is claimed. The centroids follow exactly from the visits.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 12.4.5, baseline of figure 12.7.
    """

    kind: ClassVar[str] = "k_anonymous_visits"

    k: int = Field(default=10, ge=1)
    """Least number of people in a group; 1 publishes the visits as they are (no privacy at all)."""

    def guarantee(self) -> Guarantee:
        """Promise nothing."""
        return Guarantee.none(_WHY)

    def release_with_truth(
        self, histories: Histories, venues: Venues, noise: Noise
    ) -> tuple[ReleasedVisits, Replacements]:
        """Publish the centroids, and keep for scoring which visit became which."""
        if noise.releasable:
            raise NotReleasable(f"k_anonymous_visits promises nothing: {_WHY}. It must not be released.")
        people = np.unique(histories.person).size
        if people < self.k:
            raise DataError(
                f"k_anonymous_visits: the visits of {people:,} people make no group of k = {self.k:,}: use a "
                "smaller k. Nothing was published."
            )
        x_m, y_m = (values[histories.venue] for values in venues.places_m())
        group = groups_of(x_m, y_m, histories.person, self.k) if self.k > 1 else np.arange(histories.size)
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


def groups_of(x_m: Array, y_m: Array, person: Integers, k: int) -> Integers:
    """Split visits at medians, across the longer side or else the shorter one, while both halves are of k people."""
    group = np.zeros(x_m.size, dtype=np.int64)
    waiting, found = [np.arange(x_m.size)], 0
    while waiting:
        members = waiting.pop()
        halves = _halve(members, x_m, y_m, person, k) if members.size >= 2 * k else None
        if halves is None:
            group[members] = found
            found += 1
        else:
            waiting += halves
    return group


def _halve(members: Integers, x_m: Array, y_m: Array, person: Integers, k: int) -> list[Integers] | None:
    """Return both halves of some visits (None: either way one of them would be of fewer than k people)."""
    sides = sorted((x_m[members], y_m[members]), key=np.ptp, reverse=True)
    for place in sides:
        order = members[np.argsort(place, kind="stable")]
        halves = [order[: members.size // 2], order[members.size // 2 :]]
        if all(np.unique(person[half]).size >= k for half in halves):
            return halves
    return None
