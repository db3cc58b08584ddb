"""Which cell keeps a region most compact: its area against that of the smallest circle around it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geodp.public.messages import Rectangle


def most_compact(
    region: Sequence[Rectangle], candidates: Sequence[Rectangle], utility: Sequence[float], utility_weight: float
) -> int:
    """Return the candidate with the highest weight · utility + (1 - weight) · compactness of the region with it."""
    import shapely

    corners = np.concatenate(
        [_corners(region).reshape(1, -1, 2).repeat(len(candidates), axis=0), _corners(candidates)], 1
    )
    radius = shapely.minimum_bounding_radius(shapely.multipoints(corners))
    area = _area(region).sum() + _area(candidates)
    score = utility_weight * np.asarray(utility) + (1 - utility_weight) * area / (np.pi * radius**2)
    return int(np.argmax(score))


def _corners(rectangles: Sequence[Rectangle]) -> np.ndarray[tuple[int, int, int], np.dtype[np.float64]]:
    """Return the four corners of each rectangle."""
    edges = np.array(rectangles)
    return np.stack([edges[:, [0, 0, 2, 2]], edges[:, [1, 3, 1, 3]]], axis=2)


def _area(rectangles: Sequence[Rectangle]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    edges = np.array(rectangles)
    return np.asarray((edges[:, 2] - edges[:, 0]) * (edges[:, 3] - edges[:, 1]))
