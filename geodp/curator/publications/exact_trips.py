"""Trips as they are, for comparison."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from geodp.curator.synthesis.epsilon_parts import Receipt
from geodp.curator.trips_publication import DEFAULT_CAP, TripsPublication
from geodp.errors import NotReleasable
from geodp.geometry import Region
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee
from geodp.tables.trajectories.table import Trajectories

_AS_THEY_ARE = "the trajectories themselves are published"


class ExactTrips(TripsPublication):
    """The trips as they are: the yardstick that every private publication of trips is compared with.

    Guarantee
    ---------
    None: true trips are published.
    """

    kind: ClassVar[str] = "exact_trips"

    trajectories_per_person: int | None = Field(default=DEFAULT_CAP, ge=1)
    """Maximum number of trips per person: public (null: all of them)."""

    def guarantee(self) -> Guarantee:
        """Promise nothing."""
        return Guarantee.none(_AS_THEY_ARE)

    def release_with_receipts(
        self, trajectories: Trajectories, region: Region, noise: Noise
    ) -> tuple[Trajectories, tuple[Receipt, ...]]:
        """Publish the trips; nothing is paid for."""
        if noise.releasable:
            raise NotReleasable(f"exact_trips promises nothing: {_AS_THEY_ARE}. It must not be released.")
        return self.cap_trips(trajectories, region), ()

    def expected_error(self) -> tuple[str, dict[str, float]]:
        """Say that there is none."""
        return "Trips are exact.", {}
