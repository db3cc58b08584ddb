"""Synthetic trips from ends, lengths, detours and densities of whole trips."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
from pydantic import Field, PrivateAttr

from geodp.curator.publications import Published, Records
from geodp.curator.synthesis.densities import DENSITY
from geodp.curator.synthesis.epsilon_parts import EpsilonParts, split
from geodp.curator.synthesis.trip_ends import COARSE_ENDS, FINE_ENDS
from geodp.curator.synthesis.trip_model import NUMBER, TripModel, fit_trip_model, shares_in_noise
from geodp.curator.trips_publication import TripModelPublication, require_inside
from geodp.geometry import Array, Region
from geodp.privacy.noise import Noise
from geodp.public.streets import StreetNetwork, open_streets
from geodp.tables.trajectories.generated_trips import make_up_streets
from geodp.tables.trajectories.table import Trajectories

GENERATED = "generated"


class SyntheticTrips(TripModelPublication):
    """Synthetic trips drawn from noisy counts of ends, lengths, detours and densities of whole trips, also on streets.

    With `streets` trips follow public streets; without, they go straight on from place to place. Either way a trip that
    detours far passes several places.

    Guarantee
    ---------
    `unit: person`: ε-differential privacy for everything one person did, which counts for `trajectories_per_person`
    trips at most: of a person with more trips all count, each for less. Noise grows with that number. `unit:
    trajectory`: ε for one trip; a person with k trips is protected at k·ε only. Under a cap one trip more may push
    another one out, so the noise is then twice as wide. The region, caps, grids and streets are public; the number of
    trips, their lengths, detours, times, ends and densities are all counted with noise, and synthetic trips follow
    from the noisy counts and the streets alone.

    Reference
    ---------
    Ours: at the same ε it keeps ends, lengths and densities better than chains of moves (`dpt`), and does not zigzag.
    """

    kind: ClassVar[str] = "synthetic_trips"
    file_fields: ClassVar[tuple[str, ...]] = ("streets",)

    streets: str = ""
    """A file of public lines (GeoJSON, GeoParquet, GeoPackage, shapefile) that trips follow; `generated` for the
    streets of the run, or for made-up ones; '' for none. Streets are passable both ways; islands are left out."""

    turns_share: float = Field(default=0.0, ge=0, le=0.5)
    """Part of ε for noisy counts of turns between parts of the streets' network; 0, because in sweeps it cost ends and
    densities more than it gave routes."""

    _network: Any = PrivateAttr(default=None)

    def files(self) -> list[Path]:
        """Return the file of streets, where there is one."""
        return [] if self.streets == GENERATED else super().files()

    def on_streets(self, network: StreetNetwork) -> Self:
        """Return a copy whose trips follow a public network."""
        found = self.model_copy()
        found._network = network
        return found

    def find_network(self, region: Region) -> StreetNetwork | None:
        """Return the public streets that trips follow, if any; read or made anew for the region."""
        if self._network is not None or not self.streets:
            return cast("StreetNetwork | None", self._network)
        if self.streets == GENERATED:
            return make_up_streets(region)
        return open_streets(Path(self.streets), region)

    def check_records(self, records: Records) -> None:
        """Refuse streets that do not fit the region."""
        super().check_records(records)
        self.find_network(records.region)

    def publish(self, records: Records, noise: Noise) -> Published:
        """Publish the trips of a run, on its own streets where they are asked for."""
        own = records.streets() if self.streets == GENERATED else None
        return TripModelPublication.publish(self if own is None else self.on_streets(own), records, noise)

    def parts(self) -> dict[str, float]:
        """Return ε of every part of the release; together they are the ε of the guarantee."""
        on_streets = bool(self.streets) or self._network is not None
        turns = self.turns_share if on_streets else 0.0
        return split(self.epsilon, shares_in_noise(self.crowd() / self.epsilon, turns))

    def idle_fields(self) -> dict[str, str]:
        """Return the share of turns where there are no streets to turn at."""
        return {} if self.streets else {"turns_share": "without streets"}

    def fit(self, trajectories: Trajectories, region: Region, parts: EpsilonParts) -> TripModel:
        """Count whole trips, with noise from the parts of ε alone."""
        return fit_trip_model(
            trajectories,
            region,
            parts,
            most_points=self.most_points,
            period_s=self.period_s,
            weights=self.weigh_trips(trajectories),
            streets=self.find_network(region),
        )

    @property
    def hard_cap(self) -> int | None:
        """The cap beyond which trips are not used; a person's trips beyond it count for less each (`unit: person`)."""
        return None if self.unit == "person" else self.cap

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
