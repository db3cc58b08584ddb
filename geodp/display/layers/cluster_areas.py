"""The public clusters within which published visits were moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer
from geodp.display.layers._visits import places_m, publication_of

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder

_COLOUR = "#8a6d3b"


class ClusterAreasLayer(Layer):
    """Outlines of the clusters of venues: a visit stays inside its own, and may be told anywhere in it."""

    kind: ClassVar[str] = "cluster_areas"
    title: ClassVar[str] = "Clusters of venues"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 42

    publication: int | None = Field(default=None, ge=0)
    """Place of the publication in `publish`; default the first of visits."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the convex hull of each cluster's venues."""
        import shapely

        item = publication_of(run, self.publication)
        if item is None or "cluster" not in item.facts:
            return
        x_m, y_m = places_m(run)
        label = np.array(item.facts["cluster"], dtype=np.int64)
        ends: list[np.ndarray] = []
        rows: list[tuple[int, int, float]] = []
        for cluster in range(int(label.max()) + 1):
            points = np.column_stack([x_m[label == cluster], y_m[label == cluster]])
            hull = shapely.convex_hull(shapely.multipoints(points))
            ring = shapely.get_coordinates(hull)
            wide = float(np.hypot(*(ring[:, None] - ring).reshape(-1, 2).T).max())
            edges = np.column_stack([ring[:-1], ring[1:]])
            ends.append(edges)
            rows += [(cluster, len(points), wide)] * len(edges)
        if not rows:
            return
        edge = np.concatenate(ends)
        cluster_of, venues, wide_m = (np.array(column) for column in zip(*rows, strict=True))
        page.lines(
            self,
            (edge[:, 0], edge[:, 1]),
            (edge[:, 2], edge[:, 3]),
            mark=Mark(f"edge of a cluster ({int(label.max()) + 1})", _COLOUR, "line"),
            name="Cluster",
            ids=cluster_of,
            facts=[Fact("Venues", venues), Fact("Across", wide_m, unit="m")],
            until_s=0,
            what="edges of clusters",
        )
