"""Quickest ways along public streets from place to place, for many pairs of places at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geodp.geometry import Array, Region
from geodp.public.streets import StreetNetwork, open_streets
from geodp.tables.trajectories.generated_trips import make_up_streets, trace
from geodp.world.motion import Floats, Ids

_TARGETS = 256
"""Crossings towards which ways are looked for at once."""


def open_network(streets: str, region: Region) -> StreetNetwork:
    """Return the streets of a file, or made-up ones for `generated`."""
    return make_up_streets(region) if streets == "generated" else open_streets(Path(streets), region)


@dataclass(frozen=True, eq=False)
class FoundWays:
    """Ways point by point: way i owns the points `first[i]` to `first[i + 1] - 1`."""

    first: Ids
    x_m: Array
    y_m: Array
    share: Array
    """Share of the way's length up to each of its points."""
    length_m: Array
    """Length of each way."""


class StreetWays:
    """Finds ways along the streets of a network, off-street ends straight to the nearest crossing.

    Parameters
    ----------
    network
        Public streets; every crossing can be reached from every other.
    """

    def __init__(self, network: StreetNetwork) -> None:
        self._network = network
        self._graph = network.graph(network.travel_s)

    def measure(self, from_x_m: Floats, from_y_m: Floats, to_x_m: Floats, to_y_m: Floats) -> Array:
        """Return the length of the way between each two places."""
        return self.find(from_x_m, from_y_m, to_x_m, to_y_m).length_m

    def find(self, from_x_m: Floats, from_y_m: Floats, to_x_m: Floats, to_y_m: Floats) -> FoundWays:
        """Return the quickest way between each two places."""
        ends = [np.asarray(each, dtype=np.float64) for each in (from_x_m, from_y_m, to_x_m, to_y_m)]
        network, count = self._network, ends[0].size
        begin, end = network.nearest(ends[0], ends[1]), network.nearest(ends[2], ends[3])
        way, at, x_m, y_m = [np.arange(count)] * 2, [np.full(count, -2), np.full(count, -1)], [ends[0]], [ends[1]]
        x_m.append(network.x_m[begin])
        y_m.append(network.y_m[begin])
        for which, first, node in self._search(begin, end):
            leg = np.flatnonzero(np.diff(np.repeat(np.arange(which.size), np.diff(first))) == 0)
            street, backwards = network.street_between(node[leg], node[leg + 1])
            corners = np.diff(network.first)[street] - 1  # without the one that the leg before ends at
            offset = np.append(0, np.cumsum(corners))
            rank = np.arange(offset[-1]) - np.repeat(offset[:-1], corners)
            forth = network.first[street] + 1
            back = network.first[street + 1] - 2
            step = np.where(np.repeat(backwards, corners), -rank, rank)
            corner = np.repeat(np.where(backwards, back, forth), corners) + step
            owner = np.searchsorted(first, leg, side="right") - 1
            way.append(np.repeat(which[owner], corners))
            at.append(np.arange(offset[-1]))
            x_m.append(network.corner_x_m[corner])
            y_m.append(network.corner_y_m[corner])
        way.append(np.arange(count))
        at.append(np.full(count, np.iinfo(np.int64).max))
        x_m.append(ends[2])
        y_m.append(ends[3])
        whose = np.concatenate(way)
        order = np.lexsort((np.concatenate(at), whose))
        return _measure_ways(whose[order], np.concatenate(x_m)[order], np.concatenate(y_m)[order], count)

    def _search(self, begin: Ids, end: Ids) -> Iterator[tuple[Ids, Ids, Ids]]:
        """Yield ways in parts: which pairs, offsets, and the crossings passed, both ends included."""
        from scipy.sparse.csgraph import dijkstra

        targets, row = np.unique(end, return_inverse=True)
        by_target = np.argsort(row, kind="stable")
        for low in range(0, targets.size, _TARGETS):
            high = min(low + _TARGETS, targets.size)
            _, following = dijkstra(self._graph, directed=True, indices=targets[low:high], return_predecessors=True)
            some = by_target[np.searchsorted(row[by_target], low) : np.searchsorted(row[by_target], high)]
            first, node = trace(np.asarray(following, dtype=np.int32), begin[some], row[some] - low)
            yield some, first, node


def _measure_ways(whose: Ids, x_m: Array, y_m: Array, count: int) -> FoundWays:
    first = np.searchsorted(whose, np.arange(count + 1))
    step = np.append(0.0, np.hypot(np.diff(x_m), np.diff(y_m)))
    step[first[:-1]] = 0.0
    gone = np.cumsum(step)
    gone -= np.repeat(gone[first[:-1]], np.diff(first))
    length_m = gone[first[1:] - 1] if count else np.empty(0)
    whole = np.repeat(length_m, np.diff(first))
    share = np.divide(gone, whole, out=np.ones_like(gone), where=whole > 0)
    return FoundWays(first, x_m, y_m, share, length_m)
