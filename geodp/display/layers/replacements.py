"""Which place was published instead of which, for one person."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import TRAVELLING
from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer
from geodp.display.layers._visits import places_m, publication_of
from geodp.model import did_you_mean

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class ReplacementsLayer(Layer):
    """Lines from the places that one person visited to those published instead (truth)."""

    kind: ClassVar[str] = "replacements"
    title: ClassVar[str] = "One person's visits, moved"
    level: ClassVar[int] = 54

    person: str = ""
    """Name of the person; default the first one."""
    publication: int | None = Field(default=None, ge=0)
    """Place of the publication in `publish`; default the first of visits."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the surviving visits of the chosen person."""
        item = publication_of(run, self.publication)
        if item is None:
            return
        people = [str(name) for name in run.visits.people]
        name = self.person or people[0]
        if name not in people:
            page.note(f"replacements: nobody is called '{name}'.{did_you_mean(name, people)}")
            return
        rows = item.truth("replacements")
        rows = rows[(rows["person"] == people.index(name)) & rows["survived"]]
        added = int((item.released["user"] == name).sum()) - len(rows)
        true = rows["true_venue"].to_numpy(dtype=np.int64)
        x_m, y_m = places_m(run)
        plane = run.venues.region().projection  # publications reckon in the plane around the venues
        lon, lat = plane.to_lonlat(x_m=rows["x_m"].to_numpy(), y_m=rows["y_m"].to_numpy())
        to_x, to_y = page.region.projection.to_m(lon=lon, lat=lat)
        page.note(f"{len(rows):,} visits of {name} that survived; {added:,} were made up")
        page.lines(
            self,
            (x_m[true], y_m[true]),
            (to_x, to_y),
            mark=Mark(f"{name}: from the true place (dot) to the published one", TRAVELLING, "line"),
            name="Visit",
            facts=[
                Fact("True place", run.venues.name[true].tolist(), form="words"),
                Fact("Moved", np.hypot(to_x - x_m[true], to_y - y_m[true]), unit="m"),
            ],
            until_s=0,
            what="moved visits",
        )
