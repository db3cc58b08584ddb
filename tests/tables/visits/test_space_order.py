import numpy as np

from geodp.tables.visits.space_order import hilbert_number, space_order


def test_the_curve_visits_every_cell_of_a_grid_once_and_steps_to_neighbours_only() -> None:
    side = np.arange(16) * 2**16  # the corners of the 16 x 16 coarsest cells
    x, y = (part.ravel().astype(np.int64) for part in np.meshgrid(side, side))
    order = np.argsort(hilbert_number(x, y))
    assert len(set(hilbert_number(x, y).tolist())) == 256
    steps = (np.abs(np.diff(x[order])) + np.abs(np.diff(y[order]))) // 2**16
    assert set(steps.tolist()) == {1}


def test_neighbours_in_the_order_are_near() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 4000))
    order = space_order(x, y)
    near = np.hypot(np.diff(x[order]), np.diff(y[order])).mean()
    assert near < 3 / np.sqrt(4000), "a random order has 0.52"
    assert sorted(order.tolist()) == list(range(4000))
    assert space_order(np.zeros(3), np.zeros(3)).tolist() == [0, 1, 2]
