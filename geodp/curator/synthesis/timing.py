"""Times of synthetic trips: when they depart and how much time passes between points, both counted with noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.epsilon_parts import Purse
from geodp.curator.synthesis.noisy_histogram import (
    NoisyHistogram,
    departure_edges,
    growing_edges,
    noisy_histogram,
)
from geodp.curator.synthesis.reference_systems import Integers
from geodp.geometry import Array
from geodp.tables.trajectories.table import Trajectories

DEPARTURES, PACES = "departures", "paces"
_LEAST_BINS, _MOST_BINS = 4, 48
_PACE_EDGES_S = growing_edges(0.5, 7200.0, 1.3)


@dataclass(frozen=True, eq=False)
class Timing:
    """Noisy laws of departures in a period (a day) and of the mean time between points."""

    departures: NoisyHistogram
    paces: NoisyHistogram

    def times(self, first: Integers, rng: np.random.Generator) -> Array:
        """Return a time for every point: trips depart in the period, and keep their pace."""
        trips = first.size - 1
        departure_s, pace_s = self.departures.drawn(trips, rng), self.paces.drawn(trips, rng)
        owner = np.repeat(np.arange(trips), np.diff(first))
        return np.asarray(departure_s[owner] + pace_s[owner] * (np.arange(owner.size) - first[owner]))


def noisy_timing(
    trajectories: Trajectories, points: Integers, purse: Purse, *, total: float, period_s: float
) -> Timing:
    """Count departures by time of the period, and the mean time between points (of which there are `points`).

    Departures are counted in as many bins as the noise allows: a mean bin of `total` trips (a noisy number) is to hold
    four times the scale of its noise.
    """
    bins = int(np.clip(total / (4 * purse.scale(DEPARTURES)), _LEAST_BINS, _MOST_BINS))
    edges = departure_edges(period_s, bins)
    departures = noisy_histogram(DEPARTURES, np.mod(trajectories.departures_s, period_s), edges, purse)
    pace_s = trajectories.durations_s / np.maximum(points - 1, 1)
    return Timing(departures, noisy_histogram(PACES, pace_s, _PACE_EDGES_S, purse))
