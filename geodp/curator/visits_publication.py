"""What the publications of visits have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from geodp.curator.publications import Publication, Published, Records
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.tables.notices import notice_cap
from geodp.tables.visits.hierarchy import Hierarchy, diameter_m, hierarchy_of
from geodp.tables.visits.histories import Histories, Names, ReleasedVisits, Replacements, Venues

if TYPE_CHECKING:
    import pandas as pd

DEGREE_DIGITS = 7
"""Decimals of published degrees: about a centimetre."""


class VisitsPublication(Publication):
    """Publications of everyone's visits over a public list of venues."""

    reads: ClassVar[frozenset[str]] = frozenset({"visits"})
    releases: ClassVar[frozenset[str]] = frozenset({"visits"})

    def release(self, histories: Histories, venues: Venues, noise: Noise) -> ReleasedVisits:
        """Publish the visits, with noise from `noise` alone."""
        return self.release_with_truth(histories, venues, noise)[0]

    @abstractmethod
    def release_with_truth(
        self, histories: Histories, venues: Venues, noise: Noise
    ) -> tuple[ReleasedVisits, Replacements]:
        """Publish the visits, and keep for scoring which place took the place of which."""

    def publish(self, records: Records, noise: Noise) -> Published:
        """Publish everyone's visits: one row per published visit, no order within a person but that of the places."""
        import pandas as pd

        histories, venues = records.visits()
        notice_cap(self.kind, np.bincount(histories.person), self.most_visits(), "visits")
        released, truth = self.release_with_truth(histories, venues, noise)
        hierarchy = hierarchy_of(venues)
        people = pd.DataFrame(
            {
                "user": histories.people.astype(str),
                "level": pd.array(self.levels_of(histories.people), dtype="string"),
                "sensitivity_m": self.sensitivities_m(histories.people, hierarchy),
            }
        )
        chosen = people["level"].fillna(hierarchy.levels[-1] if hierarchy.levels else "none").value_counts()
        facts: dict[str, Any] = {
            "levels": list(hierarchy.levels),
            "people_by_level": {str(level): int(number) for level, number in chosen.items()},
        }
        if released.cluster is not None:
            facts["cluster"] = released.cluster.tolist()
        frames = {"replacements": replacements_frame(truth), "people": people}
        return Published(make_released_frame(released, venues), frames, facts)

    def levels_of(self, people: Names) -> list[str | None]:
        """Return the level of the hierarchy that each person chose (None: the finest)."""
        return [None] * len(people)

    def sensitivities_m(self, people: Names, hierarchy: Hierarchy) -> Array:
        """Return the sensitivity HS of each person's level, metres: the yardstick of errors."""
        finest = hierarchy.sensitivity_m(hierarchy.levels[-1]) if hierarchy.levels else 0.0
        return np.full(len(people), finest or diameter_m(hierarchy.x_m, hierarchy.y_m))

    def check_records(self, records: Records) -> None:
        """Refuse what cannot be published, before anything is charged or drawn."""
        histories, venues = records.visits()
        self.require_people(histories.people)
        self.check(histories, venues, hierarchy_of(venues))

    def require_people(self, people: Names) -> None:
        """Refuse settings that name somebody who is not there; whoever calls this makes that known."""

    def check(self, histories: Histories, venues: Venues, hierarchy: Hierarchy) -> None:
        """Refuse what cannot be published, before anything is drawn."""

    def most_visits(self) -> int | None:
        """Return the public cap on one person's visits.

        None where there is none: a promise about one visit then says nothing about a person, whom no ledger can charge.
        """
        return None

    def most_contributions(self) -> int | None:
        """Return the public cap on one person's visits."""
        return self.most_visits()

    def expected_error(self, hierarchy: Hierarchy) -> tuple[str, dict[str, float]]:  # noqa: ARG002
        """Say how large the error will be, from public facts alone, in words and numbers."""
        return "How far visits move follows from the settings and is not known beforehand.", {}


def make_released_frame(released: ReleasedVisits, venues: Venues) -> pd.DataFrame:
    """Return published visits as a table: user, venue (missing for a place that is no venue), lon, lat."""
    import pandas as pd

    lon, lat = venues.region().projection.to_lonlat(x_m=released.x_m, y_m=released.y_m)
    names = np.array([*venues.name, None], dtype=np.object_)  # a centroid (-1) is no venue
    return pd.DataFrame(
        {
            "user": released.people[released.person].astype(str),
            "venue": pd.array(names[released.venue], dtype="string"),
            "lon": np.round(lon, DEGREE_DIGITS),
            "lat": np.round(lat, DEGREE_DIGITS),
        }
    )


def replacements_frame(truth: Replacements) -> pd.DataFrame:
    """Return which place took the place of which; people and venues by number, places in the plane of the venues."""
    import pandas as pd

    return pd.DataFrame(
        {
            "person": truth.person,
            "true_venue": truth.true_venue,
            "released_venue": truth.released_venue,
            "survived": truth.survived,
            "x_m": truth.x_m,
            "y_m": truth.y_m,
        }
    )
