"""Visits that are the stays of the workers' own lives."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field, PrivateAttr

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.tables.visits.histories import Histories, Venues
from geodp.world.mobility import Mobility, PlaceList
from geodp.world.motion import LivedMotion, Motion, worker_names
from geodp.world.population import Population
from geodp.world.visit_sources import VisitSource
from geodp.world.weekly_diaries import HOME, OUT, WORK

_NO_PLACES = "'from_mobility' tells where people stayed: it needs a mobility that keeps their stays (kind: epr)"


class FromMobility(VisitSource):
    """Visits as the workers' own lives have them, before the run and during it: needs mobility `epr`.

    Histories, movements and trips of a worker then come from one life. Stays at home and at work count as visits to the
    public venue nearest to them; whether each is told is drawn by itself.
    """

    kind: ClassVar[str] = "from_mobility"

    home_share: float = Field(default=0.0, ge=0, le=1)
    """Share of the homecomings that are told."""
    work_share: float = Field(default=1.0, ge=0, le=1)
    """Share of the arrivals at work that are told."""
    out_share: float = Field(default=1.0, ge=0, le=1)
    """Share of all other stays that are told."""

    _mobility: Mobility | None = PrivateAttr(default=None)

    def follow(self, mobility: Mobility) -> None:
        """Learn how workers move: the list of places is that of their mobility."""
        if type(mobility).list_places is Mobility.list_places:
            raise ValueError(_NO_PLACES)
        self._mobility = mobility

    def observe(self, motion: Motion, rng: np.random.Generator) -> tuple[Histories, Venues]:
        """Return the visits of people who have moved so."""
        if not isinstance(motion, LivedMotion) or motion.told is None or motion.venues is None:
            raise DataError(f"workers.visit_source: {_NO_PLACES}.")
        told = motion.told
        share = np.zeros(3)
        share[[HOME, WORK, OUT]] = self.home_share, self.work_share, self.out_share
        kept = rng.random(told.kind.size) < share[told.kind]
        people = worker_names(motion.workers)
        return Histories(people, told.person[kept], told.venue[kept], np.floor(told.time_s[kept])), motion.venues

    def visits(
        self,
        population: Population,  # noqa: ARG002
        region: Region,  # noqa: ARG002
        *,
        duration_s: float,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> tuple[Histories, Venues]:
        """Refuse: visits follow from how people moved, which `observe` is told."""
        raise DataError(f"workers.visit_source: {_NO_PLACES}.")

    def public_levels(self) -> tuple[str, ...]:
        """Return the levels of the mobility's list of places."""
        return self._places().levels

    def public_categories(self) -> tuple[str, ...]:
        """Return the categories of the mobility's list of places."""
        return self._places().categories

    def public_venues(self) -> int:
        """Return how many places the mobility knows."""
        return self._places().size

    def _places(self) -> PlaceList:
        listed = None if self._mobility is None else self._mobility.list_places()
        return PlaceList((), (), 0) if listed is None else listed
