"""How a report divides its budget: shares, days, thresholds, and the noise of every table, all from public settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from geodp.errors import UsageError
from geodp.flows.calendar import Days
from geodp.flows.histograms import list_histograms
from geodp.geometry import Array
from geodp.model import did_you_mean
from geodp.privacy.noise import Integers, Noise
from geodp.privacy.primitives import with_discrete_gaussian, with_geometric
from geodp.privacy.zcdp import epsilon_of_rho, gaussian_scale, guess_risk, largest_rho
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

SHARES: Mapping[str, float] = {
    "footfall": 0.50,
    "od": 0.30,
    "trips": 0.06,
    "travel_time": 0.03,
    "trip_length": 0.03,
    "trips_per_person": 0.02,
    "radius_of_gyration": 0.02,
    "zones_per_person": 0.02,
    "time_between_trips": 0.01,
    "entropy": 0.01,
}
"""What each table gets of the budget."""
LEVELS = {"zone": 0.80, "district": 0.15, "city": 0.05}
"""What each level gets of the share of footfall."""
DISTRICT_FLOWS = 0.2
"""What flows between districts get of the share of flows, where those between zones have thresholds."""
USUAL_DELTA = 1e-6
LARGEST_DELTA = 1e-5
"""A release promises at least this δ."""
MOST_DENSE = 1_000_000
"""More pairs a day are not all published: those below a threshold are not."""
UNITS = {"person-day": Unit.PERSON_DAY, "person-week": Unit.PERSON_WEEK, "person": Unit.USER}
_WEEK = 7


@dataclass(frozen=True)
class FlowDesign:
    """The budget of one report, and what follows from it.

    Parameters
    ----------
    days
        The days and periods.
    zones, districts
        How many there are, `outside` among them.
    trips
        Trips of a person's day that are used.
    unit
        `person-day`, `person-week` or `person`.
    epsilon, delta, rho
        What is asked for: ρ; or ε and δ; or ε alone, a pure promise.
    shares
        What tables get; the others share the rest as they would have.
    """

    days: Days
    zones: int
    districts: int
    trips: int = 8
    unit: str = "person-day"
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    shares: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise UsageError(f"--unit {self.unit}: use one of {', '.join(UNITS)}.{did_you_mean(self.unit, UNITS)}")
        if (self.epsilon is None) == (self.rho is None):
            raise UsageError("say how much may be spent: --epsilon E (with --delta D), or --rho R.")
        for option, value in (("--epsilon", self.epsilon), ("--rho", self.rho)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UsageError(f"{option} must be a finite number greater than 0, got {value:g}.")
        if self.delta is not None and not 0 <= self.delta < 1:
            raise UsageError(f"--delta must be at least 0 and below 1, got {self.delta:g}.")
        if self.rho is not None and self.delta == 0:
            raise UsageError("--rho is stated at a delta greater than 0: leave --delta out for 1e-6.")
        if not 1 <= self.trips <= 100:
            raise UsageError(f"--trips must be between 1 and 100, got {self.trips}.")
        if self.is_pure and self.has_thresholds:
            raise UsageError(
                f"{self.pairs:,} pairs of zones are more than {MOST_DENSE:,}, so flows need a threshold, "
                "and a threshold needs --delta (1e-6). Or take fewer zones or longer periods."
            )
        _ = self.every_share

    @property
    def is_pure(self) -> bool:
        """Whether ε alone is promised: Laplace noise instead of Gaussian."""
        return self.rho is None and not self.delta

    @property
    def stated_delta(self) -> float:
        """The δ of the promise."""
        return 0.0 if self.is_pure else self.delta or USUAL_DELTA

    @property
    def repeats(self) -> int:
        """How many days of one unit there may be."""
        return {"person-day": 1, "person-week": _WEEK, "person": self.days.count}[self.unit]

    @property
    def pairs(self) -> int:
        """Pairs of zones times periods, a day."""
        return self.zones * (self.zones - 1) * self.days.most_od_slots

    @property
    def has_thresholds(self) -> bool:
        """Whether flows between zones are published from a threshold on only."""
        return self.pairs > MOST_DENSE

    @property
    def delta_t(self) -> float:
        """Probability with which a threshold lets a unit show, over all its days."""
        return 1 - (1 - threshold_of(self)[1]) ** self.repeats if self.has_thresholds else 0.0

    @cached_property
    def whole_rho(self) -> float:
        """ρ of a unit (of pure ε: 0)."""
        if self.is_pure:
            return 0.0
        if self.rho is not None:
            return self.rho
        spare = self.stated_delta / 2 if self.has_thresholds else self.stated_delta
        return largest_rho(float(self.epsilon or 0.0), spare)

    @cached_property
    def every_share(self) -> dict[str, float]:
        """The share of every table: they come to 1."""
        for name, value in self.shares.items():
            if name not in SHARES:
                raise UsageError(f"--share {name}: no such table.{did_you_mean(name, SHARES)} Use {', '.join(SHARES)}.")
            if not 0 < value < 1:
                raise UsageError(f"--share {name}={value:g}: a share lies between 0 and 1.")
        given = sum(self.shares.values())
        if given >= 1:
            raise UsageError(f"--share: together {given:g}, which leaves nothing for the other tables.")
        rest = sum(value for name, value in SHARES.items() if name not in self.shares)
        return {name: self.shares.get(name, value * (1 - given) / rest) for name, value in SHARES.items()}

    def scale(self, share: float, l1: float, l2: float) -> float:
        """Return the scale of the noise of a table with a share of the budget, on one day."""
        if self.is_pure:
            return l1 * self.repeats / (float(self.epsilon or 0.0) * share)
        return gaussian_scale(share * self.whole_rho / self.repeats, l2)

    def spread(self, scale: float) -> float:
        """Return the standard deviation of noise of a scale."""
        if not self.is_pure:
            return scale
        ratio = math.exp(-1 / scale)
        return math.sqrt(2 * ratio) / (1 - ratio)

    def add_noise(self, values: Integers, scale: float, noise: Noise) -> Integers:
        """Return values with noise of a scale, drawn in one step, so that an auditor can follow it."""
        return with_geometric(values, scale, noise) if self.is_pure else with_discrete_gaussian(values, scale, noise)

    def footfall_scale(self, level: str, day: int) -> float:
        """Return the scale of footfall on a level: one zone in every period of the day."""
        slots = int(self.days.slots[day])
        return self.scale(self.every_share["footfall"] * LEVELS[level], slots, math.sqrt(slots))

    @property
    def od_scale(self) -> float:
        """The scale of flows between zones: as many cells as trips, one unit in each."""
        share = self.every_share["od"] * (1 - DISTRICT_FLOWS if self.has_thresholds else 1)
        return self.scale(share, self.trips, math.sqrt(self.trips))

    @property
    def district_od_scale(self) -> float:
        """The scale of flows between districts, where those between zones have thresholds."""
        return self.scale(self.every_share["od"] * DISTRICT_FLOWS, self.trips, math.sqrt(self.trips))

    @property
    def trips_scale(self) -> float:
        """The scale of trips per hour: all of a unit's may lie in one."""
        return self.scale(self.every_share["trips"], self.trips, self.trips)

    def histogram_scale(self, key: str) -> float:
        """Return the scale of a histogram."""
        reach = next(one.reach(self.trips) for one in list_histograms(self.trips) if one.key == key)
        return self.scale(self.every_share[key], reach, reach)

    def list_scales(self) -> dict[str, float]:
        """Return the scale of every table (of footfall: on a day of 24 hours or the first of all)."""
        usual = int(np.argmin(np.abs(self.days.lengths_s - 86_400)))
        found = {f"footfall, {level}": self.footfall_scale(level, usual) for level in LEVELS}
        found["od"] = self.od_scale
        if self.has_thresholds:
            found["od, districts"] = self.district_od_scale
        found["trips"] = self.trips_scale
        return found | {one.key: self.histogram_scale(one.key) for one in list_histograms(self.trips)}

    def promise(self) -> Guarantee:
        """Return what is promised about one unit."""
        return self._promise(UNITS[self.unit], 1.0)

    def spend(self, days: int) -> dict[str, float]:
        """Return what so many days of one person cost: ε, δ, ρ and the risk of a guess."""
        times = min(days, self.days.count) / self.repeats
        if self.is_pure:
            epsilon = float(self.epsilon or 0.0) * times
            return {"epsilon": epsilon, "delta": 0.0, "rho": epsilon**2 / 2, "risk": guess_risk(epsilon)}
        rho, delta_t = self.whole_rho * times, self.delta_t * times
        delta = max(self.stated_delta, 2 * delta_t)
        epsilon = epsilon_of_rho(rho, delta - delta_t)
        risk = guess_risk(epsilon, delta, rho, delta_t)
        return {"epsilon": epsilon, "delta": delta, "rho": rho, "risk": risk}

    def _promise(self, unit: Unit, times: float) -> Guarantee:
        neighbours, trust = Neighbours.ADD_REMOVE, Trust.CENTRAL
        if self.is_pure:
            return Guarantee(float(self.epsilon or 0.0) * times, unit, neighbours, trust)
        return Guarantee.concentrated(self.whole_rho * times, self.stated_delta, unit, delta_t=self.delta_t * times)


def threshold_of(design: FlowDesign) -> tuple[int, float]:
    """Return the least threshold of a report, and the probability that it lets a unit's day show."""
    most = design.stated_delta / 2 / design.repeats
    return find_threshold(design.od_scale, design.trips, most)


def find_threshold(scale: float, cells: int, delta_t: float, *, each: int = 1) -> tuple[int, float]:
    """Return the least threshold on noisy counts that hides who is alone in a cell, and its exact δ.

    Cells that nobody is in are never published. Somebody who is alone in so many cells shows where `each` and the
    noise come to T: with probability 1 - (1 - q)^cells, q = P(noise ≥ T - each).

    Parameters
    ----------
    scale
        σ of the discrete Gaussian.
    cells
        Cells of a unit.
    delta_t
        The probability allowed.
    each
        What a unit adds to a cell at most.

    Examples
    --------
    >>> from geodp.flows.design import find_threshold
    >>> threshold, delta = find_threshold(9.337755, 4, 5e-7)
    >>> threshold, f"{delta:.3e}"
    (50, '4.063e-07')
    """
    return _least(gaussian_tail(scale), cells, delta_t, each)


def find_laplace_threshold(scale: float, cells: int, delta_t: float, *, each: int = 1) -> tuple[int, float]:
    """Return the least threshold for two-sided geometric noise, and its exact δ.

    Parameters
    ----------
    scale, cells, delta_t, each
        As of `find_threshold`.
    """
    ratio = math.exp(-1 / scale)
    steps = np.arange(int(60 * scale) + 2)
    return _least(np.asarray(ratio**steps / (1 + ratio), dtype=np.float64), cells, delta_t, each)


def gaussian_tail(scale: float) -> Array:
    """Return P(noise ≥ k) of the discrete Gaussian, for k = 0, 1, … up to 40 standard deviations."""
    reach = int(40 * scale) + 2
    weight = np.exp(-(np.arange(reach + 1, dtype=np.float64) ** 2) / (2 * scale**2))
    tail = np.cumsum(weight[::-1])[::-1]
    return np.asarray(tail / (2 * tail[0] - 1))


def _least(tail: Array, cells: int, delta_t: float, each: int) -> tuple[int, float]:
    shown = -np.expm1(cells * np.log1p(-np.minimum(tail, 1 - 1e-16)))
    at = int(np.argmax(shown <= delta_t))
    if shown[at] > delta_t:
        raise UsageError(f"no threshold keeps delta below {delta_t:g}.")
    return at + each, float(shown[at])
