"""Where workers have been, visit by visit, over a public list of venues; verb: `visits`."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from geodp.geometry import Region
from geodp.registry import FilePlugin
from geodp.tables.positions import FirstRows
from geodp.tables.visits.histories import Histories, Venues
from geodp.world.mobility import Mobility
from geodp.world.population import Population


class VisitSource(FilePlugin):
    """Family of sources of visits: what publications of visits, and phones that tell about them, start from."""

    family: ClassVar[str] = "visit_source"

    @abstractmethod
    def visits(
        self, population: Population, region: Region, *, duration_s: float, rng: np.random.Generator
    ) -> tuple[Histories, Venues]:
        """Return everyone's visits and the public list of venues.

        `time_s` of a visit is in seconds from the start of the run: before it (negative) or within its duration.
        """

    def follow(self, mobility: Mobility) -> None:
        """Learn how workers move; ValueError where such visits cannot come of it."""

    def public_levels(self) -> tuple[str, ...]:
        """Return the levels of the public hierarchy, coarsest first."""
        return ()

    def public_categories(self) -> tuple[str, ...]:
        """Return the names of the public categories of venues."""
        return ()

    def public_venues(self) -> int:
        """Return how many venues the public list has."""
        return 0

    def look(self, region: Region) -> FirstRows | None:  # noqa: ARG002 - made-up visits come from no file
        """Look at the size of the data file, refusing what could not be read (None: there is no file)."""
        return None
