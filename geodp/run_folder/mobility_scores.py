"""What a mobility researcher asks of synthetic trips: turning, gyration, spacing, speed, hours, routes, streets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geodp.geometry import Array, Grid, Region
from geodp.run_folder.trip_scores import COARSE, SCORES, Score, jsd, waypoints
from geodp.tables.trajectories.table import Integers, Trajectories

if TYPE_CHECKING:
    from geodp.public.streets import StreetNetwork

_HOURS, _DAY_S = 24, 86_400.0
_BINS = 20
_LEAST_STEP_M = 1.0
_STRAIGHT = np.radians(15)
_TOP_PAIRS = 100
_MOST_PAIRS, _MOST_OF_PAIR = 200, 20
ON_STREET_M, OFF_STREET_M = 25.0, 200.0
_MOST_POINTS = 50_000


def measure_turning(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:  # noqa: ARG001
    """Return how much synthetic trips turn at their points, per kilometre."""
    angle, length_km = turns(synthetic), synthetic.lengths_m.sum() / 1000
    return float(angle.sum() / length_km) if length_km > 0 else None


def compare_turning(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return how much synthetic trips turn per kilometre, over how much real ones do."""
    true, made = measure_turning(real, real, region), measure_turning(real, synthetic, region)
    return made / true if true and made is not None else None


def straight_ratio(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:  # noqa: ARG001
    """Return the share of synthetic steps that go on within 15 degrees, over the share of real ones."""
    true, made = turns(real), turns(synthetic)
    if not true.size or not made.size or not (true < _STRAIGHT).any():
        return None
    return float(np.mean(made < _STRAIGHT) / np.mean(true < _STRAIGHT))


def gyration_jsd(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:  # noqa: ARG001
    """Return the divergence of radii of gyration, in 20 bins up to the greatest real one and one beyond."""
    return _bin(gyrations_m(real), gyrations_m(synthetic))


def compare_spacing(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:  # noqa: ARG001
    """Return the divergence of mean distances between points, in 20 bins of the logarithm."""
    return _bin_logs(
        real.lengths_m / np.maximum(real.counts - 1, 1), synthetic.lengths_m / np.maximum(synthetic.counts - 1, 1), 1.0
    )


def compare_speeds(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:  # noqa: ARG001
    """Return the divergence of trips' mean speeds, in 20 bins of the logarithm."""
    return _bin_logs(
        real.lengths_m / np.maximum(real.durations_s, 1.0),
        synthetic.lengths_m / np.maximum(synthetic.durations_s, 1.0),
        0.1,
    )


def hour_jsd(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:  # noqa: ARG001
    """Return the divergence of the hours of the day at which trips depart."""
    return jsd(*(_hours(one) for one in (real, synthetic))) if real.size and synthetic.size else None


def points_jsd(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:  # noqa: ARG001
    """Return the divergence of the numbers of points per trip, in 20 bins of the logarithm."""
    return _bin_logs(real.counts.astype(np.float64), synthetic.counts.astype(np.float64), 1.0)


def od_cpc(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return the common part of the 100 most frequent real pairs of first and last cell (6 x 6): 1 is equal shares."""
    if not real.size or not synthetic.size:
        return None
    size = COARSE**4
    true, made = (np.bincount(_pairs(one, region), minlength=size) / one.size for one in (real, synthetic))
    top = np.argsort(-true, kind="stable")[:_TOP_PAIRS]
    return float(2 * np.minimum(true[top], made[top]).sum() / (true[top].sum() + made[top].sum()))


def route_diversity_ratio(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return how far apart synthetic routes between the same cells (6 x 6) are, over how far apart real ones are."""
    true, made = diversity_m(real, region), diversity_m(synthetic, region)
    return made / true if true and made is not None else None


MOBILITY_SCORES: dict[str, Score] = {
    "turning_rad_per_km": measure_turning,
    "turning_ratio": compare_turning,
    "straight_ratio": straight_ratio,
    "gyration_jsd": gyration_jsd,
    "spacing_jsd": compare_spacing,
    "speed_jsd": compare_speeds,
    "hour_jsd": hour_jsd,
    "points_jsd": points_jsd,
    "od_cpc": od_cpc,
    "route_diversity_ratio": route_diversity_ratio,
}
ALL_SCORES: dict[str, Score] = SCORES | MOBILITY_SCORES
"""Every score of two sets of trips, by its key."""


def street_shares(trips: Trajectories, network: StreetNetwork) -> tuple[float | None, float | None]:
    """Return the share of points within 25 m of a street, and of points more than 200 m away from all.

    Of more than 50,000 points, every so-manieth is looked at.
    """
    if not trips.points:
        return None, None
    step = -(-trips.points // _MOST_POINTS)
    away_m = network.away_m(trips.x_m[::step], trips.y_m[::step])
    return float(np.mean(away_m <= ON_STREET_M)), float(np.mean(away_m > OFF_STREET_M))


def turns(trips: Trajectories) -> Array:
    """Return the angles (0 to π) between each step and the next of the same trip; steps below a metre are none."""
    if trips.points < 3:
        return np.empty(0)
    east, north = np.diff(trips.x_m), np.diff(trips.y_m)
    usable = ~trips.starts[1:] & (np.hypot(east, north) >= _LEAST_STEP_M)
    both = usable[:-1] & usable[1:]
    change = np.diff(np.arctan2(north, east))[both]
    return np.abs((change + np.pi) % (2 * np.pi) - np.pi)


def gyrations_m(trips: Trajectories) -> Array:
    """Return the root mean square distance of each trip's points from their mean."""
    if not trips.size:
        return np.empty(0)
    square = np.zeros(trips.size)
    for values in (trips.x_m, trips.y_m):
        mean = np.add.reduceat(values, trips.first[:-1]) / trips.counts
        square += np.add.reduceat((values - mean[trips.owner]) ** 2, trips.first[:-1]) / trips.counts
    return np.sqrt(square)


def diversity_m(trips: Trajectories, region: Region) -> float | None:
    """Return the mean distance of routes between the same cells from their mean route, over frequent pairs of cells."""
    if not trips.size:
        return None
    pair = _pairs(trips, region)
    number = np.bincount(pair)
    frequent = np.argsort(-number, kind="stable")[:_MOST_PAIRS]
    found = []
    for code in frequent[number[frequent] >= 2]:
        shapes = waypoints(trips.select(np.flatnonzero(pair == code)[:_MOST_OF_PAIR]))
        off = shapes - shapes.mean(axis=0)
        # Of n routes the mean lies n - 1 nths as far off as of many.
        found.append(np.sqrt((off**2).sum() / (len(shapes) - 1) / (shapes.shape[1] / 2)))
    return float(np.mean(found)) if found else None


def _pairs(trips: Trajectories, region: Region) -> Integers:
    grid = Grid.divide(region, COARSE, COARSE)
    first, last = trips.first[:-1], trips.first[1:] - 1
    return np.asarray(
        grid.locate(trips.x_m[first], trips.y_m[first]) * grid.size + grid.locate(trips.x_m[last], trips.y_m[last])
    )


def _hours(trips: Trajectories) -> Integers:
    hour = np.mod(trips.departures_s, _DAY_S) / _DAY_S * _HOURS
    return np.bincount(np.minimum(hour.astype(np.int64), _HOURS - 1), minlength=_HOURS)


def _bin(real: Array, synthetic: Array) -> float | None:
    if not real.size or not synthetic.size:
        return None
    edges = np.linspace(0.0, float(real.max()) or 1.0, _BINS + 1)[1:]
    return jsd(*(np.bincount(np.searchsorted(edges, one), minlength=_BINS + 1) for one in (real, synthetic)))


def _bin_logs(real: Array, synthetic: Array, least: float) -> float | None:
    real, synthetic = (np.log(np.maximum(one, least) / least) for one in (real, synthetic))
    return _bin(real, synthetic)
