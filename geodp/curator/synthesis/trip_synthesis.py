"""Synthesis trip by trip: ends, length and detour, a way over one place, and points where people are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.density import DENSITY, POINTS, Density, noisy_density
from geodp.curator.synthesis.detours import over_places
from geodp.curator.synthesis.epsilon_parts import Purse
from geodp.curator.synthesis.pace_along import points_along
from geodp.curator.synthesis.places import kept_inside
from geodp.curator.synthesis.shapes import SHAPES, Shapes, noisy_shapes
from geodp.curator.synthesis.spacing import SPACING, Spacing, noisy_spacing
from geodp.curator.synthesis.synthetic import stand_ins
from geodp.curator.synthesis.timing import DEPARTURES, PACES, Timing, noisy_timing
from geodp.curator.synthesis.trip_ends import COARSE_ENDS, FINE_ENDS, TRIPS, TripEnds, noisy_ends
from geodp.geometry import Region
from geodp.tables.trajectories.table import Trajectories

NUMBER = "number of trips"
SHARES = {
    DENSITY: 0.45,
    TRIPS: 0.22,
    FINE_ENDS: 0.09,
    COARSE_ENDS: 0.08,
    SHAPES: 0.06,
    NUMBER: 0.02,
    SPACING: 0.03,
    POINTS: 0.02,
    DEPARTURES: 0.015,
    PACES: 0.015,
}
"""Parts of ε: found by sweeps over generated trips; densities gain most from more, lengths least."""


@dataclass(frozen=True)
class TripSettings:
    """Public settings."""

    most_points: int = 1000
    period_s: float = 86_400.0


@dataclass(frozen=True, eq=False)
class TripModel:
    """Everything that was counted with noise; trips drawn from it cost nothing more."""

    number: int
    shapes: Shapes
    spacing: Spacing
    density: Density
    ends: TripEnds
    timing: Timing
    region: Region

    def drawn(self, rng: np.random.Generator, count: int | None = None) -> Trajectories:
        """Draw as many synthetic trips as the noisy number of real ones, or `count`."""
        size = self.number if count is None else count
        length_m, wanted_m = self.shapes.drawn(size, rng)
        ends = self.ends.drawn(wanted_m, rng)
        # The k-th longest distance gets the shape with the k-th longest one: distances and lengths keep both laws.
        apart_m, longest = ends.apart_m, np.empty(size)
        longest[np.argsort(apart_m)] = length_m[np.argsort(wanted_m)]
        length_m = np.maximum(longest, apart_m)
        points = self.spacing.points(length_m, rng)
        paths = over_places(ends, length_m, points, self.density, self.region, rng)
        first, x_m, y_m = points_along(paths, points, self.density)
        x_m, y_m = kept_inside(self.region, first, x_m, y_m, rng)
        return stand_ins(first, self.timing.times(first, rng), x_m, y_m)


def fitted_trips(trajectories: Trajectories, region: Region, purse: Purse, settings: TripSettings) -> TripModel:
    """Count everything that the model needs, with noise from the purse alone."""
    number = max(1, round(float(purse.counts(NUMBER, np.array([trajectories.size]))[0])))
    widest_m = max(region.width_m, region.height_m)
    return TripModel(
        number,
        noisy_shapes(trajectories, purse, number, widest_m),
        noisy_spacing(trajectories, purse, widest_m, settings.most_points),
        noisy_density(trajectories, region, purse, total=number, most_points=settings.most_points),
        noisy_ends(trajectories, region, purse, number),
        noisy_timing(trajectories, trajectories.counts, purse, total=number, period_s=settings.period_s),
        region,
    )
