"""Venues by how many people a publication says visited them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from geodp.display.layers import Layer
from geodp.display.venue_marks import draw_venue_counts

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class VenueCountsLayer(Layer):
    """Public venues, coloured by the published number of visitors (the first publication of counts)."""

    kind: ClassVar[str] = "venue_counts"
    title: ClassVar[str] = "Published venue counts"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 45

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the venues of the first publication of counts; they appear at the end of the run."""
        found = [item for item in run.publications if "counts" in item.topics]
        if not found:
            return
        if len(found) > 1:
            page.note(f"counts of {found[0].kind}, the first of {len(found)} publications of counts")
        frame = found[0].released
        lon, lat, count = (frame[name].to_numpy(dtype=np.float64) for name in ("lon", "lat", "count"))
        x_m, y_m = page.region.projection.to_m(lon=lon, lat=lat)
        names = frame["venue"].astype(str).tolist()
        draw_venue_counts(self, page, x_m, y_m, count, names, appears_s=run.scenario.duration_s)
