"""Private model selection: which reference systems hold enough movement to be worth their noise."""

from __future__ import annotations

import numpy as np

from geodp.curator.synthesis.epsilon_parts import Purse, floored
from geodp.curator.synthesis.mapping import DOWN, densified, needed_grids
from geodp.curator.synthesis.reference_systems import ReferenceSystems
from geodp.geometry import Array
from geodp.tables.trajectories.table import Trajectories

PART = "choice of grids"


def chosen_systems(
    trajectories: Trajectories, systems: ReferenceSystems, purse: Purse, *, bound: float, scale: float
) -> ReferenceSystems:
    """Keep the grids whose noisy share of the movement exceeds the noise expected in their trees.

    Every trajectory spreads a weight of at most 1 over the grids of its steps. A grid of K cells would carry noise of
    b per cell, and of b per token under every cell that stands out; movement of a grid that is not kept is counted in
    the next coarser one that is.
    """
    shares = floored(_shares(trajectories, systems), purse.scale(PART))
    noisy = np.maximum(purse.counts(PART, shares.sum(axis=0)), 0.0)
    cells = np.diff(systems.offsets).astype(np.float64)
    mass = noisy * bound
    standing_out = np.minimum(cells, mass / (scale * np.log(np.maximum(cells, 4.0) / 2)))
    expected_noise = scale * (cells + DOWN * standing_out)
    # What a finer grid that is not kept would have held falls to the next coarser one.
    kept, carried = [], 0.0
    for grid in range(systems.grids):
        carried += mass[grid]
        if carried > expected_noise[grid]:
            kept.append(grid)
            carried = 0.0
    return systems.keeping(kept or [systems.grids - 1])


def _shares(trajectories: Trajectories, systems: ReferenceSystems) -> Array:
    """Return the share of each trajectory's steps that each grid would hold (row per trajectory)."""
    dense = densified(trajectories, float(systems.side_m[-1]))
    needed = needed_grids(systems, *systems.fine_indices(dense.x_m, dense.y_m))
    last = dense.first[1:] - 1
    owner = dense.owner
    step = np.ones(dense.points, dtype=np.bool_)
    step[last] = dense.counts == 1  # someone who never moves counts in the finest grid
    needed[last] = 0
    key = owner[step] * systems.grids + needed[step]
    table = np.bincount(key, minlength=dense.size * systems.grids).reshape(-1, systems.grids)
    return np.asarray(table / np.maximum(table.sum(axis=1, keepdims=True), 1))
