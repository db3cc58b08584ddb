import numpy as np
import pytest

from geodp.attacks.inference import around, best_cells, nearest_to_all
from tests.server.reports import REGION


def test_the_best_cell_has_the_least_expected_distance() -> None:
    rng = np.random.default_rng(0)
    side = 9
    weight = rng.exponential(1.0, (5, side * side))
    place = np.arange(side * side)
    x, y = place % side, place // side
    expected = weight @ np.hypot(x[:, None] - x, y[:, None] - y)
    assert best_cells(weight, side).tolist() == expected.argmin(axis=1).tolist()
    assert nearest_to_all(x.astype(float), y.astype(float), weight[0]) == expected[0].argmin()


def test_windows_have_their_own_size_and_lie_about_their_centre() -> None:
    windows = around(np.array([0.0, 100.0]), np.array([0.0, -50.0]), [500.0, 50.0], REGION, 10)
    x, y = windows.places()
    assert x.shape == (2, 100)
    assert (x[0].min(), x[0].max()) == (-450.0, 450.0)
    assert x[1].mean() == pytest.approx(100.0)
    assert y[1].mean() == pytest.approx(-50.0)
    picked_x, picked_y = windows.pick(np.array([0, 99]))
    assert (picked_x[0], picked_y[0]) == (x[0, 0], y[0, 0])
    assert (picked_x[1], picked_y[1]) == (x[1, 99], y[1, 99])


def test_a_window_about_a_place_outside_meets_the_region() -> None:
    windows = around(np.array([1e5]), np.array([0.0]), 500.0, REGION, 10)
    assert windows.centre_x_m[0] == REGION.box_m[2]
