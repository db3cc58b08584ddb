"""How likely reports are from the cells of a window."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.channels import Channel, PlanarLaplaceChannel


def likelihood_of(channel: Channel, z_x_m: Array, z_y_m: Array, x_m: Array, y_m: Array) -> Array:
    """Return f(z|x) of each report from the cells of its own window, the largest of each row being 1.

    Reports are rows; `x_m` and `y_m` have a row of cells for each.
    """
    table = np.empty(x_m.shape)
    plain = _with_a_density(channel, z_x_m, z_y_m)
    nearness = np.hypot(x_m[plain] - z_x_m[plain, None], y_m[plain] - z_y_m[plain, None])
    nearness -= nearness.min(axis=1, keepdims=True)
    table[plain] = np.exp(-channel.epsilon_per_m * nearness)
    for row in np.flatnonzero(~plain):  # on an edge or a lattice: the law knows what became this report
        own = channel.likelihood(z_x_m[row], z_y_m[row], x_m[row], y_m[row])[0]
        table[row] = own / max(float(own.max()), np.finfo(np.float64).tiny)
    return table


def _with_a_density(channel: Channel, x_m: Array, y_m: Array) -> npt.NDArray[np.bool_]:
    """Tell which reports are planar Laplace noise as drawn, neither rounded nor clamped: f ∝ exp(-ε·distance)."""
    if not isinstance(channel, PlanarLaplaceChannel) or channel.cell_m is not None:
        return np.zeros(x_m.shape, dtype=np.bool_)
    if channel.box_m is None:
        return np.ones(x_m.shape, dtype=np.bool_)
    west, south, east, north = channel.box_m
    return np.asarray((x_m > west) & (x_m < east) & (y_m > south) & (y_m < north))
