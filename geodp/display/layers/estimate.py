"""What the server makes of noisy reports: a density."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import RELEASED
from geodp.display.layers import Layer
from geodp.display.surfaces import coarsened, promised, surface, thinned

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class EstimateLayer(Layer):
    """Density that the server works out from the reports of phones, their noise taken out on average."""

    kind: ClassVar[str] = "estimate"
    title: ClassVar[str] = "Density from reports"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 30

    max_releases: int = Field(default=24, gt=0)
    """At most so many estimates are drawn, evenly spaced over the run."""
    max_cells: int = Field(default=100_000, gt=0)
    """At most so many cells of all estimates together; grids are drawn coarser beyond."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw every estimate; the clock picks the one in force."""
        found = [estimate for estimate in run.estimates if estimate.guarantee.holds or not page.public]
        estimates = [estimate for _, estimate in thinned(found, self.max_releases, page)]
        if not estimates:
            return
        surfaces = [surface(estimate, np.asarray(estimate.count), noisy=False) for estimate in estimates]
        drawn = coarsened(surfaces, [estimate.grid for estimate in estimates], self.max_cells, page)
        page.cells(self, drawn, ramp=RELEASED, name="Estimated count", public=promised(estimates))
