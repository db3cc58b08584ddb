"""The diameter of a trajectory: the greatest distance between any two of its points."""

from __future__ import annotations

import numpy as np

from geodp.geometry import Array
from geodp.tables.trajectories.table import Trajectories

_DIRECTIONS = 8
_HULL_FROM = 400  # candidates; beyond, their hull is cheaper than their pairs


def diameters_m(trajectories: Trajectories) -> Array:
    """Return the exact diameter of every trajectory.

    The width in a few directions is a lower bound; a point whose furthest corner of the trajectory's box is nearer
    than that cannot be an end of the diameter. The few left are compared pair by pair.
    """
    if not trajectories.size:
        return np.empty(0)
    x, y, first = trajectories.x_m, trajectories.y_m, trajectories.first[:-1]
    bound = np.zeros(trajectories.size)
    for angle in np.arange(_DIRECTIONS) * np.pi / _DIRECTIONS:
        along = x * np.cos(angle) + y * np.sin(angle)
        bound = np.maximum(bound, np.maximum.reduceat(along, first) - np.minimum.reduceat(along, first))
    owner = trajectories.owner
    far_x = np.maximum(x - np.minimum.reduceat(x, first)[owner], np.maximum.reduceat(x, first)[owner] - x)
    far_y = np.maximum(y - np.minimum.reduceat(y, first)[owner], np.maximum.reduceat(y, first)[owner] - y)
    left = trajectories.keeping(np.hypot(far_x, far_y) >= bound[owner] * (1 - 1e-12))
    best = np.zeros(left.size)
    many = left.counts > _HULL_FROM
    for number in np.flatnonzero(many):
        points = slice(left.first[number], left.first[number + 1])
        best[number] = _by_hull(left.x_m[points], left.y_m[points])
    best[~many] = _by_pairs(left.chosen(~many))
    return best


def _by_pairs(trajectories: Trajectories) -> Array:
    """Compare all pairs of points of every trajectory: first neighbours, then those two apart, and so on."""
    x, y, best = trajectories.x_m, trajectories.y_m, np.zeros(trajectories.points)
    stop = np.repeat(trajectories.first[1:], trajectories.counts)
    point, apart = np.arange(trajectories.points), 1
    while (point := point[point + apart < stop[point]]).size:
        distance = (x[point] - x[point + apart]) ** 2 + (y[point] - y[point + apart]) ** 2
        best[point] = np.maximum(best[point], distance)
        apart += 1
    return np.sqrt(np.maximum.reduceat(best, trajectories.first[:-1])) if trajectories.size else np.empty(0)


def _by_hull(x_m: Array, y_m: Array) -> float:
    import shapely
    from scipy.spatial.distance import pdist

    hull = shapely.get_coordinates(shapely.convex_hull(shapely.multipoints(np.column_stack([x_m, y_m]))))
    return float(np.max(pdist(hull), initial=0.0))
