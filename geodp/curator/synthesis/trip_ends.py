"""Where trips begin and end: places on two grids that are made to agree, and trips between zones of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.consistency import whole_counts
from geodp.curator.synthesis.epsilon_parts import Purse
from geodp.curator.synthesis.gravity import settled_trips
from geodp.curator.synthesis.reference_systems import Integers
from geodp.curator.synthesis.square_grids import agreed, finer, from_blocks, in_blocks, side_cells, square_grid
from geodp.curator.synthesis.zones import Zones, divided
from geodp.geometry import Array, Region
from geodp.tables.trajectories.table import Trajectories

COARSE_ENDS, FINE_ENDS, TRIPS = "ends, coarse", "ends, fine", "trips between zones"
_FINER = 4
_COARSE_CELLS_PER_WORTH, _MOST_SIDE = 0.3, 32
_ZONES_PER_WORTH, _MOST_ZONES = 1.0, 200
_CANDIDATES = 8
_DISTANCES = 24
_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class Ends:
    """First and last places of trips (m)."""

    from_x_m: Array
    from_y_m: Array
    to_x_m: Array
    to_y_m: Array

    @property
    def apart_m(self) -> Array:
        """Distance between first and last place."""
        return np.asarray(np.hypot(self.to_x_m - self.from_x_m, self.to_y_m - self.from_y_m))


@dataclass(frozen=True, eq=False)
class TripEnds:
    """Noisy trips from zone to zone."""

    zones: Zones
    trips: Array

    def drawn(self, apart_m: Array, rng: np.random.Generator) -> Ends:
        """Draw a trip for each entry of `apart_m`, the distances between ends that are wanted (in any order).

        Zones say nothing about distances within a zone, so several ends are tried for each trip, and one of them is
        chosen with weights per distance under which the chosen distances are spread as those wanted.
        """
        size = apart_m.size
        pair = np.repeat(np.arange(self.trips.size), whole_counts(self.trips.ravel(), size, rng))
        rng.shuffle(pair)
        begin, end = np.divmod(pair, self.zones.count)
        from_x, from_y = self.zones.places(begin, _CANDIDATES, rng)
        to_x, to_y = self.zones.places(end, _CANDIDATES, rng)
        found_m = np.hypot(to_x - from_x, to_y - from_y)
        edges = np.unique(np.quantile(apart_m, np.linspace(0, 1, _DISTANCES + 1)))[1:-1]
        wanted = np.bincount(np.searchsorted(edges, apart_m, side="right"), minlength=edges.size + 1) + 0.5
        distance = np.searchsorted(edges, found_m, side="right")
        log_weight = np.zeros(edges.size + 1)
        for _ in range(_ROUNDS):
            chance = np.exp(log_weight)[distance]
            chance /= chance.sum(axis=1, keepdims=True)
            now = np.bincount(distance.ravel(), chance.ravel(), edges.size + 1) + 0.5
            log_weight += np.clip(np.log(wanted / now), -1.0, 1.0)
        pick = chosen(np.exp(log_weight)[distance], rng)
        return Ends(*(values[np.arange(size), pick] for values in (from_x, from_y, to_x, to_y)))


def noisy_ends(trajectories: Trajectories, region: Region, purse: Purse, total: float) -> TripEnds:
    """Count both ends of every trip by place, divide the region by that, and count trips from zone to zone."""
    first, last = trajectories.first[:-1], trajectories.first[1:] - 1
    x_m, y_m = trajectories.x_m, trajectories.y_m
    worth = _COARSE_CELLS_PER_WORTH * total / purse.scale(COARSE_ENDS)
    coarse = square_grid(region, side_cells(worth, _MOST_SIDE))
    fine = finer(coarse, _FINER)
    both = fine.locate(np.append(x_m[first], x_m[last]), np.append(y_m[first], y_m[last]))
    blocks = in_blocks(np.bincount(both, minlength=fine.size).astype(np.float64), coarse, _FINER)
    of_coarse = purse.counts(COARSE_ENDS, blocks.sum(axis=1), 2.0)  # a trip has two ends
    of_fine = purse.counts(FINE_ENDS, blocks, 2.0)
    weight = agreed(of_coarse, of_fine, purse.scale(COARSE_ENDS, 2.0), purse.scale(FINE_ENDS, 2.0))
    count = side_cells(_ZONES_PER_WORTH * total / purse.scale(TRIPS), _MOST_ZONES, least=2)
    zones = divided(from_blocks(weight, coarse, _FINER), fine, count)
    pair = zones.of(x_m[first], y_m[first]) * zones.count + zones.of(x_m[last], y_m[last])
    noisy = purse.counts(TRIPS, np.bincount(pair, minlength=zones.count**2))
    trips = settled_trips(noisy.reshape(zones.count, -1), zones, purse.scale(TRIPS), total)
    return TripEnds(zones, trips)


def chosen(weights: Array, rng: np.random.Generator) -> Integers:
    """Choose one column per row, in proportion to the weights."""
    reached = np.cumsum(weights, axis=1)
    target = rng.random(len(weights)) * reached[:, -1]
    return np.asarray(np.minimum((reached <= target[:, None]).sum(axis=1), weights.shape[1] - 1))
