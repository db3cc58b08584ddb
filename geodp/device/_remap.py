"""The user's own optimal remap: post-processing of a report with a public prior, free of charge.

Given a report z, the posterior over true places is prior(x)·f(z|x). The phone then reports the cell with the least
expected distance under it (Chatzikokolakis et al. 2017): everyone could do the same to z, so nothing more is disclosed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.geometry import Array, Grid, Region
from geodp.public.channels import Channel, FiniteChannel
from geodp.storage.files import is_regular

if TYPE_CHECKING:
    import pandas as pd

MOST_CELLS = 2_500
"""The remap compares every cell with every other: this many take about a second."""


@dataclass(frozen=True, eq=False)
class Remap:
    """For every cell a report can fall in, the cell to report instead."""

    cells: Grid
    target: npt.NDArray[np.int64]
    channel: FiniteChannel
    """The law of the remapped report."""

    @classmethod
    def build(cls, channel: Channel, cells: Grid, prior: npt.ArrayLike) -> Remap:
        """Find the best answer for every reported cell: one matrix product."""
        from scipy import sparse

        weight = np.asarray(prior, dtype=np.float64).ravel()
        if weight.size != cells.size or not np.isfinite(weight).all() or (weight < 0).any() or weight.sum() <= 0:
            raise DataError(f"a prior needs {cells.size} finite weights of at least 0, not all of them 0")
        table = channel.matrix(cells, cells)
        x, y = cells.centres()
        x, y = np.tile(x, cells.rows), np.repeat(y, cells.columns)
        distance = np.hypot(x[:, None] - x, y[:, None] - y)
        expected = distance @ (table * (weight / weight.sum())[:, None])  # a row per answer, a column per report
        target = np.argmin(expected, axis=0).astype(np.int64)
        every = np.arange(cells.size)
        merge: Any = sparse.csr_array((np.ones(cells.size), (every, target)), shape=table.shape)
        remapped = np.asarray(table @ merge)  # reports with the same answer are one output
        return cls(cells, target, FiniteChannel(channel.epsilon_per_m, cells, remapped))

    def apply(self, x_m: Array, y_m: Array) -> tuple[Array, Array]:
        """Return the centres of the cells to report instead."""
        cell = self.target[self.cells.locate(x_m, y_m)]
        x, y = self.cells.centres()
        return x[cell % self.cells.columns], y[cell // self.cells.columns]


def remap_grid(region: Region, epsilon_per_m: float) -> Grid:
    """Return cells of a third of 1/ε, or larger ones when the region would need too many."""
    area = region.width_m * region.height_m
    return Grid.fit(region, max(1 / (3 * epsilon_per_m), float(np.sqrt(area / MOST_CELLS)) * 1.02))


@lru_cache(maxsize=8)
def remap_for(channel: Any, region: Region, epsilon_per_m: float, prior_file: str | None) -> Remap:
    """Return the remap for a region and a public prior: a file of places, or every place alike."""
    cells = remap_grid(region, epsilon_per_m)
    prior = np.ones(cells.size) if prior_file is None else prior_from_file(Path(prior_file), region, cells)
    return Remap.build(channel, cells, prior)


def prior_from_file(path: Path, region: Region, cells: Grid) -> Array:
    """Count the public places of a file (lon, lat and optionally count; csv or Parquet) per cell.

    A thousandth of the weight is spread evenly, so that no place is impossible.
    """
    places = _table(path)
    if not {"lon", "lat"} <= set(places.columns):
        raise DataError(f"{path}: a prior needs columns lon and lat (and optionally count)")
    x, y = region.projection.to_m(lon=places["lon"].to_numpy(np.float64), lat=places["lat"].to_numpy(np.float64))
    weight = places["count"].to_numpy(np.float64) if "count" in places.columns else np.ones(len(places))
    cell = cells.locate(x, y)
    inside = (cell >= 0) & np.isfinite(weight) & (weight > 0)
    if not inside.any():
        raise DataError(f"{path}: no place lies in the region, so it says nothing about where people are")
    counts = np.bincount(cell[inside], weights=weight[inside], minlength=cells.size)
    return np.asarray(counts + 1e-3 * counts.sum() / cells.size)


def _table(path: Path) -> pd.DataFrame:
    import pandas as pd

    if not is_regular(path):
        raise DataError(f"{path}: no such file")
    try:
        return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except Exception as error:
        raise DataError(f"{path}: cannot be read as a table of places ({error})") from error
