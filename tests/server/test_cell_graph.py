"""Which cells touch, against every pair looked at; and what the server takes a release to say."""

from itertools import pairwise

import numpy as np
import pytest

from geodp.geometry import Array
from geodp.public.release import Contours
from geodp.server.cell_graph import TOUCH_M, cell_graph, counts_and_noise, find_touching
from tests.server.cells import cells, grid_cells, tiled
from tests.server.noisy_worlds import released


def brute_force(rectangles: Array) -> list[set[int]]:
    """Compare every pair: they touch when an edge of one lies on an edge of the other over more than a millimetre."""
    west, south, east, north = rectangles.T
    found: list[set[int]] = [set() for _ in west]
    for i in range(west.size):
        for j in range(west.size):
            across = min(east[i], east[j]) - max(west[i], west[j])
            along = min(north[i], north[j]) - max(south[i], south[j])
            beside, above = abs(across) < TOUCH_M < along, abs(along) < TOUCH_M < across
            if i != j and (beside or above):
                found[i].add(j)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_touching_cells_are_those_that_share_a_piece_of_an_edge(seed: int) -> None:
    rectangles = tiled(np.random.default_rng(seed), cuts=120)
    first, neighbour = find_touching(*rectangles.T)
    assert [set(neighbour[a:b]) for a, b in pairwise(first)] == brute_force(rectangles)


def test_cells_that_meet_in_a_corner_only_do_not_touch() -> None:
    first, neighbour = find_touching(*grid_cells(np.ones((2, 2))).grid.edges())
    assert [sorted(neighbour[a:b]) for a, b in pairwise(first)] == [[1, 2], [0, 3], [0, 3], [1, 2]]


def test_one_cell_alone_touches_nothing() -> None:
    first, neighbour = find_touching(*grid_cells(np.ones((1, 1))).grid.edges())
    assert (first.tolist(), neighbour.tolist()) == ([0, 0], [])


def test_a_place_outside_all_cells_belongs_to_the_nearest() -> None:
    graph = cell_graph(cells(np.array([[0, 0, 10, 10], [10, 0, 20, 10]]), np.array([1, 2])))
    assert graph.cells_of(np.array([5.0, 15.0, 400.0, -3.0]), np.array([5.0, 5.0, 5.0, 900.0])) == [0, 1, 1, 0]


def test_counts_of_cells_are_as_released_and_contours_are_read_as_smoothed() -> None:
    release = grid_cells(np.array([[3.0, -2.0]]), noise_scale=2.0)
    count, variance = counts_and_noise(release)
    assert count.tolist() == [3.0, -2.0]
    assert variance.tolist() == [8.0, 8.0]
    contours = released(np.random.default_rng(0).poisson(5.0, (8, 8)), 2.0, smoothing_cells=1.0)
    assert isinstance(contours, Contours)
    count, variance = counts_and_noise(contours)
    assert count == pytest.approx(contours.surface.ravel())
    assert (variance < 2 * contours.noise_scale**2).all()


def test_only_a_piece_of_an_edge_longer_than_rounding_makes_neighbours() -> None:
    """Cell 0 is the unit square of 10 m; others stand to its right, further and further up."""

    def neighbours(shift_m: float, gap_m: float = 0.0) -> list[int]:
        west, south = np.array([0.0, 10.0 + gap_m]), np.array([0.0, shift_m])
        first, neighbour = find_touching(west, south, west + 10.0, south + 10.0)
        return [int(cell) for cell in neighbour[first[0] : first[1]]]

    assert neighbours(0.0) == neighbours(9.0) == neighbours(-9.0) == [1]
    assert neighbours(10.0) == neighbours(-10.0) == []  # a corner
    assert neighbours(10.0 - TOUCH_M / 2) == neighbours(-10.0 + TOUCH_M / 2) == []  # a corner, but for rounding
    assert neighbours(10.0 - 3 * TOUCH_M) == neighbours(-10.0 + 3 * TOUCH_M) == [1]
    assert neighbours(0.0, TOUCH_M / 2) == neighbours(0.0, -TOUCH_M / 2) == [1]  # one edge, but for rounding
    assert neighbours(0.0, 2 * TOUCH_M) == []
