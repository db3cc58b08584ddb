"""The shared half of mechanisms that publish a contour plot: grid, surface, levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator

from geodp.curator.decomposition import guideline_cell_m
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.geometry import Array, Grid
from geodp.public.release import Cells, Contours, Smoothing
from geodp.registry import PublicFacts

MAX_CELLS = 25_000_000
MAX_LEVELS = 100
SIGMAS_CELLS = (0.0, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0)
"""Widths of smoothing among which `auto` chooses: public, each about sqrt(2) times the one before."""


class ContourPlot(Mechanism):
    """Counts on a grid, smoothed and drawn as contour lines."""

    releases: ClassVar[frozenset[str]] = frozenset({"cells", "contours"})
    fixed_cells: ClassVar[bool] = True

    cell_m: float | None = Field(default=None, gt=0)
    """Side of a grid cell, metres; the book's text has 300. Default: the uniform-grid guideline, sqrt(N ε / 10)
    cells per side with the public N."""
    sigma_cells: Annotated[float, Field(ge=0, le=20)] | Literal["auto"] = "auto"
    """Width of the Gaussian smoothing, in cells; 0 = none, the book's plots are those of 1. `auto`: of 0 to 16 cells
    the width whose surface is nearest to the true counts, by an unbiased estimate from the noisy counts of every
    release. Squares of all cells count, so crowded places decide: who plans by the surface alone (`planning: plain`)
    asks more people in thin ones than with a wider smoothing. Post-processing: costs nothing."""
    levels: int | tuple[float, ...] = Field(default=8)
    """Contour levels: how many (quantiles of the positive values), or a list in workers per km²."""
    density: Literal["bilinear", "between_lines"] = "bilinear"
    """How a density is read off the plot: interpolated, or as in the book (mean of the two lines around)."""

    @field_validator("levels")
    @classmethod
    def _some_levels(cls, value: int | tuple[float, ...]) -> int | tuple[float, ...]:
        number = value if isinstance(value, int) else len(value)
        if not 1 <= number <= MAX_LEVELS:
            raise ValueError(f"must be 1 to {MAX_LEVELS} levels, or a list of as many, got {number:,}")
        return value

    def resolve(self, facts: PublicFacts) -> Self:
        """Write out the guideline's cell size; a cell is never larger than the region, which nobody could rerun."""
        if self.cell_m is not None:
            return self
        epsilon = getattr(self, "epsilon", 1.0) * facts.sensitivity  # whatever must stay hidden
        return self.model_copy(update={"cell_m": guideline_cell_m(facts, epsilon)})

    def fit_grid(self, snapshot: Snapshot) -> Grid:
        """Return the public grid: it depends on the scenario alone, never on where people are."""
        region = snapshot.region
        facts = PublicFacts(
            expected_workers=snapshot.expected_workers,
            expected_tasks=0,
            mean_reward=1,
            minimum_reward=0,
            width_m=region.width_m,
            height_m=region.height_m,
        )
        return Grid.fit(region, self.resolve(facts).cell_m or region.width_m)

    def _plot(self, snapshot: Snapshot, grid: Grid, count: Array, noise_scale: float) -> Contours:
        return self.show_counts(snapshot, grid, count, np.full(grid.size, noise_scale), None)

    def show_counts(
        self, snapshot: Snapshot, grid: Grid, count: Array, noise_scale: Array, noise_terms: Array | None
    ) -> Contours:
        """Draw a plot of noisy counts."""
        plot = Contours(
            count=count,
            noise_scale=noise_scale,
            noise_terms=noise_terms,
            grid=grid,
            sigma_cells=0.0,
            levels=np.empty(0),
            reading=self.density,
            **self.release_fields(snapshot, grid.edges()),
        )
        return self._smooth(plot)

    def with_counts(self, release: Cells, count: Array, noise_scale: Array, noise_terms: Array) -> Cells:
        """Draw the lines of other counts."""
        plot = super().with_counts(release, count, noise_scale, noise_terms)
        return self._smooth(plot) if isinstance(plot, Contours) else plot

    def _smooth(self, plot: Contours) -> Contours:
        """Return a plot with its width of smoothing and its lines, from its noisy counts alone."""
        sigma = choose_sigma(plot) if self.sigma_cells == "auto" else self.sigma_cells
        smooth = replace(plot, sigma_cells=sigma)
        return smooth.with_levels(self._levels(smooth, smooth.grid))

    def _levels(self, plot: Contours, grid: Grid) -> Array:
        """Return the levels in workers per cell: positive, ascending, without repeats."""
        if isinstance(self.levels, tuple):
            return np.unique(np.asarray(self.levels) * grid.cell_area_m2 / 1e6)
        positive = plot.surface[plot.surface > 0]
        if positive.size == 0:
            return np.empty(0)
        shares = np.arange(1, self.levels + 1) / (self.levels + 1)
        return np.unique(np.quantile(positive, shares))


def choose_sigma(plot: Contours) -> float:
    """Return the width of smoothing with the least estimated risk, the narrower of equals."""
    return min(SIGMAS_CELLS, key=lambda sigma: estimate_risk(plot, sigma))


def estimate_risk(plot: Contours, sigma_cells: float) -> float:
    """Estimate without bias the squared distance of a smoothed surface from the true counts, from noisy counts alone.

    Smoothing is a matrix K, noisy counts are y = n + e, with independent e of mean 0 and known variances s². As
    |K y - y|² = |K y - n|² - 2 e·(K y - n) + |e|², and e·(K y - n) has the mean Σ K_ii s_i², the mean of |K y - y|² +
    2 Σ K_ii s_i² - Σ s_i² is that of |K y - n|² (Mallows 1973, Stein 1981; no law of e is needed). K is a product of a
    matrix along either axis, cut and rescaled at the border, and so is its diagonal.

    Parameters
    ----------
    plot
        The noisy counts and their noise.
    sigma_cells
        Width of the smoothing, in cells.
    """
    grid = plot.grid
    along, across = (Smoothing.gaussian(size, sigma_cells).matrix for size in (grid.rows, grid.columns))
    counts = plot.count.reshape(grid.rows, grid.columns)
    variance = 2 * plot.noise_scale.reshape(counts.shape) ** 2
    moved = along @ counts @ across.T - counts
    kept = along.diagonal() @ variance @ across.diagonal()
    return float((moved**2).sum() + 2 * kept - variance.sum())
