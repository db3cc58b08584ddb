"""Synthesis trip by trip: ends, length and detour, a way over one place, and points where people are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.densities import DENSITY, POINTS, Density, count_density
from geodp.curator.synthesis.epsilon_parts import EpsilonParts
from geodp.curator.synthesis.paths import WantedTrips, choose_paths
from geodp.curator.synthesis.points_on_paths import move_inside, place_points, synthetic_trajectories
from geodp.curator.synthesis.trip_ends import COARSE_ENDS, FINE_ENDS, TRIPS, TripEnds, count_trip_ends
from geodp.curator.synthesis.trip_shapes import (
    DEPARTURES,
    EXTENTS,
    PACES,
    SHAPES,
    SPACING,
    Extents,
    Shapes,
    Spacing,
    Timing,
    count_extents,
    count_shapes,
    count_spacing,
    count_timing,
)
from geodp.geometry import Region
from geodp.tables.trajectories.table import Trajectories

NUMBER = "number of trips"
SHARES = {
    DENSITY: 0.40,
    EXTENTS: 0.05,
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


@dataclass(frozen=True, eq=False)
class TripModel:
    """Everything that was counted with noise; trips drawn from it cost nothing more."""

    number: int
    shapes: Shapes
    extents: Extents
    spacing: Spacing
    density: Density
    ends: TripEnds
    timing: Timing
    region: Region

    def draw(self, rng: np.random.Generator, count: int | None = None) -> Trajectories:
        """Draw as many synthetic trips as the noisy number of real ones, or `count`."""
        size = self.number if count is None else count
        length_m, wanted_m = self.shapes.draw(size, rng)
        ends = self.ends.draw(wanted_m, rng)
        # The k-th longest distance gets the shape with the k-th longest one: distances and lengths keep both laws.
        apart_m, longest = ends.apart_m, np.empty(size)
        longest[np.argsort(apart_m)] = length_m[np.argsort(wanted_m)]
        length_m = np.maximum(longest, apart_m)
        points = self.spacing.points(length_m, rng)
        wanted = WantedTrips(ends, length_m, self.extents.draw(length_m, apart_m, rng), points)
        paths = choose_paths(wanted, self.density, self.region, rng)
        first, x_m, y_m = place_points(paths, points, self.density)
        x_m, y_m = move_inside(self.region, first, x_m, y_m, rng)
        return synthetic_trajectories(first, self.timing.times(first, rng), x_m, y_m)


def fit_trip_model(
    trajectories: Trajectories, region: Region, parts: EpsilonParts, *, most_points: int, period_s: float
) -> TripModel:
    """Count everything that the model needs, with noise from the parts of ε alone."""
    number = max(1, round(float(parts.add_noise(NUMBER, np.array([trajectories.size]))[0])))
    widest_m = max(region.width_m, region.height_m)
    return TripModel(
        number=number,
        shapes=count_shapes(trajectories, parts, number, widest_m),
        extents=count_extents(trajectories, parts),
        spacing=count_spacing(trajectories, parts, widest_m, most_points),
        density=count_density(trajectories, region, parts, total=number, most_points=most_points),
        ends=count_trip_ends(trajectories, region, parts, number),
        timing=count_timing(trajectories, trajectories.counts, parts, total=number, period_s=period_s),
        region=region,
    )
