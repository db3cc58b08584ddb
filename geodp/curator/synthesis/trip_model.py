"""Synthesis trip by trip: ends, length and detour, a way over one place, and points where people are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.densities import DENSITY, POINTS, Density, count_density, count_points
from geodp.curator.synthesis.epsilon_parts import EpsilonParts, round_down
from geodp.curator.synthesis.grids import Integers
from geodp.curator.synthesis.noisy_histograms import NoisyHistogram
from geodp.curator.synthesis.paths import WantedTrips, choose_paths, sharpen_along_lines
from geodp.curator.synthesis.points_on_paths import TravelPaths, move_inside, place_points, synthetic_trajectories
from geodp.curator.synthesis.street_routes import choose_routes
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
from geodp.curator.synthesis.turns import TURNS, Turns, count_turns
from geodp.geometry import Array, Region
from geodp.public.streets import StreetNetwork
from geodp.tables.trajectories.table import Trajectories

NUMBER = "number of trips"
SHARES = {
    DENSITY: 0.305,
    EXTENTS: 0.05,
    TRIPS: 0.26,
    FINE_ENDS: 0.08,
    COARSE_ENDS: 0.11,
    SHAPES: 0.085,
    NUMBER: 0.02,
    SPACING: 0.025,
    POINTS: 0.02,
    DEPARTURES: 0.03,
    PACES: 0.015,
}
"""Parts of ε where noise is narrow: found by sweeps over generated trips; densities and trips gain most from more."""
SHARES_IN_WIDE_NOISE = {
    DENSITY: 0.23,
    TRIPS: 0.22,
    FINE_ENDS: 0.02,
    COARSE_ENDS: 0.15,
    SHAPES: 0.10,
    EXTENTS: 0.02,
    NUMBER: 0.015,
    SPACING: 0.03,
    POINTS: 0.01,
    DEPARTURES: 0.19,
    PACES: 0.015,
}
"""Parts of ε where noise is wide: what few numbers tell (hours, lengths) must stand out before anything else can."""
_NARROW, _WIDE = 1.0, 10.0
_WIDE_NOISE_OF_POINTS = 0.01
"""Scale of noise over the number of trips from which numbers of points follow from spacing alone."""


def shares_in_noise(scale: float, turns: float = 0.0) -> dict[str, float]:
    """Return the parts of ε for a release whose count of trips would have noise of this scale, if it were all of it.

    `turns` is the share for turns on a public network, if they are counted, too; all others become less for it.

    Between narrow noise (1: one trip, ε = 1) and wide noise (10: ten trips of a person) shares change geometrically.
    """
    place = float(np.clip(np.log(scale / _NARROW) / np.log(_WIDE / _NARROW), 0.0, 1.0))
    parts = {part: share ** (1 - place) * SHARES_IN_WIDE_NOISE[part] ** place for part, share in SHARES.items()}
    return parts | {TURNS: turns * sum(parts.values()) / (1 - turns)} if turns else parts


@dataclass(frozen=True, eq=False)
class TripModel:
    """Everything that was counted with noise; trips drawn from it cost nothing more."""

    number: int
    shapes: Shapes
    extents: Extents
    spacing: Spacing
    of_points: NoisyHistogram
    density: Density
    ends: TripEnds
    timing: Timing
    region: Region
    streets: StreetNetwork | None = None
    """Public streets along which trips go; None: straight on."""
    turns: Turns | None = None

    def draw(self, rng: np.random.Generator, count: int | None = None) -> Trajectories:
        """Draw as many synthetic trips as the noisy number of real ones, or `count`."""
        size = self.number if count is None else count
        length_m, wanted_m = self.shapes.draw(size, rng)
        ends = self.ends.draw(wanted_m, rng)
        # The k-th longest distance gets the shape with the k-th longest one: distances and lengths keep both laws.
        apart_m, longest = ends.apart_m, np.empty(size)
        longest[np.argsort(apart_m)] = length_m[np.argsort(wanted_m)]
        length_m = np.maximum(longest, apart_m)
        points = self._draw_points(length_m, rng)
        wanted = WantedTrips(ends, length_m, self.extents.draw(length_m, apart_m, rng), points)
        paths: TravelPaths
        density = self.density
        if self.streets is None:
            density = sharpen_along_lines(wanted, density, self.region, rng)
            paths = choose_paths(wanted, density, self.region, rng)
        else:
            paths = choose_routes(wanted, density, self.region, self.streets, rng, turns=self.turns)
        first, x_m, y_m = place_points(paths, points, density)
        x_m, y_m = move_inside(self.region, first, x_m, y_m, rng)
        return synthetic_trajectories(first, self.timing.times(first, rng), x_m, y_m)

    def _draw_points(self, length_m: Array, rng: np.random.Generator) -> Integers:
        """Draw numbers of points for paths of given lengths: as spacing says, and as numbers are spread."""
        points = self.spacing.points(length_m, rng)
        if self.of_points.scale >= _WIDE_NOISE_OF_POINTS * self.number:
            return points
        # The trip with the k-th most points by its spacing gets the k-th greatest number.
        number = np.clip(np.floor(self.of_points.draw(points.size, rng)), 2, self.spacing.most_points)
        points[np.lexsort((rng.random(points.size), points))] = np.sort(number)
        return points


def fit_trip_model(
    trajectories: Trajectories,
    region: Region,
    parts: EpsilonParts,
    *,
    most_points: int,
    period_s: float,
    weights: Array | None = None,
    streets: StreetNetwork | None = None,
) -> TripModel:
    """Count everything that the model needs, with noise from the parts of ε alone.

    Without `weights` every trip counts once.
    """
    counted = np.array([trajectories.size])
    if weights is not None:
        counted = np.array([round_down(weights, parts.scale(NUMBER)).sum()])
    number = max(1, round(float(parts.add_noise(NUMBER, counted)[0])))
    widest_m = max(region.width_m, region.height_m)
    of_points = count_points(trajectories, parts, total=number, most_points=most_points, weights=weights)
    shapes = count_shapes(trajectories, parts, number, widest_m, weights)
    return TripModel(
        number=number,
        shapes=shapes,
        extents=count_extents(trajectories, parts, shapes.detouring, widest_m, weights),
        spacing=count_spacing(trajectories, parts, widest_m, most_points, total=number, weights=weights),
        of_points=of_points,
        density=count_density(trajectories, region, parts, total=number, of_points=of_points, weights=weights),
        ends=count_trip_ends(trajectories, region, parts, number, weights),
        timing=count_timing(trajectories, trajectories.counts, parts, total=number, period_s=period_s, weights=weights),
        region=region,
        streets=streets,
        turns=count_turns(trajectories, streets, parts, number, weights)
        if streets is not None and TURNS in parts.epsilons
        else None,
    )
