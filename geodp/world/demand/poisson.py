"""Tasks that arise at random."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.world.demand import Arrivals, Demand
from geodp.world.population import Population

HOUR_S = 3_600.0
_MAX_REDRAWS = 40


class Poisson(Demand):
    """Tasks arise at random, at a rate that may change with the hour, uniformly or where people are.

    An exact Poisson process with a piecewise constant rate. Times and places are drawn apart: `where` and
    `blur_m` change no time. With `where: density` a task lies near a random worker's start place. These are
    simulated requests that follow private positions: for real tables use `uniform` or demand `trace` when the
    tasks themselves would be published.
    """

    kind: ClassVar[str] = "poisson"

    per_hour: float = Field(default=300.0, gt=0)
    """Tasks per hour in the region, in the mean over a day."""
    where: Literal["density", "uniform"] = "density"
    """Near the start place of a random worker, or anywhere in the region."""
    blur_m: float = Field(default=300.0, ge=0)
    """Standard deviation, east and north, of a task's distance from that worker (m)."""
    profile: tuple[Annotated[float, Field(ge=0)], ...] | None = None
    """Relative rate in each of the 24 hours of a day, from midnight; null for a constant rate."""

    @model_validator(mode="after")
    def _whole_day(self) -> Self:
        if self.profile is not None and len(self.profile) != 24:
            raise ValueError(f"profile must list 24 hourly factors, got {len(self.profile)}")
        if self.profile is not None and sum(self.profile) == 0:
            raise ValueError("profile must have at least one hour above 0")
        return self

    def idle_fields(self) -> dict[str, str]:
        """Return the blur where tasks follow nobody."""
        return {} if self.where == "density" else {"blur_m": "with where: uniform"}

    def arrivals(
        self, population: Population, region: Region, *, start_s: float, duration_s: float, rng: np.random.Generator
    ) -> Arrivals:
        """Draw the number of tasks, then their times, then their places."""
        time_s, expected = self._cumulative(start_s, duration_s)
        count = int(rng.poisson(expected[-1]))
        # Given their number, the points of a Poisson process are independent with density rate / total.
        share = np.sort(rng.random(count))
        when_s = np.minimum(np.interp(share * expected[-1], expected, time_s), np.nextafter(duration_s, 0.0))
        x_m, y_m = self._places(count, population, region, rng)
        return Arrivals(when_s, x_m, y_m)

    def expected_tasks(self, *, start_s: float, duration_s: float) -> float:
        """Return the integral of the rate over the run."""
        return float(self._cumulative(start_s, duration_s)[1][-1])

    def _cumulative(self, start_s: float, duration_s: float) -> tuple[Array, Array]:
        """Return the times at which the rate may change, and the expected number of tasks until each."""
        if self.profile is None:
            return np.array([0.0, duration_s]), np.array([0.0, self.per_hour * duration_s / HOUR_S])
        hours = np.arange(np.floor(start_s / HOUR_S) + 1, np.ceil((start_s + duration_s) / HOUR_S))
        edge_s = np.concatenate([[0.0], hours * HOUR_S - start_s, [duration_s]])
        hour_of_day = np.append(np.floor(start_s / HOUR_S), hours).astype(np.intp) % 24
        factor = np.array(self.profile) / np.mean(self.profile)
        rate_per_s = self.per_hour / HOUR_S * factor[hour_of_day]
        return edge_s, np.append(0.0, np.cumsum(rate_per_s * np.diff(edge_s)))

    def _places(
        self, count: int, population: Population, region: Region, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        if self.where == "uniform" or count == 0:
            return region.sample(count, rng)
        if population.size == 0:
            raise DataError("tasks.demand: where: density follows the workers, but there are none")
        near = rng.integers(population.size, size=count)
        x_m, y_m = population.x_m[near], population.y_m[near]
        outside = np.arange(count if self.blur_m > 0 else 0)
        for _ in range(_MAX_REDRAWS):
            x_m[outside] = population.x_m[near[outside]] + rng.normal(0.0, self.blur_m, outside.size)
            y_m[outside] = population.y_m[near[outside]] + rng.normal(0.0, self.blur_m, outside.size)
            outside = outside[~region.contains(x_m[outside], y_m[outside])]
            if outside.size == 0:
                break
        else:  # the blur is wide against the region: the worker's own place
            x_m[outside], y_m[outside] = population.x_m[near[outside]], population.y_m[near[outside]]
        return x_m, y_m
