"""Hand-made releases of cells, and rectangles that tile a box at random."""

from __future__ import annotations

import numpy as np

from geodp.geometry import Array, Grid
from geodp.public.guarantee import Guarantee
from geodp.public.release import Cells, GridCells


def tiled(rng: np.random.Generator, cuts: int, side_m: float = 4000.0) -> Array:
    """Return rectangles (west, south, east, north) that tile a square, cut at random, with a rounding error each."""
    pieces = [(-side_m / 2, -side_m / 2, side_m / 2, side_m / 2)]
    for _ in range(cuts):
        west, south, east, north = pieces.pop(int(rng.integers(len(pieces))))
        share = float(rng.uniform(0.3, 0.7))
        if rng.random() < 0.5:
            middle = west + share * (east - west)
            pieces += [(west, south, middle, north), (middle, south, east, north)]
        else:
            middle = south + share * (north - south)
            pieces += [(west, south, east, middle), (west, middle, east, north)]
    return np.array(pieces) + rng.uniform(-1e-9, 1e-9, (len(pieces), 4))


def cells(rectangles: Array, count: Array, noise_scale: float = 0.0) -> Cells:
    """Return rectangles with counts as a release."""
    west, south, east, north = np.asarray(rectangles, dtype=np.float64).T
    return Cells(
        time_s=0.0,
        mechanism="hand_made",
        guarantee=Guarantee.none("made by hand"),
        west_m=west,
        south_m=south,
        east_m=east,
        north_m=north,
        count=np.asarray(count, dtype=np.float64),
        noise_scale=np.full(west.size, noise_scale),
        floor_per_m2=1e-9,
    )


def grid_cells(counts: Array, cell_m: float = 1000.0, noise_scale: float = 0.0) -> GridCells:
    """Return a grid about the origin whose row 0 is the southern one."""
    rows, columns = np.asarray(counts).shape
    grid = Grid(-columns * cell_m / 2, -rows * cell_m / 2, cell_m, cell_m, columns, rows)
    return GridCells(
        0.0,
        "hand_made",
        Guarantee.none("made by hand"),
        *grid.edges(),
        np.asarray(counts, dtype=np.float64).ravel(),
        np.full(grid.size, noise_scale),
        1e-9,
        grid=grid,
    )
