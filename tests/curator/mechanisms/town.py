"""A small town over time, for tests of series: who is in which of nine cells at every release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.geometry import Region
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Neighbours
from geodp.public.release import Cells

TOWN = Region(10.0, 50.0, 10.084, 50.054)
CELLS = {"kind": "uniform_grid", "cell_m": 2000.0}
"""Nine cells."""
AWAY = -1


def take(places: Sequence[int], number: int, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Snapshot:
    """Return a snapshot of people in the cells with these numbers (-1: not there)."""
    west, south, east, north = TOWN.box_m
    cell, who = np.array(places, dtype=np.int64), np.arange(len(places))
    there = cell >= 0
    x = west + (cell[there] % 3 + 0.5) * (east - west) / 3
    y = south + (cell[there] // 3 + 0.5) * (north - south) / 3
    return Snapshot(600.0 * number, x, y, TOWN, 50.0, neighbours, who=who[there])


def play(mechanism: Mechanism, tracks: Sequence[Sequence[int]], noise: Noise) -> list[Cells]:
    """Release a whole series; a track per person, a cell per release."""
    series = mechanism.begin_series(len(tracks[0]))
    made = [series.release(take(places, number), noise) for number, places in enumerate(zip(*tracks, strict=True))]
    return [release for release in made if release is not None]
