"""Ways along streets, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from geodp.public.streets import network_of_segments
from geodp.world.street_ways import StreetWays

# A square of streets with a tail at each corner, so that corners are crossings; the western side bends outwards.
X_M = np.array([0.0, 100, 100, 0, -30, 0, 100, 100, 0])
Y_M = np.array([0.0, 0, 100, 100, 50, -40, -40, 140, 140])
TAIL = np.array([0, 1, 2, 3, 4, 0, 1, 2, 3])
HEAD = np.array([1, 2, 3, 4, 0, 5, 6, 7, 8])


def test_ways_follow_the_corners_of_streets_both_ways_and_end_where_they_should() -> None:
    ways = StreetWays(network_of_segments(X_M, Y_M, TAIL, HEAD))
    bend = 2 * np.hypot(30, 50)
    found = ways.find(
        np.array([-5.0, 0.0, 3.0]), np.array([0.0, 105.0, 3.0]), np.array([0.0, -5.0, 3.0]), np.array([105.0, 0.0, 3.0])
    )
    assert found.length_m[:2] == pytest.approx([5 + bend + 5] * 2)
    first, second = (slice(found.first[i], found.first[i + 1]) for i in (0, 1))
    assert found.x_m[first].tolist() == [-5, 0, -30, 0, 0]
    assert found.x_m[second].tolist() == [0, 0, -30, 0, -5]
    assert found.share[first][[0, -1]].tolist() == [0, 1]
    assert np.diff(found.share[first]).min() > 0
    assert ways.measure(np.array([0.0]), np.array([0.0]), np.array([100.0]), np.array([100.0])) == pytest.approx(200.0)
