"""What an adversary may believe before looking at one person's reports; all of it from public things."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from geodp.attacks import Attack, AttackView
from geodp.attacks._windows import likelihood_of, nearest_to_all
from geodp.errors import DataError
from geodp.geometry import Array, Grid, Region
from geodp.public.em_deconvolution import deconvolve
from geodp.public.release import Cells, Points

if TYPE_CHECKING:
    import pandas as pd

CELLS_PER_SIDE = 50
_REPORTS = 4000  # so many reports show where people are as well as all of them do
_REPORTS_AT_ONCE = 500
_PASSES = 15
_SMOOTHING_CELLS = 0.7  # per pass, standard deviation


@dataclass(frozen=True, eq=False)
class Prior:
    """Shares of a regular grid over the region; they sum to 1."""

    grid: Grid
    share: Array

    @classmethod
    def uniform(cls, region: Region) -> Prior:
        """Believe that all places of the region are alike."""
        grid = Grid.fit(region, max(region.width_m, region.height_m) / CELLS_PER_SIDE)
        inside = region.contains(*_centres(grid)).astype(np.float64)
        return cls(grid, inside / inside.sum() if inside.any() else np.full(grid.size, 1 / grid.size))

    def at(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Array:
        """Return the prior density of places, up to a factor; zero outside the region."""
        cell = self.grid.locate(x_m, y_m)
        return np.where(cell >= 0, self.share[cell], 0.0)

    def best_guess(self) -> tuple[float, float]:
        """Return the place with the least expected distance."""
        x, y = _centres(self.grid)
        best = nearest_to_all(x, y, self.share)
        return float(x[best]), float(y[best])

    def with_counts(self, counts: Array) -> Prior:
        """Return a prior in proportion to counts per cell, which may not be negative."""
        positive = np.maximum(counts, 0.0) * (self.share > 0)
        return Prior(self.grid, positive / positive.sum()) if positive.sum() > 0 else self


class AttackWithPrior(Attack):
    """The half that attacks on places share: what they believe beforehand."""

    file_fields: ClassVar[tuple[str, ...]] = ("prior_file",)

    prior: Literal["uniform", "released"] = "uniform"
    """`uniform` over the region, or `released`: where people are according to all that was released."""
    prior_file: str | None = None
    """Table (csv or Parquet) of public counts with columns lon, lat, count, used as the prior instead."""

    def blind(self, region: Region) -> Prior:
        """Return what the adversary believes before anything is released."""
        uniform = Prior.uniform(region)
        if self.prior_file is None:
            return uniform
        return uniform.with_counts(_public_counts(Path(self.prior_file), uniform, region))

    def informed(self, view: AttackView) -> Prior:
        """Return the belief about a person of whom nothing is known but that she is one of those released."""
        blind = self.blind(view.region)
        if self.prior == "uniform":
            return blind
        points = [release for release in view.releases if isinstance(release, Points)]
        return from_reports(blind, points) if points else blind


def from_counts(before: Prior, release: Cells) -> Prior:
    """Return the belief about anyone after a release of counts: in proportion to the released density."""
    return before.with_counts(release.density(*_centres(before.grid)))


def from_reports(before: Prior, releases: list[Points]) -> Prior:
    """Return where people are over the whole run, worked out from all their noisy reports."""
    x, y = _centres(before.grid)
    every = max(1, sum(release.size for release in releases) // _REPORTS)
    rows = [_likelihood(release, slice(None, None, every), x, y).astype(np.float32) for release in releases]
    table = np.concatenate(rows).T
    found = deconvolve(
        np.ones(table.shape[1]),
        table,
        (before.grid.rows, before.grid.columns),
        passes=_PASSES,
        smoothing_cells=_SMOOTHING_CELLS,
        start=before.share,
    )
    return Prior(before.grid, found / found.sum())


def _likelihood(release: Points, rows: slice, x: Array, y: Array) -> Array:
    """Return f(z|x) for some reports and all cells, the largest of each report being 1."""
    if release.channel is None:
        far = np.hypot(release.x_m[rows, None] - x, release.y_m[rows, None] - y)
        return np.asarray(far == far.min(axis=1, keepdims=True), dtype=np.float64)
    z_x, z_y = release.x_m[rows], release.y_m[rows]
    table = np.empty((z_x.size, x.size))
    for start in range(0, z_x.size, _REPORTS_AT_ONCE):
        part = slice(start, start + _REPORTS_AT_ONCE)
        cells = (np.broadcast_to(place, table[part].shape) for place in (x, y))
        table[part] = likelihood_of(release.channel, z_x[part], z_y[part], *cells)
    return table


def _centres(grid: Grid) -> tuple[Array, Array]:
    x, y = grid.centres()
    return np.tile(x, grid.rows), np.repeat(y, grid.columns)


def _public_counts(file: Path, prior: Prior, region: Region) -> Array:
    import pandas as pd

    try:
        frame = pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: cannot be read as a table ({error})") from error
    _require_columns(frame, file)
    x_m, y_m = region.projection.to_m(lon=frame["lon"].to_numpy(), lat=frame["lat"].to_numpy())
    cell = prior.grid.locate(x_m, y_m)
    inside = cell >= 0
    counts = np.bincount(cell[inside], frame["count"].to_numpy(dtype=np.float64)[inside], minlength=prior.grid.size)
    if not counts.sum() > 0:
        raise DataError(f"{file}: no count lies inside the region")
    return np.asarray(counts, dtype=np.float64)


def _require_columns(frame: pd.DataFrame, file: Path) -> None:
    missing = {"lon", "lat", "count"} - set(frame.columns)
    if missing:
        raise DataError(
            f"{file}: needs the columns lon, lat and count; missing: {', '.join(sorted(missing))}. "
            f"It has: {', '.join(map(str, frame.columns))}"
        )
