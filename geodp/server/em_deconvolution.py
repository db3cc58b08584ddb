"""Workers per cell from reports whose noise differs from place to place, so that no one law can be divided out.

Each pass shares every report out over the cells it may come from, in proportion to the last estimate, and adds up
(expectation maximisation; Agrawal and Aggarwal 2001, "On the Design and Quantification of Privacy Preserving Data
Mining Algorithms"), then smooths a little (Silverman et al. 1990, "A Smoothed EM Approach to Indirect Estimation
Problems"). Counts stay positive and keep their sum.
"""

from __future__ import annotations

import numpy as np

from geodp.geometry import Array
from geodp.public.channels import FiniteChannel
from geodp.public.release import DensityEstimate, Points

_PASSES = 12
_SMOOTHING_CELLS = 0.6  # per pass, standard deviation
_REPLAYS = 12
_REPLAY_SEED = 0  # any will do; fixed, so that the same reports always give the same plan


def unfolded(points: Points, channel: FiniteChannel) -> DensityEstimate:
    """Estimate workers per cell of a finite channel; the error is that of replaying the estimate itself."""
    grid = channel.cells
    cell = grid.locate(points.x_m, points.y_m)
    counts = np.bincount(cell[cell >= 0], minlength=grid.size).astype(np.float64)
    shape = (grid.rows, grid.columns)
    found = unfold(counts, channel.table, shape)
    reports, chance = round(counts.sum()), found @ channel.table
    rng = np.random.default_rng(_REPLAY_SEED)
    replays = rng.multinomial(reports, chance / max(float(chance.sum()), 1.0), size=_REPLAYS if reports else 1)
    error = unfold(replays.astype(np.float64), channel.table, shape) - found
    west, south, east, north = grid.edges()
    return DensityEstimate(
        time_s=points.time_s,
        mechanism=points.mechanism,
        guarantee=points.guarantee,
        west_m=west,
        south_m=south,
        east_m=east,
        north_m=north,
        count=found,
        noise_scale=np.zeros(grid.size),
        floor_per_m2=points.floor_per_m2,
        grid=grid,
        variance=(error**2).mean(axis=0),
    )


def unfold(counts: Array, table: Array, shape: tuple[int, int]) -> Array:
    """Return where reports come from, on a grid of that shape.

    Parameters
    ----------
    counts
        Reports per cell; several sets of them are rows.
    table
        A row of probabilities of reported cells per true cell.
    shape
        Rows and columns of the grid.
    """
    from scipy.ndimage import gaussian_filter

    sets, table = np.atleast_2d(counts).astype(np.float32), table.astype(np.float32)  # half the memory to read
    total = sets.sum(axis=1, keepdims=True)
    found = np.repeat(total / sets.shape[1], sets.shape[1], axis=1)
    for _ in range(_PASSES):
        expected = found @ table
        share = np.where(expected > 0, sets / np.where(expected > 0, expected, 1.0), 0.0)
        found = found * (share @ table.T)
        smooth = gaussian_filter(found.reshape(-1, *shape), (0, _SMOOTHING_CELLS, _SMOOTHING_CELLS), mode="nearest")
        found = np.asarray(smooth).reshape(sets.shape)
    kept = found.sum(axis=1, keepdims=True)
    return np.asarray(found * (total / np.where(kept > 0, kept, 1.0)), dtype=np.float64).reshape(counts.shape)
