"""Random waypoint movement that is stationary from the first second."""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from geodp.geometry import Array, Region
from geodp.model import bound_field
from geodp.world.bounds import GREATEST_SPEED_MPS, LEAST_SPEED_MPS, SO_FAST
from geodp.world.mobility import Mobility
from geodp.world.motion import Knots, Motion, Places, blocks, distance_m, join_blocks, round_places
from geodp.world.population import Population


class RandomWaypoint(Mobility):
    """Workers walk straight to a random place, pause, and go on to the next, in steady state from the start.

    Waypoints are uniform in the region, speeds uniform between their bounds, pauses exponential. The run
    begins in the stationary law of this process, so that neither density nor speed drifts; where the source
    put the workers is not used. In a region with dents, straight legs may cut across what lies outside it.

    Reference
    ---------
    Le Boudec, Vojnović 2005, Perfect simulation and stationarity of a class of mobility models (INFOCOM).
    """

    kind: ClassVar[str] = "random_waypoint"

    min_speed_mps: float = bound_field(SO_FAST, default=1.0, ge=LEAST_SPEED_MPS, le=GREATEST_SPEED_MPS)
    """Least speed of a leg (m/s)."""
    max_speed_mps: float = bound_field(SO_FAST, default=12.0, ge=LEAST_SPEED_MPS, le=GREATEST_SPEED_MPS)
    """Greatest speed of a leg (m/s)."""
    pause_s: float = Field(default=120.0, ge=0)
    """Mean pause at a waypoint (s)."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.max_speed_mps < self.min_speed_mps:
            low, high = self.min_speed_mps, self.max_speed_mps
            raise ValueError(f"max_speed_mps must be at least min_speed_mps ({low:g}), got {high:g}")
        return self

    @property
    def seconds_per_m(self) -> float:
        """Mean of 1 / speed over the legs."""
        low, high = self.min_speed_mps, self.max_speed_mps
        return math.log(high / low) / (high - low) if high > low else 1 / low

    def turns(self, region: Region, duration_s: float) -> float:
        """Return about two points for every leg and pause; a leg is about half of the region's side long."""
        leg_s = 0.52 * math.sqrt(region.width_m * region.height_m) * self.seconds_per_m
        return 3.0 + 2.0 * duration_s / max(self.pause_s + leg_s, 1e-9)

    def move(
        self,
        population: Population,
        region: Region,
        *,
        start_s: float,  # noqa: ARG002 - stationary: the same at any time of day
        duration_s: float,
        rng: np.random.Generator,
    ) -> Motion:
        """Return everyone's legs and pauses until the end of the run."""
        return join_blocks(
            self._walk(block.stop - block.start, region, duration_s, rng).columns() for block in blocks(population.size)
        )

    def _walk(self, workers: int, region: Region, duration_s: float, rng: np.random.Generator) -> Knots:
        """Walk one block: rounds of a pause and a leg, for those who are still short of the run's end."""
        knots = Knots(workers)
        x, y, time_s = self._steady_start(knots, region, rng)
        awake = np.flatnonzero(time_s < duration_s)
        while awake.size:
            if self.pause_s > 0:
                time_s[awake] += rng.exponential(self.pause_s, awake.size)
                knots.add(awake, time_s[awake], x[awake], y[awake])
                awake = awake[time_s[awake] < duration_s]
            to_x, to_y = round_places(region, *region.sample(awake.size, rng))
            speed_mps = rng.uniform(self.min_speed_mps, self.max_speed_mps, awake.size)
            time_s[awake] += distance_m(x[awake], y[awake], to_x, to_y) / speed_mps
            x[awake], y[awake] = to_x, to_y
            knots.add(awake, time_s[awake], to_x, to_y)
            awake = awake[time_s[awake] < duration_s]
        return knots

    def _steady_start(self, knots: Knots, region: Region, rng: np.random.Generator) -> tuple[Places, Places, Array]:
        """Draw the stationary state at time 0; return where and when everyone reaches the first waypoint.

        In the stationary law a worker is pausing with probability P / (P + E[1/V] E[L]), at a uniform place,
        and since pauses are exponential the rest of a pause is again a whole one: the waypoint is reached at
        0. Otherwise the leg has density proportional to its length L, the worker is at a uniform point of it,
        and the speed has density proportional to 1/v. E[L] of a polygon has no closed form and is not needed:
        with D no less than any L and c = E[1/V], pausing is proposed with probability P / (P + c D), else a
        leg between two uniform points is accepted with probability L / D, else all is drawn again. The odds
        of pausing to moving are then P to c D E[L] / D, as they should be.
        """
        workers = knots.count.size
        x, y = np.empty(workers, np.float32), np.empty(workers, np.float32)
        time_s = np.zeros(workers)
        longest_m = _longest_leg_m(region)
        propose_pause = self.pause_s / (self.pause_s + self.seconds_per_m * longest_m)
        undecided = np.arange(workers)
        while undecided.size:
            pausing = rng.random(undecided.size) < propose_pause
            to_x, to_y = region.sample(undecided.size, rng)
            from_x, from_y = region.sample(undecided.size, rng)
            length_m = np.hypot(to_x - from_x, to_y - from_y)
            moving = ~pausing & (rng.random(undecided.size) * longest_m < length_m)
            done = pausing | moving
            x[undecided[done]], y[undecided[done]] = round_places(region, to_x[done], to_y[done])
            movers = undecided[moving]
            ahead = rng.random(movers.size)  # share of the leg that is still to go
            here_x = to_x[moving] + ahead * (from_x - to_x)[moving]
            here_y = to_y[moving] + ahead * (from_y - to_y)[moving]
            here = round_places(region, here_x, here_y)
            knots.add(movers, np.zeros(movers.size), *here)
            span = self.max_speed_mps / self.min_speed_mps
            speed_mps = self.min_speed_mps * span ** rng.random(movers.size)  # density proportional to 1 / v
            time_s[movers] = distance_m(*here, x[movers], y[movers]) / speed_mps
            undecided = undecided[~done]
        knots.add(np.arange(workers), time_s.copy(), x.copy(), y.copy())
        return x, y, time_s


def _longest_leg_m(region: Region) -> float:
    """Return a length that no leg exceeds; the nearer to the longest leg, the fewer draws are in vain."""
    diagonal_m = math.hypot(region.width_m, region.height_m)
    if region.polygon is None:
        return diagonal_m
    import shapely

    return min(diagonal_m, 2 * float(shapely.minimum_bounding_radius(region.polygon_m)))
