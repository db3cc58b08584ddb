"""Synthetic trips from ends, lengths, detours and densities of whole trips."""

from __future__ import annotations

from typing import ClassVar

from geodp.curator.synthesis.densities import DENSITY
from geodp.curator.synthesis.epsilon_parts import EpsilonParts, split
from geodp.curator.synthesis.trip_ends import COARSE_ENDS, FINE_ENDS
from geodp.curator.synthesis.trip_model import NUMBER, SHARES, TripModel, fit_trip_model
from geodp.curator.trips_publication import TripModelPublication
from geodp.geometry import Region
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
        return split(self.epsilon, SHARES)

    def fit(self, trajectories: Trajectories, region: Region, parts: EpsilonParts) -> TripModel:
        """Count whole trips, with noise from the parts of ε alone."""
        return fit_trip_model(trajectories, region, parts, most_points=self.most_points, period_s=self.period_s)

    def _number_part(self) -> tuple[str, int]:
        return NUMBER, 1

    def _bound_counts_per_trip(self) -> dict[str, float]:
        return {COARSE_ENDS: 2.0, FINE_ENDS: 2.0, DENSITY: float(self.most_points)}
