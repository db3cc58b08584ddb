"""Counts per cell, worked out from what phones answered: the untrusted server's own arithmetic, which costs nothing."""

from __future__ import annotations

import numpy as np

from geodp.geometry import Array
from geodp.public.cell_laws import count_variance
from geodp.public.cell_reports import CellReports
from geodp.public.release import GridCells

_NEARLY_GAUSSIAN = 1000.0
"""Effective number of terms in the noise: it is the chance of thousands of reports."""


def cells_from_reports(reports: CellReports) -> GridCells:
    """Return unbiased counts with their variance: (support - n·q)/(p - q).

    The noise is that of n reports, so its variance is stated for n and, as to those in the cell itself, for what was
    estimated, kept between none and all. With hash functions from a pool of F (`olh`) two cells agree under a little
    more or fewer of them than one in g, so people elsewhere count as supporters by chance: that adds Σc²/((g - 1)·F),
    with Σc² worked out from the counts, less what their noise adds to it. Counts may be negative, and need not add up
    to n.
    """
    law, grid = reports.law, reports.law.cells
    p, q = law.chances
    count = np.asarray((reports.supports() - reports.size * q) / (p - q), dtype=np.float64)
    own = np.clip(count, 0.0, reports.size)
    variance = count_variance(law.protocol, law.epsilon, grid.size, reports=reports.size, count=own)
    if law.protocol == "olh":
        variance = variance + _pool_variance(count, variance, reports)
    area_m2 = grid.size * grid.cell_area_m2
    return GridCells(
        reports.time_s,
        reports.mechanism,
        reports.guarantee,
        *grid.edges(),
        count=count,
        noise_scale=np.sqrt(variance / 2),
        floor_per_m2=reports.size / (10 * area_m2),
        noise_terms=np.full(grid.size, _NEARLY_GAUSSIAN),
        grid=grid,
    )


def _pool_variance(count: Array, variance: Array, reports: CellReports) -> float:
    """Return what a pool of hash functions adds: between an even spread of people and all of them in one cell.

    It is in every one of the squared counts itself, too.
    """
    law, people = reports.law, float(reports.size)
    share = 1 / ((law.values - 1) * law.functions)
    squares = float(np.sum(count**2 - variance)) / (1 + law.cells.size * share)
    return share * min(max(squares, people**2 / law.cells.size), people**2)
