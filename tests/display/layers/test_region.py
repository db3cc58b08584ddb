"""The outline of the region."""

from __future__ import annotations

from pathlib import Path

import shapely

from geodp.display.layers.region import RegionLayer
from geodp.display.page import Page
from geodp.geometry import Region


def test_a_box_is_outlined_in_metres() -> None:
    region = Region(10.0, 50.0, 10.1, 50.1)
    page = Page(region, max_points=1, public=True)
    RegionLayer().draw(None, page)  # type: ignore[arg-type]  # the region is public: no run is read
    data = page.drawings[0].data
    # Half of 0.1° of latitude, and of 0.1° of longitude at 50.05° north.
    assert {(abs(x), abs(y)) for x, y in zip(data["x"].tolist(), data["y"].tolist(), strict=True)} == {(3570, 5560)}


def test_a_polygon_keeps_its_holes(tmp_path: Path) -> None:
    shape = shapely.box(10.0, 50.0, 10.1, 50.1).difference(shapely.box(10.04, 50.04, 10.06, 50.06))
    page = Page(Region(10.0, 50.0, 10.1, 50.1, polygon=shape), max_points=1, public=True)
    RegionLayer(graticule=False).draw(None, page)  # type: ignore[arg-type]
    assert page.drawings[0].data["lengths"].tolist() == [5, 5]
    assert page.drawings[0].data["graticule"] is False
