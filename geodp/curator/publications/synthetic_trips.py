"""Synthetic trips from ends, lengths, detours and densities of whole trips."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from geodp.curator.synthesis.densities import DENSITY
from geodp.curator.synthesis.epsilon_parts import EpsilonParts, split
from geodp.curator.synthesis.trip_ends import COARSE_ENDS, FINE_ENDS
from geodp.curator.synthesis.trip_model import NUMBER, TripModel, fit_trip_model, shares_in_noise
from geodp.curator.trips_publication import TripModelPublication, require_inside
from geodp.geometry import Array, Region
from geodp.tables.trajectories.table import Trajectories


class SyntheticTrips(TripModelPublication):
    """Synthetic trips drawn from noisy counts of ends, lengths, detours and densities of whole trips.

    Guarantee
    ---------
    `unit: person`: ε-differential privacy for everything one person did, of which at most `trajectories_per_person`
    trips count; noise grows with that number. `unit: trajectory`: ε for one trip; a person with k trips is protected at
    k·ε only. Under a cap one trip more may push another one out, so the noise is then twice as wide. The region, caps
    and grids are public; the number of trips, their lengths, times, ends and densities are all counted with noise, and
    synthetic trips follow from the noisy counts alone.

    Reference
    ---------
    Ours: at the same ε it keeps ends, lengths and densities better than chains of moves (`dpt`), and does not zigzag.
    """

    kind: ClassVar[str] = "synthetic_trips"

    def parts(self) -> dict[str, float]:
        """Return ε of every part of the release; together they are the ε of the guarantee."""
        return split(self.epsilon, shares_in_noise(self.crowd() / self.epsilon))

    def fit(self, trajectories: Trajectories, region: Region, parts: EpsilonParts) -> TripModel:
        """Count whole trips, with noise from the parts of ε alone."""
        return fit_trip_model(
            trajectories,
            region,
            parts,
            most_points=self.most_points,
            period_s=self.period_s,
            weights=self.weigh_trips(trajectories),
        )

    def cap_trips(self, trajectories: Trajectories, region: Region, key: bytes = b"") -> Trajectories:
        """Return the trips that count: of a person all of them, where they can count less each (`unit: person`)."""
        if self.unit == "person":
            return require_inside(trajectories, region)
        return super().cap_trips(trajectories, region, key)

    def weigh_trips(self, trajectories: Trajectories) -> Array | None:
        """Return what each trip counts for: a person's trips together for the cap at most; None: 1 each.

        A hard cap would throw trips away, and the ones that are left say less about where people go.
        """
        if self.unit != "person" or self.cap is None or not trajectories.size:
            return None
        of_person = np.bincount(trajectories.person, minlength=1)
        return np.minimum(1.0, self.cap / of_person[trajectories.person])

    def _number_part(self) -> tuple[str, int]:
        return NUMBER, 1

    def _bound_counts_per_trip(self) -> dict[str, float]:
        return {COARSE_ENDS: 2.0, FINE_ENDS: 2.0, DENSITY: float(self.most_points)}
