"""Where the workers really were, to hold against what was released."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import TRUE
from geodp.display.layers import Layer
from geodp.display.surfaces import coarsened, counted, surface

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class DensityLayer(Layer):
    """True worker density when the first release was made (truth)."""

    kind: ClassVar[str] = "density"
    title: ClassVar[str] = "True density"
    level: ClassVar[int] = 20

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    max_cells: int = Field(default=150_000, gt=0)
    """At most so many cells; a regular grid is drawn coarser beyond."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the true counts of the cells of the first release."""
        first = counted(run)[:1]
        if not first or run.releases[0] is not first[0]:
            return
        release = first[0]
        exact = surface(release, run.true_counts(0).to_numpy(dtype=np.float64), noisy=False)
        grid = getattr(release, "grid", None)
        page.cells(self, coarsened([exact], [grid], self.max_cells, page), ramp=TRUE, name="True count")
