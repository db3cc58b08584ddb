"""Synthetic trips as a table: nobody's, so each has a made-up person of its own."""

from __future__ import annotations

import numpy as np

from geodp.curator.synthesis.reference_systems import Integers
from geodp.geometry import Array
from geodp.tables.trajectories.table import Trajectories


def stand_ins(first: Integers, time_s: Array, x_m: Array, y_m: Array) -> Trajectories:
    """Return synthetic trips under made-up names."""
    trips = first.size - 1
    people = np.array([f"synthetic-{number}" for number in range(trips)], dtype=np.object_)
    return Trajectories(people, first, np.arange(trips), time_s, x_m, y_m)
