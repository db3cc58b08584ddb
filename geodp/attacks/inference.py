"""What an adversary may believe before looking at one person's reports, and the best guess after it.

Beliefs come from public things alone. The best guess minimises Σ d(guess, x)·P(x) over the cells of a square window
around what is known about a person (Shokri et al. 2011). Windows have the same number of cells whatever their size, and
d scales with it, so one matrix of distances serves them all: the expected distances of every guess in every window are
one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from geodp.attacks import Attack, AttackView
from geodp.errors import DataError
from geodp.geometry import Array, Grid, Region, read_places
from geodp.public.cell_reports import CellReports
from geodp.public.channels import Channel, PlanarLaplaceChannel
from geodp.public.em_deconvolution import deconvolve
from geodp.public.norm_sub import onto_simplex
from geodp.public.place_sets import Cloaks, PlaceSets
from geodp.public.release import Cells, GridCells, Points

CELLS_PER_SIDE = 50
SIDE_OF_WINDOWS = 50
"""Cells along either side of the window around one report."""
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
        inside = region.contains(*grid.all_centres()).astype(np.float64)
        return cls(grid, inside / inside.sum() if inside.any() else np.full(grid.size, 1 / grid.size))

    def at(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Array:
        """Return the prior density of places, up to a factor; zero outside the region."""
        cell = self.grid.locate(x_m, y_m)
        return np.where(cell >= 0, self.share[cell], 0.0)

    def best_guess(self) -> tuple[float, float]:
        """Return the place with the least expected distance."""
        x, y = self.grid.all_centres()
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

    def learn_prior(self, view: AttackView) -> Prior:
        """Return the belief about a person of whom nothing is known but that she is one of those released."""
        blind = self.blind(view.region)
        if self.prior == "uniform":
            return blind
        points = [release for release in view.releases if isinstance(release, Points)]
        if points:
            return from_reports(blind, points)
        answered = [
            (release, reports)
            for number, release in enumerate(view.releases)
            if isinstance(release, GridCells) and (reports := view.find_reports(number)) is not None
        ]
        return from_answers(blind, *zip(*answered, strict=True)) if answered else blind


def from_counts(before: Prior, release: Cells) -> Prior:
    """Return the belief about anyone after a release of counts: in proportion to the released density."""
    return before.with_counts(release.density(*before.grid.all_centres()))


def from_answers(before: Prior, releases: Sequence[GridCells], reports: Sequence[CellReports]) -> Prior:
    """Return where people are over the whole run, from all counts: the mean of all rounds, with none below zero."""
    people = float(np.mean([each.size for each in reports]))
    counts = onto_simplex(np.mean([release.count for release in releases], axis=0), people)
    cell = releases[0].grid.locate(*before.grid.all_centres())
    return before.with_counts(np.where(cell >= 0, counts[cell], 0.0))


def from_reports(before: Prior, releases: list[Points]) -> Prior:
    """Return where people are over the whole run, worked out from all their noisy reports."""
    every = max(1, sum(release.size for release in releases) // _REPORTS)
    rows = [_likelihood(release, slice(None, None, every), before.grid).astype(np.float32) for release in releases]
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


def _likelihood(release: Points, rows: slice, cells: Grid) -> Array:
    """Return f(z|x) for some reports and all cells, the largest of each report being 1."""
    x, y = cells.all_centres()
    if isinstance(release, PlaceSets):
        return _mark_cells(release, rows, cells)
    some = release.take(rows)
    table = np.empty((some.size, x.size))
    for channel, mine in some.by_law():
        for start in range(0, mine.size, _REPORTS_AT_ONCE):
            part = mine[start : start + _REPORTS_AT_ONCE]
            z_x, z_y = some.x_m[part], some.y_m[part]
            if channel is None:
                far = np.hypot(z_x[:, None] - x, z_y[:, None] - y)
                table[part] = far == far.min(axis=1, keepdims=True)
            else:
                places = (np.broadcast_to(place, (part.size, x.size)) for place in (x, y))
                table[part] = likelihood_of(channel, z_x, z_y, *places)
    return table


def _mark_cells(release: PlaceSets, rows: slice, cells: Grid) -> Array:
    """Return 1 for every cell that meets the set of a report, 0 for others."""
    if isinstance(release, Cloaks):
        x, y = cells.all_centres()
        half_x, half_y = cells.cell_x_m / 2, cells.cell_y_m / 2
        across = (x > release.west_m[rows, None] - half_x) & (x < release.east_m[rows, None] + half_x)
        along = (y > release.south_m[rows, None] - half_y) & (y < release.north_m[rows, None] + half_y)
        return np.asarray(across & along, dtype=np.float64)
    cell = cells.locate(*release.list_places(rows))
    table = np.zeros((len(cell), cells.size))
    table[np.nonzero(cell >= 0)[0], cell[cell >= 0]] = 1.0
    return table


def _public_counts(file: Path, prior: Prior, region: Region) -> Array:
    frame = read_places(file)
    missing = {"lon", "lat", "count"} - set(frame.columns)
    if missing:
        raise DataError(
            f"{file}: needs the columns lon, lat and count; missing: {', '.join(sorted(missing))}. "
            f"It has: {', '.join(map(str, frame.columns))}"
        )
    x_m, y_m = region.projection.to_m(lon=frame["lon"].to_numpy(), lat=frame["lat"].to_numpy())
    cell = prior.grid.locate(x_m, y_m)
    inside = cell >= 0
    counts = np.bincount(cell[inside], frame["count"].to_numpy(dtype=np.float64)[inside], minlength=prior.grid.size)
    if not counts.sum() > 0:
        raise DataError(f"{file}: no count lies inside the region")
    return np.asarray(counts, dtype=np.float64)


_AT_ONCE = 512  # windows per product: 10 MB of expected distances


@dataclass(frozen=True, eq=False)
class Windows:
    """Squares of side × side cells, each with a centre and a cell size of its own; cells row by row from the south."""

    centre_x_m: Array
    centre_y_m: Array
    cell_m: Array
    side: int

    def places(self) -> tuple[Array, Array]:
        """Return x and y of all cells, a row per window."""
        step = np.arange(self.side) - (self.side - 1) / 2
        x = self.centre_x_m[:, None] + self.cell_m[:, None] * np.tile(step, self.side)
        y = self.centre_y_m[:, None] + self.cell_m[:, None] * np.repeat(step, self.side)
        return x, y

    def pick(self, cell: npt.NDArray[np.int64]) -> tuple[Array, Array]:
        """Return the place of one cell of each window."""
        middle = (self.side - 1) / 2
        x = self.centre_x_m + (cell % self.side - middle) * self.cell_m
        y = self.centre_y_m + (cell // self.side - middle) * self.cell_m
        return x, y


def around(x_m: Array, y_m: Array, half_m: npt.ArrayLike, region: Region, side: int) -> Windows:
    """Return windows about places, no wider than the region needs, moved to where they meet it."""
    half = np.minimum(np.full(x_m.shape, half_m), max(region.width_m, region.height_m))
    centre_x, centre_y = region.clamp(x_m, y_m)
    return Windows(centre_x, centre_y, 2 * half / side, side)


def best_cells(weight: Array, side: int) -> npt.NDArray[np.int64]:
    """Return the cell with the least expected distance in each window; `weight` has a row of cells per window."""
    distances = _unit_distances(side)
    best = np.empty(len(weight), dtype=np.int64)
    for start in range(0, len(weight), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        best[part] = np.argmin(weight[part].astype(np.float32) @ distances, axis=1)
    return best


def nearest_to_all(x_m: Array, y_m: Array, weight: Array) -> int:
    """Return which of some places has the least weighted mean distance to all of them."""
    least, best = np.inf, 0
    for start in range(0, x_m.size, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        expected = np.hypot(x_m[part, None] - x_m, y_m[part, None] - y_m) @ weight
        if expected.min() < least:
            least, best = float(expected.min()), start + int(np.argmin(expected))
    return best


@lru_cache(maxsize=2)
def _unit_distances(side: int) -> npt.NDArray[np.float32]:
    step = np.arange(side, dtype=np.float32)
    x, y = np.tile(step, side), np.repeat(step, side)
    return np.asarray(np.hypot(x[:, None] - x, y[:, None] - y), dtype=np.float32)


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
