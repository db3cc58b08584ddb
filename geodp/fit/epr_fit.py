"""Parameters of mobility `epr` from evidence: worlds are simulated until their laws are those that are wanted.

Only the evidence is looked at, so with noisy evidence a fit costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geodp.fit.evidence import Evidence
from geodp.geometry import Array, Region
from geodp.registry import plugin
from geodp.tables.visit_log import VisitLog, order_visits
from geodp.world.motion import LivedMotion
from geodp.world.population import Population

Values = dict[str, float]
TRIED_PEOPLE = 250
"""People of the worlds that are tried."""
MOST_DAYS = 400
ROUNDS = 6
_WIDTH = 0.1
"""A summary that is off by this share weighs as much as a parameter that is off by its whole range."""
_SOFT = 3.0
"""Beyond so many widths a miss grows with its logarithm only: one law that cannot be met must not spoil the others."""
_MOST_OFF = 12.0
_STEP = 0.25


@dataclass(frozen=True)
class Knob:
    """A parameter that is fitted: bounds and where to begin, on the scale of its logarithm."""

    low: float
    high: float
    begin: float


KNOBS = {
    "rho": Knob(0.03, 1.0, 0.6),
    "gamma": Knob(0.02, 1.2, 0.21),
    "distance_power": Knob(0.3, 3.0, 1.2),
    "near_m": Knob(20.0, 3_000.0, 100.0),
    "reach_m": Knob(500.0, 200_000.0, 12_000.0),
    "reach_spread": Knob(0.05, 2.0, 0.5),
    "outings_per_day": Knob(0.01, 12.0, 0.5),
    "outing_spread": Knob(0.05, 2.0, 0.7),
    "chain": Knob(0.01, 0.8, 0.35),
    "stay_s": Knob(60.0, 20_000.0, 2_000.0),
    "stay_spread": Knob(0.2, 2.5, 1.2),
    "home_share": Knob(0.002, 1.0, 0.05),
    "work_share": Knob(0.002, 1.0, 0.05),
    "weekend_factor": Knob(0.1, 6.0, 1.2),
}
TARGETS = (
    "jump_p10_km",
    "jump_p50_km",
    "jump_p90_km",
    "jumps_below_100_m",
    "gyration_p50_km",
    "gyration_spread",
    "top_place_share",
    "entropy_random_bits",
    "entropy_uncorrelated_bits",
    "entropy_real_bits",
    "weekend_share",
    "wait_p10_h",
    "wait_p50_h",
    "wait_p90_h",
    "visits_p10",
    "visits_p50",
    "visits_p90",
)
_TOLD = ("home_share", "work_share")


@dataclass(frozen=True, eq=False)
class FittedTown:
    """Where people of the fitted world live, and where they can go, in metres."""

    region: Region
    homes: tuple[Array, Array]
    places: Path
    """File of the places."""


def draw_in_cells(evidence: Evidence, weight: Array, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw places with the weights of cells, evenly inside them."""
    grid = evidence.grid
    cell = rng.choice(weight.size, count, p=weight / weight.sum())
    west, south, east, north = (edge[cell] for edge in grid.edges())
    return west + (east - west) * rng.random(count), south + (north - south) * rng.random(count)


def start_values(evidence: Evidence) -> Values:
    """Return the values to begin with: the rate of visits is read off, the rest is as usual."""
    values = {name: knob.begin for name, knob in KNOBS.items()}
    per_day = evidence.targets.get("visits_p50", 20.0) / evidence.span_days
    values["outings_per_day"] = per_day * (1 - values["chain"])
    values["stay_s"] = 2 * 3_600 * evidence.targets.get("wait_p10_h", 0.3)
    values["reach_m"] = 2 * 1_000 * evidence.targets.get("jump_p90_km", 6.0)
    return _hold_inside(values)


def fit_values(
    evidence: Evidence, town: FittedTown, *, seed: int, rounds: int, tell: Callable[[float], None]
) -> Values:
    """Return the values whose world has the wanted laws, as nearly as a few rounds get (Levenberg-Marquardt).

    Parameters
    ----------
    evidence
        What is wanted.
    town
        Where people live and go.
    seed
        Of the worlds that are tried: all meet the same luck.
    rounds
        How often the values are improved; 0: as read off.
    tell
        Hears which share of the work is done.
    """
    best = start_values(evidence)
    if not rounds:
        return best
    off = _look(best, evidence, town, seed)
    damping = 1.0
    for number in range(rounds):
        names = list(KNOBS)
        slope = np.empty((off.size, len(names)))
        for column, name in enumerate(names):
            moved = _move(best, {name: _STEP if best[name] * math.exp(_STEP) <= KNOBS[name].high else -_STEP})
            change = math.log(moved[name] / best[name])
            slope[:, column] = (_look(moved, evidence, town, seed) - off) / change
            tell((number + (column + 1) / len(names)) / rounds)
        for _ in range(3):
            matrix = slope.T @ slope + damping * np.diag(np.diag(slope.T @ slope) + 1.0)
            step = np.clip(-np.linalg.solve(matrix, slope.T @ off), -1.2, 1.2)
            tried = _move(best, dict(zip(names, step.tolist(), strict=True)))
            found = _look(tried, evidence, town, seed)
            if found @ found < off @ off:
                best, off, damping = tried, found, damping / 3
                break
            damping *= 4
    return best


def _look(values: Values, evidence: Evidence, town: FittedTown, seed: int) -> Array:
    """Return by how much the world of some values misses each target: logarithms of ratios, in widths."""
    people = min(TRIED_PEOPLE, town.homes[0].size)
    found = evidence.measure(simulate(values, evidence, town, people=people, seed=seed))
    off = []
    for key in TARGETS:
        wanted, got = evidence.targets.get(key), found.get(key)
        if wanted is None or wanted <= 0:
            off.append(0.0)
        elif got is None or got <= 0:
            off.append(_MOST_OFF)
        else:
            off.append(_SOFT * math.asinh(math.log(got / wanted) / _WIDTH / _SOFT))
    return np.array(off)


def simulate(values: Values, evidence: Evidence, town: FittedTown, *, people: int, seed: int) -> VisitLog:
    """Return what people of a world with these values tell of the days of a record."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(town.homes[0].size, people, replace=False)
    population = Population(town.homes[0][chosen], town.homes[1][chosen])
    days = count_days(evidence)
    mobility = plugin("epr", "mobility", venues=str(town.places), past_days=days, **list_fields(values, evidence))
    motion = mobility.move(population, town.region, start_s=0.0, duration_s=60.0, rng=rng)
    assert isinstance(motion, LivedMotion)  # noqa: S101 - epr keeps lives
    visits, venues = plugin("from_mobility", "visit_source", **{name: values[name] for name in _TOLD}).observe(
        motion, rng
    )
    x_m, y_m = town.region.projection.to_m(lon=venues.lon, lat=venues.lat)
    time_s = np.asarray(visits.time_s)
    return order_visits(visits.person, time_s, visits.venue, x_m[visits.venue], y_m[visits.venue], monday_s=0.0)


def count_days(evidence: Evidence) -> int:
    """Return how many whole weeks of days lives are lived before the run."""
    return min(max(round(evidence.span_days / 7), 1) * 7, MOST_DAYS)


def list_fields(values: Values, evidence: Evidence) -> dict[str, object]:
    """Return the fields of mobility `epr` but for its files and its past."""
    hours = np.maximum(evidence.hours, 0.0)
    hours = hours / hours.sum() if hours.sum() > 0 else np.full(24, 1 / 24)
    fields: dict[str, object] = {name: _round(value) for name, value in values.items() if name not in _TOLD}
    fields |= {
        "popularity": 0.0,
        "hours": tuple(round(float(share), 4) for share in hours),
    }
    return fields


def name_told(values: Values) -> dict[str, float]:
    """Return the fields of visit source `from_mobility`."""
    return {name: _round(values[name]) for name in _TOLD}


def _move(values: Values, steps: Mapping[str, float]) -> Values:
    return _hold_inside({name: value * math.exp(steps.get(name, 0.0)) for name, value in values.items()})


def _hold_inside(values: Values) -> Values:
    return {name: min(max(value, KNOBS[name].low), KNOBS[name].high) for name, value in values.items()}


def _round(value: float) -> float:
    return float(f"{value:.4g}")
