"""Releases and published tables on maps that open with no network, with what they promise beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.errors import UsageError
from geodp.frames.plugins import build_plugin
from geodp.geometry import Region
from geodp.public.release import Cells, Contours, Points

if TYPE_CHECKING:
    import geopandas

    from geodp.display.folium_map import OfflineMap
    from geodp.display.layers import Layer
    from geodp.display.timeless_page import TimelessPage
    from geodp.frames.release import Release, ReleasedTable

MAX_POINTS = 5000
_MARGIN = 0.02
_UNIT = "people/km²"


def map_release(release: Release, *, title: str | None, max_points: int | None, **fields: Any) -> OfflineMap:
    """Return one release on a map: contours, cells, or reported places.

    Parameters
    ----------
    release
        The release.
    title
        What the map is called (None: after the mechanism).
    max_points
        Maximum number of things drawn.
    **fields
        Fields of the layer that draws it.
    """
    data, most = release.data, MAX_POINTS if max_points is None else max_points
    page = _open_page(release.region, most, releasable=release.releasable and release.guarantee.holds)
    if isinstance(data, Points):
        kind = data.kind if data.kind in ("cloaks", "candidates") else "reports"
        layer = _make_layer(kind, ({"max_people": most} if kind == "reports" else {}) | fields)
    else:
        layer = _make_layer("release" if isinstance(data, Contours) else "cells", fields)
    stand_in: Any = _OneRelease(release)  # these layers read releases and nothing else
    layer.draw(stand_in, page)
    what = "Reports of phones" if isinstance(data, Points) else "Released counts"
    sentences = [release.guarantee.sentence()]
    return page.finish(title or f"{what}: {release.mechanism}", release.guarantee, sentences)


class _OneRelease:
    """A release without its run: what layers of released data read."""

    def __init__(self, release: Release) -> None:
        self.releases, self.region = [release.data], release.region
        self.estimates: list[Cells] = []  # nobody has worked anything out from it


def map_table(released: ReleasedTable, *, title: str | None, max_points: int | None) -> OfflineMap:
    """Return a published table on a map: venues by their counts, trips as lines, or places.

    Parameters
    ----------
    released
        The table.
    title
        What the map is called (None: after the publication).
    max_points
        Maximum number of things drawn.
    """
    frame = released.to_geodataframe()
    frame = frame[~(frame.geometry.isna() | frame.geometry.is_empty)]
    if frame.empty:
        raise UsageError(f"what {released.kind} publishes has no row with a place: there is nothing to draw.")
    most = MAX_POINTS if max_points is None else max_points
    west, south, east, north = (float(edge) for edge in frame.total_bounds)
    wide = _MARGIN * max(east - west, north - south, 0.01)
    area = released.region or Region(west - wide, south - wide, east + wide, north + wide)
    page = _open_page(area, most, releasable=released.releasable)
    _draw_table(page, frame)
    return page.finish(title or f"Published by {released.kind}", released.guarantee, [released.guarantee.sentence()])


def _draw_table(page: TimelessPage, frame: geopandas.GeoDataFrame) -> None:
    from geodp.display.colours import REPORT
    from geodp.display.drawing import Mark
    from geodp.display.layers.visits import draw_venue_counts

    points = frame.geometry if (frame.geom_type == "Point").all() else frame.representative_point()
    lon, lat = points.x.to_numpy(), points.y.to_numpy()
    x_m, y_m = page.region.projection.to_m(lon=lon, lat=lat)
    if "count" in frame and "venue" in frame:
        layer, count = _make_layer("reports", {}, "Published counts"), frame["count"].to_numpy(dtype=np.float64)
        draw_venue_counts(layer, page, x_m, y_m, count, names=frame["venue"].astype(str).tolist())
    elif "trajectory" in frame:
        trip = frame["trajectory"].to_numpy()
        begin = np.flatnonzero(trip[:-1] == trip[1:])
        page.lines(
            _make_layer("reports", {}, "Published trips"),
            (x_m[begin], y_m[begin]),
            (x_m[begin + 1], y_m[begin + 1]),
            mark=Mark("step of a trip", REPORT, "line"),
            name="Step",
            what="steps of trips",
        )
    else:
        mark = Mark("published place", REPORT, "square")
        page.points(_make_layer("reports", {}, "Published places"), x_m, y_m, marks=[mark], name="Place", what="places")


def _open_page(region: Region, max_points: int, *, releasable: bool) -> TimelessPage:
    from geodp.display.timeless_page import TimelessPage

    return TimelessPage(region, max_points=max_points, unit=_UNIT, releasable=releasable)


def _make_layer(kind: str, fields: dict[str, Any], title: str | None = None) -> Layer:
    """Return a layer of a kind with its fields, under a title of its own where one is given."""
    layer: Any = build_plugin("layer", kind, fields)
    if title is None:
        made: Layer = layer
        return made

    class Titled(type(layer)):  # type: ignore[misc]
        pass

    Titled.title = title
    titled: Layer = Titled(**fields)
    return titled
