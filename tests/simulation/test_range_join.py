import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from geodp.simulation import range_join as module
from geodp.simulation.range_join import range_join, rectangle_join


def pairs_by_tree(points: np.ndarray, centres: np.ndarray, radius: np.ndarray) -> set[tuple[int, int]]:
    found = cKDTree(points).query_ball_point(centres, radius)
    return {(circle, point) for circle, inside in enumerate(found) for point in inside}


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    points=st.integers(1, 400),
    circles=st.integers(1, 40),
    reach=st.sampled_from([0.0, 1.0, 30.0, 300.0, 5000.0]),
)
def test_the_pairs_are_those_of_a_tree(seed: int, points: int, circles: int, reach: float) -> None:
    rng = np.random.default_rng(seed)
    at = rng.uniform(-500, 500, (points, 2)).round(1)
    centres = rng.uniform(-800, 800, (circles, 2)).round(1)
    radius = reach * rng.uniform(0, 1, circles)
    circle, point, distance = range_join(at[:, 0], at[:, 1], centres[:, 0], centres[:, 1], radius)
    assert set(zip(circle.tolist(), point.tolist(), strict=True)) == pairs_by_tree(at, centres, radius)
    assert np.all(np.diff(circle) >= 0)
    assert distance == pytest.approx(np.linalg.norm(at[point] - centres[circle], axis=1))


def test_small_pieces_give_the_same_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    at, centres = rng.uniform(0, 1000, (3000, 2)), rng.uniform(0, 1000, (50, 2))
    radius = rng.uniform(0, 400, 50)
    whole = range_join(at[:, 0], at[:, 1], centres[:, 0], centres[:, 1], radius)
    monkeypatch.setattr(module, "CANDIDATES_AT_ONCE", 500)
    pieces = range_join(at[:, 0], at[:, 1], centres[:, 0], centres[:, 1], radius)
    for one, other in zip(whole, pieces, strict=True):
        assert np.array_equal(one, other)


def test_points_in_one_place_and_nobody_at_all() -> None:
    same = np.full(5, 3.0)
    circle, point, distance = range_join(same, same, np.array([3.0, 9.0]), np.array([3.0, 9.0]), np.array([0.0, 1.0]))
    assert (circle.tolist(), point.tolist(), distance.tolist()) == ([0] * 5, [0, 1, 2, 3, 4], [0.0] * 5)
    empty = np.empty(0)
    assert range_join(empty, empty, same, same, same)[0].size == 0


@pytest.mark.parametrize("step", [0.1, 0.3, 0.7, 1.1])
def test_no_point_on_a_circle_and_at_the_edge_of_a_cell_is_lost_to_rounding(step: float) -> None:
    """Lattices have many points at exactly the radius; the definition is the sum of squares in floating point."""
    for side in range(4, 15):
        axis = np.linspace(0.0, side - 1.0, side) * step
        x_m, y_m = np.tile(axis, side), np.repeat(axis, side)
        square = (x_m - x_m[:, None]) ** 2 + (y_m - y_m[:, None]) ** 2
        for most in range(1, 6):
            radius_m = np.asarray(np.arange(x_m.size) % (most + 1) * step, dtype=np.float64)
            circle, point, _ = range_join(x_m, y_m, x_m, y_m, radius_m)
            found = np.zeros(square.shape, dtype=np.bool_)
            found[circle, point] = True
            assert np.array_equal(found, square <= (radius_m**2)[:, None])


def test_the_finest_grid_has_no_cell_beyond_its_16_bit_keys() -> None:
    rng = np.random.default_rng(5)
    at = np.concatenate([rng.uniform(0, 10_000, (80_000, 2)), [[0, 0], [0, 10_000], [10_000, 0], [10_000, 10_000]]])
    centres = np.concatenate([rng.uniform(0, 10_000, (200, 2)), at[-4:]])
    radius = np.full(204, 60.0)
    bins = module.DiscBins(at[:, 0], at[:, 1], centres[:, 0], centres[:, 1], radius)
    assert (bins.columns, bins.rows) == (256, 256)
    circle, point, _ = range_join(at[:, 0], at[:, 1], centres[:, 0], centres[:, 1], radius)
    assert set(zip(circle.tolist(), point.tolist(), strict=True)) == pairs_by_tree(at, centres, radius)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    points=st.integers(1, 400),
    rectangles=st.integers(1, 40),
    side=st.sampled_from([0.0, 1.0, 30.0, 300.0, 5000.0]),
)
def test_points_in_rectangles_are_those_of_a_plain_comparison(
    seed: int, points: int, rectangles: int, side: float
) -> None:
    rng = np.random.default_rng(seed)
    at = rng.uniform(-500, 500, (points, 2)).round(0)  # whole metres: many points lie on edges, which count
    corner = rng.uniform(-800, 800, (rectangles, 2)).round(0)
    edges = np.column_stack([corner, corner + (side * rng.uniform(0, 1, (rectangles, 2))).round(0)])
    number, point = rectangle_join(at[:, 0], at[:, 1], edges)
    x, y = at[:, 0], at[:, 1]
    inside = [(x >= west) & (x <= east) & (y >= south) & (y <= north) for west, south, east, north in edges]
    expected = {(i, int(j)) for i, hits in enumerate(inside) for j in np.flatnonzero(hits)}
    assert set(zip(number.tolist(), point.tolist(), strict=True)) == expected
    assert len(expected) == number.size
    assert np.all(np.diff(number) >= 0)


def test_no_points_or_no_rectangles_give_no_pairs() -> None:
    nothing, one = np.empty(0), np.ones(1)
    for pairs in (rectangle_join(nothing, nothing, np.ones((1, 4))), rectangle_join(one, one, np.empty((0, 4)))):
        assert [column.size for column in pairs] == [0, 0]
