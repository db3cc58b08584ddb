"""One count of people who depend on each other, with noise for a stated model of how they do."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from geodp.curator.publications import Publication, Published, Records
from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.privacy.dependence import Dependence, count_laws, wasserstein_distance
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import laplace_counts
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.tables.trajectories.table import Trajectories

_LARGEST = 200
"""Beyond it the law of a household is not worked out."""


class WassersteinCount(Publication):
    """How many people were in an area at a time, once, with noise for a stated model of households.

    Guarantee
    ---------
    ε-Pufferfish privacy for whether one person was there, against everyone but the curator who believes the stated
    model: households of at most `household` people, of whom the others do as one of them does with a known chance, all
    together (`model: copies`) or each by her own coin (`independent`), and people of different households independent.
    Noise Lap(W/ε), W the largest gap between equal quantiles of the count's laws given that she was there, and that she
    was not. Who knows more, or believes another model, may learn more. It adds up with nothing, not with itself: it is
    published once, and its ε enters no sum. What the ledger charges is the ordinary price of the same count for one
    person who is added or removed, ε/W, which does add up.

    Reference
    ---------
    Song, Wang and Chaudhuri 2017, Pufferfish privacy mechanisms for correlated data (recalled); Kifer and
    Machanavajjhala 2014, Pufferfish (Zhu et al. 2017, Differential Privacy and Applications, section 14.3.1).
    """

    kind: ClassVar[str] = "wasserstein_count"
    reads: ClassVar[frozenset[str]] = frozenset({"trajectories"})
    releases: ClassVar[frozenset[str]] = frozenset({"count"})
    one_off: ClassVar[bool] = True

    epsilon: float = Field(default=1.0, gt=0)
    """ε for one person's answer, under the model."""
    household: int = Field(default=4, ge=1, le=_LARGEST)
    """People of the largest household: a public cap."""
    degree: float = Field(default=0.5, ge=0, le=1)
    """Chance with which the others do as one of them does: public, never learnt from these people."""
    model: Dependence = "copies"
    """Whether all others do so together (`copies`), or each by her own coin (`independent`)."""
    share: float = Field(default=0.5, gt=0, lt=1)
    """Chance to be there of whoever decides alone: public."""
    area: tuple[float, float, float, float] | None = None
    """West, south, east and north of the area, degrees; null: all of the region."""
    from_s: float = 0.0
    """Counted is who was there at this time or later (s, on the clock of the trips)."""
    to_s: float | None = None
    """… and not later than this (s); null: without end."""

    @field_validator("area")
    @classmethod
    def _in_order(cls, area: tuple[float, float, float, float] | None) -> tuple[float, float, float, float] | None:
        if area is not None and not (area[0] < area[2] and area[1] < area[3]):
            raise ValueError(f"west must be less than east, and south less than north, got {list(area)}")
        return area

    @model_validator(mode="after")
    def _ends_after(self) -> Self:
        if self.to_s is not None and self.to_s < self.from_s:
            raise ValueError(f"to_s must not be earlier than from_s ({self.from_s:g}), got {self.to_s:g}")
        return self

    def idle_fields(self) -> dict[str, str]:
        """Return the model where everyone lives alone."""
        return dict.fromkeys(("degree", "model", "share"), "where everyone lives alone") if self.household == 1 else {}

    @property
    def distance(self) -> int:
        """W: how far apart the count's laws are, given either answer, at most: of households of any size up to k."""
        sizes = range(1, self.household + 1)
        return max(wasserstein_distance(*count_laws(size, self.degree, self.model, self.share)) for size in sizes)

    def publish(self, records: Records, noise: Noise) -> Published:
        """Count everybody once, and add noise."""
        import pandas as pd

        count = self.count_people(records.trajectories(), records.region)
        noisy = laplace_counts([count], epsilon=self.epsilon, sensitivity=self.distance, noise=noise)
        facts = {"distance": self.distance, "noise_scale": self.distance / self.epsilon}
        return Published(pd.DataFrame({"people": noisy}), {"people": pd.DataFrame({"people": [count]})}, facts)

    def count_people(self, trips: Trajectories, region: Region) -> int:
        """Return how many people have a point in the area at the time."""
        inside = trips.time_s >= self.from_s
        if self.to_s is not None:
            inside &= trips.time_s <= self.to_s
        if self.area is not None:
            lon, lat = np.array(self.area[::2]), np.array(self.area[1::2])
            (west, east), (south, north) = region.projection.to_m(lon=lon, lat=lat)
            inside &= (trips.x_m >= west) & (trips.x_m <= east) & (trips.y_m >= south) & (trips.y_m <= north)
        return int(np.unique(trips.person[trips.owner[inside]]).size)

    def check_records(self, records: Records) -> None:
        """Refuse an area that the region does not touch: its count would be noise alone."""
        if self.area is None:
            return
        region, (west, south, east, north) = records.region, self.area
        if east < region.west or west > region.east or north < region.south or south > region.north:
            raise UsageError(f"area: {list(self.area)} lies outside the region. Nothing was released or charged.")

    def guarantee(self) -> Guarantee:
        """Promise ε for one person's answer, under the model."""
        return Guarantee(self.epsilon, Unit.ANSWER, Neighbours.MODEL, Trust.CENTRAL, people=self.household)

    def cost(self) -> Guarantee:
        """Return the ordinary price of the count for one person, which adds up."""
        return Guarantee(self.epsilon / self.distance, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)

    def together(self) -> str:
        """Say what it is worth beside other releases."""
        return (
            f"It is published once: ε = {self.epsilon:g} adds up with nothing. Noise is {self.distance} times as wide "
            "as for one person alone, so one person who is added or removed costs "
            f"ε = {self.epsilon / self.distance:.4g}, which the ledger is charged."
        )

    def expected_error(self) -> tuple[str, dict[str, float]]:
        """Say how large the noise is."""
        scale = self.distance / self.epsilon
        return f"The count is wrong by {scale:.3g} on average.", {"mean_absolute_noise": scale}
