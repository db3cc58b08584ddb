"""The shared half of mechanisms that publish a contour plot: grid, surface, levels."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator

from geodp.curator.decomposition import guideline_cell_m
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.geometry import Array, Grid
from geodp.public.release import Cells, Contours
from geodp.registry import PublicFacts

MAX_CELLS = 25_000_000
MAX_LEVELS = 100


class ContourPlot(Mechanism):
    """Counts on a grid, smoothed and drawn as contour lines."""

    releases: ClassVar[frozenset[str]] = frozenset({"cells", "contours"})
    fixed_cells: ClassVar[bool] = True

    cell_m: float | None = Field(default=None, gt=0)
    """Side of a grid cell, metres; the book's text has 300. Default: the uniform-grid guideline, sqrt(N ε / 10)
    cells per side with the public N."""
    sigma_cells: float = Field(default=1.0, ge=0, le=20)
    """Width of the Gaussian smoothing, in cells; 0 = none. Post-processing: costs nothing."""
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

    def _grid(self, snapshot: Snapshot) -> Grid:
        """Return the public grid: it depends on the scenario alone, never on where people are."""
        region = snapshot.region
        facts = PublicFacts(snapshot.expected_workers, 0, 1, 0, region.width_m, region.height_m)
        return Grid.fit(region, self.resolve(facts).cell_m or region.width_m)

    def _plot(self, snapshot: Snapshot, grid: Grid, count: Array, noise_scale: float) -> Contours:
        plot = Contours(
            count=count,
            noise_scale=np.full(grid.size, noise_scale),
            grid=grid,
            sigma_cells=self.sigma_cells,
            levels=np.empty(0),
            reading=self.density,
            **self.release_fields(snapshot, grid.edges()),
        )
        return plot.with_levels(self._levels(plot, grid))

    def with_counts(self, release: Cells, count: Array, noise_scale: Array, noise_terms: Array) -> Cells:
        """Draw the lines of other counts."""
        plot = super().with_counts(release, count, noise_scale, noise_terms)
        return plot.with_levels(self._levels(plot, plot.grid)) if isinstance(plot, Contours) else plot

    def _levels(self, plot: Contours, grid: Grid) -> Array:
        """Return the levels in workers per cell: positive, ascending, without repeats."""
        if isinstance(self.levels, tuple):
            return np.unique(np.asarray(self.levels) * grid.cell_area_m2 / 1e6)
        positive = plot.surface[plot.surface > 0]
        if positive.size == 0:
            return np.empty(0)
        shares = np.arange(1, self.levels + 1) / (self.levels + 1)
        return np.unique(np.quantile(positive, shares))
