"""Small worlds and their releases, for the tests of the server."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Grid
from geodp.public.acceptance import Acceptance
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.public.release import Contours, GridCells

SIDE_M = 13_500.0
DENSITY_PER_M2 = 35e-6  # 6,160 workers in San Francisco's box
GUARANTEE = Guarantee(0.3, Unit.SNAPSHOT, Neighbours.ADD_REMOVE, Trust.CENTRAL)


def released(
    counts: npt.ArrayLike,
    noise_scale: float,
    smoothing_cells: float | None = None,
    floor_per_m2: float = DENSITY_PER_M2 / 10,
) -> GridCells:
    """Return a square release of (already noisy) counts, rows from the south; smoothed: a contour plot."""
    rows, columns = np.shape(counts)
    grid = Grid(0.0, 0.0, SIDE_M / columns, SIDE_M / rows, columns, rows)
    west, south, east, north = grid.edges()
    cells = GridCells(
        time_s=0.0,
        mechanism="test",
        guarantee=GUARANTEE,
        west_m=west,
        south_m=south,
        east_m=east,
        north_m=north,
        count=np.ravel(np.asarray(counts, dtype=np.float64)),
        noise_scale=np.full(grid.size, float(noise_scale)),
        floor_per_m2=floor_per_m2,
        grid=grid,
    )
    if smoothing_cells is None:
        return cells
    return Contours(**vars(cells), sigma_cells=smoothing_cells, levels=np.empty(0), reading="bilinear")


def inner_places(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw places so far from the border that no circle sticks out."""
    return rng.uniform(2_500, SIDE_M - 2_500, count), rng.uniform(2_500, SIDE_M - 2_500, count)


def realised_success(
    acceptance: Acceptance,
    reward: npt.ArrayLike,
    x_m: Array,
    y_m: Array,
    *,
    radius_m: Array,
    workers_m: npt.NDArray[np.float64],
) -> Array:
    """Return the probability that somebody in each circle accepts, given where workers really are."""
    from scipy.spatial import cKDTree

    rewards = np.broadcast_to(np.asarray(reward, dtype=np.float64), x_m.shape)
    near = cKDTree(workers_m).query_ball_point(np.column_stack([x_m, y_m]), radius_m)
    success = np.empty(x_m.size)
    for i, inside in enumerate(near):
        offset = workers_m[inside] - (x_m[i], y_m[i])
        refusal = acceptance.log_refusal(rewards[i], np.hypot(offset[:, 0], offset[:, 1]))
        success[i] = -np.expm1(refusal.sum())
    return success
