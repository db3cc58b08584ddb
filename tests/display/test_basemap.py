"""The ground: a user's own file, or tiles that wait to be chosen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from geodp.display.map import build_map
from geodp.errors import DataError, UsageError
from geodp.run_folder.folder import RunFolder
from tests.display.conftest import Browser, Made
from tests.display.fake_run import BOX
from tests.display.map_contents import contents, specs


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
    areas, _, lines = contents(build_map(run))
    assert sorted(zip(lines["lines"]["x"], lines["lines"]["y"], strict=True)) == [(0, 0), (0, 1112)]
    assert areas["areas"]["lengths"] == [4]


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


def test_generated_streets_cross_the_whole_region_and_say_that_they_are_generated(plain: RunFolder) -> None:
    page = build_map(plain, basemap="streets")
    (number,) = [place for place, spec in enumerate(specs(page)) if spec["kind"] == "basemap_lines"]
    streets = contents(page)[number]
    west, south, east, north = plain.region.box_m
    assert set(streets) == {"lines", "main"}
    x, y = streets["main"]["x"], streets["main"]["y"]
    assert max(x) - min(x) > 0.9 * (east - west)
    assert max(y) - min(y) > 0.9 * (north - south)
    assert "streets are generated: they are those of no real place" in page
    assert page == build_map(plain, basemap="streets")


def test_a_basemap_may_be_given_when_the_map_is_drawn(make_run: Made, tmp_path: Path) -> None:
    run = make_run(map={"layers": ["region"], "basemap": "streets"}, tasks=1, movers=1, releases=1)
    assert [spec["kind"] for spec in specs(build_map(run))] == ["region", "basemap_lines"]
    assert [spec["kind"] for spec in specs(build_map(run, basemap="none"))] == ["region"]
    assert "tile.openstreetmap.org" in build_map(run, basemap="osm")
    path = geojson(
        tmp_path / "coast.geojson", [{"type": "LineString", "coordinates": [[-122.5, 37.7], [-122.4, 37.8]]}]
    )
    assert "basemap_lines" in [spec["kind"] for spec in specs(build_map(run, basemap=path))]
    with pytest.raises(UsageError, match=r"there is no file .*nowhere\.geojson. Give none, streets, osm or the path"):
        build_map(run, basemap=tmp_path / "nowhere.geojson")


def test_workers_who_drive_on_streets_have_theirs(make_run: Made) -> None:
    assert make_run(tasks=1, movers=1, releases=1).streets.size > 100


def gazetteer(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_names_of_a_gazetteer_are_shown_the_largest_first(plain: RunFolder, tmp_path: Path) -> None:
    table = "name,lon,lat,population\nHill,-122.48,37.75,5\nMarket,-122.44,37.78,900\nFar,10,50,9999\n"
    page = build_map(plain, places=gazetteer(tmp_path / "places.csv", table))
    names = [data["names"] for data in contents(page) if "names" in data]
    assert names == [["Market", "Hill"]]
    features = {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"name": "Harbour"},
                "geometry": {"type": "Point", "coordinates": [-122.4, 37.8]},
            }
        ],
    }
    page = build_map(plain, places=gazetteer(tmp_path / "places.geojson", json.dumps(features)))
    assert [data["names"] for data in contents(page) if "names" in data] == [["Harbour"]]


def test_a_gazetteer_without_names_is_refused(plain: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no column name"):
        build_map(plain, places=gazetteer(tmp_path / "places.csv", "lon,lat\n1,2\n"))
    with pytest.raises(UsageError, match="--places: there is no file"):
        build_map(plain, places=tmp_path / "nowhere.csv")


@pytest.mark.browser
def test_a_name_that_finds_no_room_is_left_out(browser: Browser, plain: RunFolder, tmp_path: Path) -> None:
    table = "name,lon,lat,population\nSmall,-122.4401,37.7801,5\nLarge,-122.44,37.78,900\nHill,-122.48,37.75,1\n"
    browser.open(build_map(plain, places=gazetteer(tmp_path / "places.csv", table), basemap="streets"))
    written = "return geodp.stage.entries.find(e => e.spec.kind === 'places').layer.style.written"
    assert browser.run(written) == 2
    assert browser.problems() == []


def test_a_name_and_a_label_of_the_graticule_are_not_written_over_each_other(
    browser: Browser, plain: RunFolder, tmp_path: Path
) -> None:
    """Names stand all along the left edge of the window, where the graticule has its labels: none is hit."""
    nearer = "const map = geodp.stage.map; map.setZoom(map.getZoom() + 2, {animate: false});"
    browser.open(build_map(plain, basemap="none"))
    at = "const at = y => map.containerPointToLatLng([30, y]);"
    spots = browser.run(
        f"{nearer} {at} return [...Array(40).keys()].map(n => at(20 + 20 * n)).map(p => [p.lng, p.lat])"
    )
    rows = [f"Name {n},{lon},{lat},1" for n, (lon, lat) in enumerate(spots)]
    table = "\n".join(["name,lon,lat,population", *rows, ""])
    browser.open(build_map(plain, places=gazetteer(tmp_path / "places.csv", table), basemap="none"))
    style = "geodp.stage.entries.find(e => e.spec.kind === 'places').layer.style"
    browser.run(nearer)
    browser.wait(f"{style}.written > 0")
    assert browser.run(f"return {style}.written") < len(spots)
    assert browser.problems() == []
