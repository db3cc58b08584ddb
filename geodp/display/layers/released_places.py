"""Where published visits lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import RELEASED
from geodp.display.drawing import Fact
from geodp.display.layers import Layer
from geodp.display.layers._visits import by_class, publication_of

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class ReleasedPlacesLayer(Layer):
    """Places of published visits, by how many were published there."""

    kind: ClassVar[str] = "released_places"
    title: ClassVar[str] = "Published visits"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 58

    publication: int | None = Field(default=None, ge=0)
    """Place of the publication in `publish`; default the first of visits."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw every published place once."""
        item = publication_of(run, self.publication)
        if item is None or item.released.empty:
            return
        told = item.released.groupby(["lon", "lat"], as_index=False).agg(
            visits=("user", "size"), people=("user", "nunique"), venue=("venue", "first")
        )
        x_m, y_m = page.region.projection.to_m(lon=told["lon"].to_numpy(), lat=told["lat"].to_numpy())
        count = told["visits"].to_numpy(dtype=np.int64)
        marks, mark = by_class(count, RELEASED, "square", "published visits")
        page.points(
            self,
            x_m,
            y_m,
            marks=marks,
            mark=mark,
            name="Published place",
            facts=[
                Fact("Venue", told["venue"].fillna("none: a centroid").tolist(), form="words"),
                Fact("Published visits", count),
                Fact("Of people", told["people"].to_numpy()),
            ],
            what="published places",
        )
