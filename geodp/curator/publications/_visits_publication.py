"""What the publications of visits have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from geodp.curator.publications import Publication
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.guarantee import Guarantee
from geodp.privacy.noise import Noise
from geodp.visits.hierarchy import Hierarchy
from geodp.visits.histories import Histories, Venues
from geodp.visits.released_visits import ReleasedVisits, Replacements


class VisitsPublication(Publication):
    """Publications of everyone's visits over a public list of venues."""

    reads: ClassVar[frozenset[str]] = frozenset({"visits"})
    releases: ClassVar[frozenset[str]] = frozenset({"visits"})

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Say what one release guarantees."""

    @abstractmethod
    def audit_cases(self) -> list[AuditCase]:
        """Name the worst neighbouring inputs, each with a likelihood-ratio event ([] = nothing is claimed)."""

    def release(self, histories: Histories, venues: Venues, noise: Noise) -> ReleasedVisits:
        """Publish the visits, with noise from `noise` alone."""
        return self.release_with_truth(histories, venues, noise)[0]

    @abstractmethod
    def release_with_truth(
        self, histories: Histories, venues: Venues, noise: Noise
    ) -> tuple[ReleasedVisits, Replacements]:
        """Publish the visits, and keep for scoring which place took the place of which."""

    def check(self, histories: Histories, venues: Venues, hierarchy: Hierarchy) -> None:
        """Refuse what cannot be published, before anything is drawn."""

    def most_visits(self) -> int | None:
        """Return the public cap on one person's visits.

        None where there is none: a promise about one visit then says nothing about a person, whom no ledger can charge.
        """
        return None

    def expected_error(self, hierarchy: Hierarchy) -> tuple[str, dict[str, float]]:  # noqa: ARG002
        """Say how large the error will be, from public facts alone, in words and numbers."""
        return "How far visits move follows from the settings and is not known beforehand.", {}
