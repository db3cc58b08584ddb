"""How dense workers are: as released, as the server works it out from reports, and as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import RELEASED, TRUE
from geodp.display.drawing import Band, Moment
from geodp.display.layers import Layer
from geodp.display.surfaces import are_promised, coarsen_surfaces, drawable, find_cell_releases, surface, thin_releases
from geodp.public.release import Contours

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder

_STEPS_PER_CELL = 32  # a line drawn between cell centres need not be kept to the metre
MAX_VERTICES = 200_000  # about 0.9 MB
_Plot = list[tuple[float, float, Any]]  # lower level, upper level, area


class DensityScaleLayer(Layer):
    """Layers that colour a density."""

    top_per_km2: float | None = Field(default=None, gt=0)
    """Density at which colours end, workers per km². Default: the largest density on the map, at all times and in all
    arms; give one where maps are laid side by side."""


class ReleaseLayer(DensityScaleLayer):
    """Released worker density: filled contours, or cells where the mechanism releases no contours."""

    kind: ClassVar[str] = "release"
    title: ClassVar[str] = "Released density"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 30

    max_releases: int = Field(default=48, gt=0)
    """Maximum number of releases drawn, evenly spaced over the run."""
    max_cells: int = Field(default=150_000, gt=0)
    """Maximum number of cells of all releases together; they are drawn coarser beyond."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw every release; the clock picks the one in force."""
        releases = [release for _, release in thin_releases(find_cell_releases(run), self.max_releases, page)]
        if not releases:
            return
        contours, protected = [each for each in releases if isinstance(each, Contours)], are_promised(releases)
        if len(contours) < len(releases):
            shown = drawable(releases, self.max_cells, page)
            page.cells(self, shown, ramp=RELEASED, name="Released count", top=self.top_per_km2, public=protected)
            return
        step_m = min(min(release.grid.cell_x_m, release.grid.cell_y_m) for release in contours) / _STEPS_PER_CELL
        moments, top = _moments(contours, step_m), self.top_per_km2
        page.areas(self, moments, ramp=RELEASED, name=self.title, top=top, step_m=step_m, public=protected)


def _moments(releases: list[Contours], step_m: float) -> list[Moment]:
    """Return the bands of all releases."""
    per_km2 = [1e6 / release.grid.cell_area_m2 for release in releases]
    # Nested areas store every line once, not with both of the bands it divides.
    plots = _light_enough([release.polygons(nested=True) for release in releases], step_m)
    return [
        Moment(release.time_s, [Band(low * unit, high * unit, geometry) for low, high, geometry in areas])
        for release, areas, unit in zip(releases, plots, per_km2, strict=True)
    ]


def _light_enough(plots: list[_Plot], step_m: float) -> list[_Plot]:
    """Simplify lines, and drop specks, until a web page can carry all plots together."""
    import shapely

    tolerance_m = step_m
    while sum(int(shapely.get_num_coordinates(area)) for plot in plots for _, _, area in plot) > MAX_VERTICES:
        plots = [[(low, high, _simpler(area, tolerance_m)) for low, high, area in plot] for plot in plots]
        tolerance_m *= 2
    return plots


def _simpler(area: Any, tolerance_m: float) -> Any:
    import shapely

    parts = shapely.get_parts(area)
    return shapely.multipolygons(shapely.simplify(parts[shapely.area(parts) > tolerance_m**2], tolerance_m))


class CellsLayer(DensityScaleLayer):
    """Noisy count of every released cell."""

    kind: ClassVar[str] = "cells"
    title: ClassVar[str] = "Noisy counts per cell"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 35

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    max_releases: int = Field(default=24, gt=0)
    """Maximum number of releases drawn, evenly spaced over the run."""
    max_cells: int = Field(default=150_000, gt=0)
    """Maximum number of cells of all releases together; they are drawn coarser beyond."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the counts of every release; the clock picks the one in force."""
        releases = [release for _, release in thin_releases(find_cell_releases(run), self.max_releases, page)]
        if not releases:
            return
        shown = drawable(releases, self.max_cells, page)
        word = "Exact" if all(np.all(release.noise_scale == 0) for release in releases) else "Noisy"
        title, top, public = f"{word} counts per cell", self.top_per_km2, are_promised(releases)
        page.cells(self, shown, ramp=RELEASED, name=f"{word} count", title=title, top=top, public=public)


class EstimateLayer(DensityScaleLayer):
    """Density that the server works out from the reports of phones, their noise taken out on average."""

    kind: ClassVar[str] = "estimate"
    title: ClassVar[str] = "Density from reports"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 30

    max_releases: int = Field(default=24, gt=0)
    """Maximum number of estimates drawn, evenly spaced over the run."""
    max_cells: int = Field(default=100_000, gt=0)
    """Maximum number of cells of all estimates together; grids are drawn coarser beyond."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw every estimate; the clock picks the one in force."""
        found = [estimate for estimate in run.estimates if estimate.guarantee.holds or not page.public]
        estimates = [estimate for _, estimate in thin_releases(found, self.max_releases, page)]
        if not estimates:
            return
        surfaces = [surface(estimate, np.asarray(estimate.count), noisy=False) for estimate in estimates]
        shown = coarsen_surfaces(surfaces, [estimate.grid for estimate in estimates], self.max_cells, page)
        top, public = self.top_per_km2, are_promised(estimates)
        page.cells(self, shown, ramp=RELEASED, name="Estimated count", top=top, public=public)


class DensityLayer(DensityScaleLayer):
    """True worker density when the first release was made (truth)."""

    kind: ClassVar[str] = "density"
    title: ClassVar[str] = "True density"
    level: ClassVar[int] = 20

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    max_cells: int = Field(default=150_000, gt=0)
    """Maximum number of cells; a regular grid is drawn coarser beyond."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the true counts of the cells of the first release."""
        first = find_cell_releases(run)[:1]
        if not first or run.releases[0] is not first[0]:
            return
        release = first[0]
        exact = surface(release, run.true_counts(0).to_numpy(dtype=np.float64), noisy=False)
        grid = getattr(release, "grid", None)
        shown = coarsen_surfaces([exact], [grid], self.max_cells, page)
        page.cells(self, shown, ramp=TRUE, name="True count", top=self.top_per_km2)
