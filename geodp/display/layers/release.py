"""What the curator published: densities, as the server sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import RELEASED, along, density_share
from geodp.display.drawing import Band, Moment
from geodp.display.layers import Layer
from geodp.display.surfaces import coarsened, surface, thinned

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.release import Cells, Contours
    from geodp.runs.run_folder import RunFolder


class ReleaseLayer(Layer):
    """Released worker density: filled contours, or cells where the mechanism releases no contours."""

    kind: ClassVar[str] = "release"
    title: ClassVar[str] = "Released density"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 30

    max_releases: int = Field(default=48, gt=0)
    """At most so many releases are drawn, evenly spaced over the run."""
    max_cells: int = Field(default=150_000, gt=0)
    """At most so many cells of all releases together; regular grids are drawn coarser beyond."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw every release; the clock picks the one in force."""
        from geodp.release import Contours

        releases = [release for _, release in thinned(run.releases, self.max_releases, page)]
        if not releases:
            return
        contours = [release for release in releases if isinstance(release, Contours)]
        if len(contours) == len(releases):
            page.areas(self, _moments(contours), name="Released density", unit="workers/km²")
            return
        self._draw_cells(releases, page)

    def _draw_cells(self, releases: list[Cells], page: Page) -> None:
        surfaces = [surface(release, np.asarray(release.count)) for release in releases]
        grids = [getattr(release, "grid", None) for release in releases]
        drawn = coarsened(surfaces, grids, self.max_cells, page)
        page.cells(self, drawn, ramp=RELEASED, name="Released count")


def _moments(releases: list[Contours]) -> list[Moment]:
    """Colour the bands of all releases on one scale, so that colours mean the same at all times."""
    per_km2 = [1e6 / release.grid.cell_area_m2 for release in releases]
    tops = [float(release.levels[-1]) * unit for release, unit in zip(releases, per_km2, strict=True) if release.levels.size]
    top = max(tops, default=1.0)
    moments = []
    for release, unit in zip(releases, per_km2, strict=True):
        areas = release.polygons()
        colours = along(RELEASED, density_share([low * unit for low, _, _ in areas], top)) if areas else []
        bands = [
            Band(low * unit, high * unit, colour, geometry)
            for (low, high, geometry), colour in zip(areas, colours, strict=True)
        ]
        moments.append(Moment(release.time_s, bands))
    return moments
