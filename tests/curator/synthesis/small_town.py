"""A handful of people in a small town, for tests of synthesis."""

from __future__ import annotations

import numpy as np

from geodp.geometry import Region
from geodp.tables.trajectories.generated_trips import TripSizes, generate_trips
from geodp.tables.trajectories.table import Trajectories

TOWN = Region(-0.03, -0.03, 0.03, 0.03)
"""6.7 km by 6.7 km."""


def trips(people: int = 40, each: int = 5, points: int = 12, seed: int = 0) -> Trajectories:
    sizes = TripSizes(people=people, trips=people * each, points=people * each * points, places=60)
    return generate_trips(sizes, TOWN, np.random.default_rng(seed))


def polyline(*places: tuple[float, float], person: int = 0, people: int = 1) -> Trajectories:
    """Return one trip through places in metres, a minute from one to the next."""
    x_m, y_m = np.array(places).T
    names = np.array([f"person {number}" for number in range(people)], dtype=np.object_)
    return Trajectories(names, np.array([0, x_m.size]), np.array([person]), 60.0 * np.arange(x_m.size), x_m, y_m)
