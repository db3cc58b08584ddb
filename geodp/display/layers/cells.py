"""The noisy counts themselves, before any smoothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import RELEASED
from geodp.display.layers import Layer
from geodp.display.surfaces import counted, drawable, promised, thinned

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class CellsLayer(Layer):
    """Noisy count of every released cell."""

    kind: ClassVar[str] = "cells"
    title: ClassVar[str] = "Noisy counts per cell"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 35

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    max_releases: int = Field(default=24, gt=0)
    """At most so many releases are drawn, evenly spaced over the run."""
    max_cells: int = Field(default=150_000, gt=0)
    """At most so many cells of all releases together; they are drawn coarser beyond."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the counts of every release; the clock picks the one in force."""
        releases = [release for _, release in thinned(counted(run), self.max_releases, page)]
        if not releases:
            return
        drawn = drawable(releases, self.max_cells, page)
        exact = all(np.all(release.noise_scale == 0) for release in releases)
        word = "Exact" if exact else "Noisy"
        title = f"{word} counts per cell"
        page.cells(self, drawn, ramp=RELEASED, name=f"{word} count", title=title, public=promised(releases))
