"""Where reports come from, when their noise differs from place to place, so that no one law can be divided out.

Each pass shares every report out over the cells it may come from, in proportion to the last estimate, and adds up
(expectation maximisation; Agrawal and Aggarwal 2001, "On the Design and Quantification of Privacy Preserving Data
Mining Algorithms"), then smooths a little, so that it does not follow the noise (Silverman et al. 1990, "A Smoothed EM
Approach to Indirect Estimation Problems"). It needs the public law of the noise alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array


def deconvolve(
    counts: Array,
    table: npt.NDArray[np.floating[Any]],
    shape: tuple[int, int],
    *,
    passes: int,
    smoothing_cells: float,
    start: Array | None = None,
) -> Array:
    """Return how many reports come from each cell of a grid; numbers stay positive and keep their sum.

    Parameters
    ----------
    counts
        Reports of each kind, e.g. per reported cell; several sets of them are rows.
    table
        How likely each kind is from each cell: a row per cell. A factor for a whole kind changes nothing.
    shape
        Rows and columns of the grid.
    passes
        How often reports are shared out.
    smoothing_cells
        Standard deviation of the smoothing after each pass.
    start
        First estimate, whose empty cells stay empty; default: even.
    """
    from scipy.ndimage import gaussian_filter

    sets, table = np.atleast_2d(counts).astype(np.float32), table.astype(np.float32)  # half the memory to read
    total, cells = sets.sum(axis=1, keepdims=True), len(table)
    first = np.ones(cells) if start is None else start / start.sum() * cells
    found = (total / cells * first).astype(np.float32)
    for _ in range(passes):
        expected = found @ table
        share = np.where(expected > 0, sets / np.where(expected > 0, expected, 1.0), 0.0)
        found = (found * (share @ table.T)).reshape(-1, *shape)
        smooth = np.asarray(gaussian_filter(found, (0, smoothing_cells, smoothing_cells), mode="nearest"))
        found = smooth.reshape(len(sets), cells) * (first > 0)
    kept = found.sum(axis=1, keepdims=True)
    found = found * (total / np.where(kept > 0, kept, 1.0))
    return np.asarray(found, dtype=np.float64).reshape(*counts.shape[:-1], cells)
