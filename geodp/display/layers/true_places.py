"""Where people really went."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from geodp.display.colours import TRUE
from geodp.display.drawing import Fact
from geodp.display.layers import Layer
from geodp.display.layers._visits import by_class, places_m

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class TruePlacesLayer(Layer):
    """Venues that people really visited, by how often (truth)."""

    kind: ClassVar[str] = "true_places"
    title: ClassVar[str] = "True visits"
    level: ClassVar[int] = 56

    shown: bool = False
    """Whether the layer is ticked when the map opens."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw every visited venue once."""
        if not run.scenario.needs_visits:
            return
        count = np.bincount(run.visits.venue, minlength=run.venues.size)
        visited = np.flatnonzero(count)
        if not visited.size:
            return
        x_m, y_m = places_m(run)
        marks, mark = by_class(count[visited], TRUE, "circle", "true visits")
        facts = [Fact("Venue", run.venues.name[visited].tolist(), form="words"), Fact("True visits", count[visited])]
        if run.venues.category is not None:
            facts.append(Fact("Category", run.venues.category[visited].tolist(), form="words"))
        page.points(
            self, x_m[visited], y_m[visited], marks=marks, mark=mark, name="Venue", facts=facts, what="visited venues"
        )
