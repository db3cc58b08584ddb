"""Packed numbers come back as they were."""

from __future__ import annotations

import numpy as np
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geodp.display.packing import pack, rings, whole
from tests.display.map_contents import unpack


@settings(suppress_health_check=[HealthCheck.too_slow])  # how long drawing takes is no fact about packing
@given(st.lists(st.integers(-(10**6), 10**6), max_size=50))
def test_whole_numbers_survive_packing(values: list[int]) -> None:
    assert unpack(pack({"x": np.array(values, dtype=np.int64), "name": "ü"})) == {"x": values, "name": "ü"}


def test_steady_movement_packs_into_next_to_nothing() -> None:
    steady = np.tile(np.arange(0, 50_000, 500), 20)
    jumpy = np.random.default_rng(1).permutation(steady)
    assert len(pack(steady)) < 600
    assert len(pack(jumpy)) > 3000


def test_missing_numbers_become_minus_one() -> None:
    assert whole([1.26, np.nan, np.inf, -0.4], 0.1).tolist() == [13, -1, -1, -4]


def test_rings_keep_holes_and_drop_points_that_rounding_made_equal() -> None:
    area = shapely.box(0, 0, 100, 100).difference(shapely.box(40, 40, 60, 60))
    packed = rings(area, 10.0)
    assert packed["lengths"].tolist() == [5, 5]
    assert set(zip(packed["x"][5:].tolist(), packed["y"][5:].tolist(), strict=True)) == {(4, 4), (4, 6), (6, 6), (6, 4)}
    line = shapely.LineString([(0, 0), (1, 1), (2, 2), (50, 0)])
    assert rings(line, 10.0)["x"].tolist() == [0, 5]
