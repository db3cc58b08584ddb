from pathlib import Path

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.geometry import region_from_file
from geodp.storage.features import read_features, read_places
from geodp.storage.gpx import GpxPoint, read_gpx

TRACKS = """<?xml version="1.0"?>
<gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1" creator="a receiver">
  <wpt lat="50.01" lon="10.01"><name>Café &amp; Bar</name></wpt>
  <rte><rtept lat="50.02" lon="10.02"/></rte>
  <trk><name>morning</name>
    <trkseg><trkpt lat="50.03" lon="10.03"><ele>3</ele><time> 2024-05-01T08:00:00Z </time></trkpt></trkseg>
    <trkseg><trkpt lat="50.04" lon="east"><extensions><name>not its name</name></extensions></trkpt></trkseg>
  </trk>
  <trk><trkseg><trkpt lat="50.05" lon="10.05"/></trkseg></trk>
</gpx>
"""
RING = [(10.0, 50.0), (10.2, 50.0), (10.2, 50.1), (10.0, 50.1), (10.0, 50.0005)]


def write(folder: Path, text: str, name: str = "a.gpx") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def route(points: list[tuple[float, float]]) -> str:
    return "<gpx><rte>" + "".join(f'<rtept lon="{x}" lat="{y}"/>' for x, y in points) + "</rte></gpx>"


def read(path: Path) -> list[GpxPoint]:
    return [point for points in read_gpx(path) for point in points]


def test_waypoints_routes_and_segments_of_tracks_are_told_apart(tmp_path: Path) -> None:
    points = read(write(tmp_path, TRACKS))
    assert [(point.kind, point.path) for point in points] == [
        ("waypoint", ""),
        ("route", "1"),
        ("track", "1.1"),
        ("track", "1.2"),
        ("track", "2.1"),
    ]
    assert points[0].name == "Café & Bar"
    assert points[2].time == "2024-05-01T08:00:00Z"
    assert (points[2].lon, points[2].lat) == (10.03, 50.03)
    assert np.isnan(points[3].lon)
    assert points[3].name is None  # that of an extension is another's


def test_a_long_file_comes_in_parts(tmp_path: Path) -> None:
    path = write(tmp_path, route([(10.0, 50.0)] * 20_000))
    parts = [len(points) for points in read_gpx(path)]
    assert len(parts) > 1
    assert sum(parts) == 20_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<gpx><wpt lat="1"', "unclosed token"),
        ("<kml></kml>", "its outermost element is 'kml', not 'gpx'"),
        ('<!DOCTYPE gpx [<!ENTITY a "aa">]><gpx/>', "it declares a document type"),
        ("<gpx>" + "<a>" * 1000, "too deep"),
        ("lon,lat\n1,2\n", "cannot be read as GPX"),
        ("", "no element found"),
    ],
)
def test_what_is_no_gpx_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read(write(tmp_path, text))


def test_a_route_that_ends_where_it_began_outlines_a_region(tmp_path: Path) -> None:
    region = region_from_file(write(tmp_path, route(RING)))
    assert (region.west, region.south, region.east, region.north) == (10.0, 50.0, 10.2, 50.1)


def test_an_open_line_is_no_area_but_a_line(tmp_path: Path) -> None:
    path = write(tmp_path, route(RING[:3]))
    with pytest.raises(DataError, match="holds no track or route that ends where it began"):
        region_from_file(path)
    assert list(read_features(path, lines=True).geom_type) == ["LineString"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "geoparquet", "gpkg", "geojson", "gpx"])
def test_places_are_read_from_every_format_in_degrees(tmp_path: Path, ending: str) -> None:
    import geopandas
    import pandas as pd

    table = pd.DataFrame({"lon": [10.0, 10.2], "lat": [50.0, 50.1], "count": [3, 4]})
    points = geopandas.points_from_xy(table["lon"], table["lat"], crs=4326)
    shapes = geopandas.GeoDataFrame(table[["count"]], geometry=points).to_crs(32632)
    path = tmp_path / f"places.{ending}"
    if ending == "csv":
        table.to_csv(path, index=False)
    elif ending == "parquet":
        table.to_parquet(path)
    elif ending == "geoparquet":
        shapes.to_parquet(path)
    elif ending == "gpx":
        path.write_text(route([(10.0, 50.0), (10.2, 50.1)]), encoding="utf-8")
    else:
        (shapes.to_crs(4326) if ending == "geojson" else shapes).to_file(path)
    found = read_places(path)
    np.testing.assert_allclose(found[["lon", "lat"]].to_numpy(), table[["lon", "lat"]].to_numpy(), atol=1e-6)
    if ending != "gpx":
        assert list(found["count"]) == [3, 4]


def test_places_that_are_no_points_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "area.geojson"
    read_features(write(tmp_path, route(RING))).to_file(path)
    with pytest.raises(DataError, match="places must be points, found Polygon"):
        read_places(path)
