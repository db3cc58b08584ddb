"""Workers with a day of trips on a street network, without any data."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.geometry import Region
from geodp.model import bound_field
from geodp.tables.trajectories.generated_trips import TripSizes, generate_trips
from geodp.world.population import Population
from geodp.world.sources import Source


class StreetTrips(Source):
    """Workers on a generated street network, each with trips over one day: homes, habits, rush hours, red lights.

    Mobility `replay` moves them along their trips by the time of day. Streets are bent rows and columns with
    arterial roads; popular places gather in a few centres.
    """

    kind: ClassVar[str] = "street_trips"

    count: int = bound_field("people are kept in memory", default=500, gt=0, le=10_000_000)
    """Number of workers."""
    trips_per_worker: float = bound_field("they are trips of one day", default=6.0, ge=1, le=500)
    """Mean number of trips of a worker on the day."""
    points_per_trip: float = bound_field("a trip lasts hours at most", default=25.0, ge=2, le=10_000)
    """Mean number of fixes of a trip."""
    habit: float = Field(default=0.6, ge=0, le=1)
    """Probability that a trip goes home or to one of three favourite places; 0 for taxis."""
    block_m: float = Field(default=250.0, gt=0)
    """Distance between streets (m)."""

    def has_times(self) -> bool:
        """Tell that there are no recorded fixes."""
        return False

    def has_trips(self) -> bool:
        """Tell whether there are trips."""
        return True

    def public_count(self) -> int:
        """Return the number of workers: the scenario states it."""
        return self.count

    def load(self, region: Region, rng: np.random.Generator) -> Population:
        """Draw the day's trips; workers start where their first trip does."""
        trips = round(self.count * self.trips_per_worker)
        points = max(2 * trips, round(trips * self.points_per_trip))
        sizes = TripSizes(people=self.count, trips=trips, points=points, habit=self.habit, block_m=self.block_m)
        day = generate_trips(sizes, region, rng)
        begins = day.first[:-1][day.rank == 0]
        home = np.empty(self.count, dtype=np.int64)
        home[day.person[day.rank == 0]] = begins
        return Population(day.x_m[home], day.y_m[home], trips=day)
