"""Places that phones told about their owners' histories."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from geodp.display.drawing import Fact
from geodp.display.layers import Layer
from geodp.display.layers._visits import by_class, places_m

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder

_RAMP = ("#fdf0d5", "#f4b266", "#c8651b", "#7a3405")


class ToldPlacesLayer(Layer):
    """Places that phones told in the last report about histories, by how many phones: true ones and fitted ones."""

    kind: ClassVar[str] = "told_places"
    title: ClassVar[str] = "Places phones told"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 57

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw every told place once."""
        if not run.history_reports:
            return
        report, venues = run.history_reports[-1], run.venues
        count = np.bincount(venues.numbers_of(report.items["venue"].tolist()), minlength=venues.size)
        told = np.flatnonzero(count)
        if not told.size:
            return
        x_m, y_m = places_m(run)
        marks, mark = by_class(count[told], _RAMP, "diamond", "phones")
        facts = [Fact("Venue", venues.name[told].tolist(), form="words"), Fact("Told by phones", count[told])]
        if venues.category is not None:
            facts.append(Fact("Category", venues.category[told].tolist(), form="words"))
        page.points(self, x_m[told], y_m[told], marks=marks, mark=mark, name="Place", facts=facts, what="told places")
