"""The ground: a user's own file, or tiles that wait to be chosen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from geodp.display.map import build_map
from geodp.errors import DataError
from tests.display.conftest import Made
from tests.display.fake_run import BOX
from tests.display.map_contents import contents


def geojson(path: Path, shapes: list[dict[str, Any]]) -> Path:
    features = [{"type": "Feature", "properties": {}, "geometry": shape} for shape in shapes]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return path


def test_lines_and_areas_of_a_file_are_embedded_in_metres(make_run: Made, tmp_path: Path) -> None:
    lon, lat = (BOX["west"] + BOX["east"]) / 2, (BOX["south"] + BOX["north"]) / 2
    road: dict[str, Any] = {"type": "LineString", "coordinates": [[lon, lat], [lon, lat + 0.01]]}
    corners = [[lon, lat], [lon + 0.01, lat], [lon + 0.01, lat + 0.01], [lon, lat]]
    park: dict[str, Any] = {"type": "Polygon", "coordinates": [corners]}
    path = geojson(tmp_path / "roads.geojson", [road, park])
    run = make_run(map={"layers": ["region"], "basemap": str(path)}, tasks=1, movers=1, releases=1)
    ground = contents(build_map(run))[0]
    assert sorted(zip(ground["lines"]["x"], ground["lines"]["y"], strict=True)) == [(0, 0), (0, 1112)]
    assert ground["polygons"]["lengths"] == [4]


def test_what_lies_far_away_is_left_out(make_run: Made, tmp_path: Path) -> None:
    path = geojson(tmp_path / "far.geojson", [{"type": "LineString", "coordinates": [[10, 50], [11, 51]]}])
    run = make_run(map={"layers": ["region"], "basemap": str(path)}, tasks=1, movers=1, releases=1)
    page = build_map(run)
    assert len(contents(page)) == 1
    assert "no area or line of far.geojson lies near the region" in page


def test_a_file_that_is_none_is_named(make_run: Made, tmp_path: Path) -> None:
    path = tmp_path / "roads.geojson"
    path.write_text("{}", encoding="utf-8")
    run = make_run(map={"layers": ["region"], "basemap": str(path)}, tasks=1, movers=1, releases=1)
    path.write_text("not GeoJSON", encoding="utf-8")
    with pytest.raises(DataError, match=r"map\.basemap: .*roads\.geojson cannot be read"):
        build_map(run)


def test_tiles_are_allowed_only_where_they_were_asked_for(make_run: Made, html: str) -> None:
    run = make_run(map={"layers": ["region"], "basemap": "osm"}, tasks=1, movers=1, releases=1)
    assert "img-src data: https://tile.openstreetmap.org" in build_map(run)
    assert "openstreetmap" not in html
