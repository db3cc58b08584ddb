"""Where somebody is, given her answer about her cell: prior times the exact law of the answer."""

from __future__ import annotations

import numpy as np

from geodp.attacks.inference import Prior
from geodp.geometry import Array
from geodp.public.cell_reports import CellReports

_AT_ONCE = 256


def locate_in_cells(reports: CellReports, rows: slice, prior: Prior) -> tuple[Array, Array]:
    """Return the place with the least expected distance for each of some answers, over the cells of the prior.

    The law knows cells only: within one, the prior alone says where. A place outside of all cells is impossible.
    """
    x, y = prior.grid.all_centres()
    possible = np.flatnonzero(prior.share > 0)
    x, y, before = x[possible], y[possible], prior.share[possible]
    cell = reports.law.cells.locate(x, y)
    before = np.where(cell >= 0, before, 0.0)
    distance = np.hypot(x[:, None] - x, y[:, None] - y).astype(np.float32)
    answers = reports.answers[rows]
    best = np.empty(len(answers), dtype=np.int64)
    for start in range(0, len(answers), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        weight = reports.law.likelihood(answers[part])[:, np.maximum(cell, 0)] * before
        weight /= weight.max(axis=1, keepdims=True)
        best[part] = np.argmin(weight.astype(np.float32) @ distance, axis=1)
    return x[best], y[best]
