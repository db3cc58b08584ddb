import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Geod

from geodp.errors import DataError
from geodp.geometry import EARTH_RADIUS_M, Grid, Projection, Region, region_from_file, region_problems


@pytest.mark.parametrize("lat", [1.0, 40.0, 65.0, -33.0])
def test_local_distances_agree_with_the_great_circle(lat: float) -> None:
    projection = Projection(lon=10.0, lat=lat)
    for east, north in [(0.01, 0.0), (0.0, 0.01), (0.01, 0.01)]:
        x, y = projection.to_m(lon=10.0 + east, lat=lat + north)
        a, b = np.radians(lat), np.radians(lat + north)
        half = np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(np.radians(east) / 2) ** 2
        great_circle = 2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(half))
        assert np.hypot(x, y) == pytest.approx(great_circle, rel=4e-4)


@given(lon=st.floats(-180, 180), lat=st.floats(-70, 70), x=st.floats(-5e4, 5e4), y=st.floats(-5e4, 5e4))
def test_projecting_there_and_back_is_the_identity(lon: float, lat: float, x: float, y: float) -> None:
    projection = Projection(lon, lat)
    back_x, back_y = projection.to_m(**dict(zip(("lon", "lat"), projection.to_lonlat(x_m=x, y_m=y), strict=True)))
    assert back_x == pytest.approx(x, abs=1e-5)
    assert back_y == pytest.approx(y, abs=1e-5)


def test_points_just_across_the_180th_meridian_are_near() -> None:
    x, _ = Projection(lon=179.99, lat=0.0).to_m(lon=-179.99, lat=0.0)
    assert x == pytest.approx(np.radians(0.02) * EARTH_RADIUS_M)


@pytest.mark.parametrize(
    ("box", "word"),
    [
        ((0, 0, 0.1, 0), "empty"),
        ((0.1, 0, 0.1, 0.1), "empty"),
        ((179.9, 0, -179.9, 0.1), "180th"),
        ((179.9, 0, 180.1, 0.1), "180th"),
        ((37.7, -122.5, 37.8, -122.3), "swapped"),
        ((0, 0, 1, 95), "latitudes"),
        ((0, 40, 1, 60), "too large"),
        ((-90, -1, 90, 1), "180 degrees wide"),
        ((-180, -17, 180, -16), "one side"),
    ],
)
def test_impossible_boxes_are_explained(box: tuple[float, float, float, float], word: str) -> None:
    assert word in " ".join(region_problems(*box))


WIDE_BOXES = {
    "city": (-122.5135, 37.7113, -122.3627, 37.8327),
    "equator": (100.0, -0.1, 100.2, 0.1),
    "archipelago": (95.0, -11.0, 141.0, 6.0),
    "country": (5.0, 47.0, 15.0, 49.0),
    "far north": (15.0, 68.0, 22.0, 69.5),
    "south": (-72.0, -42.0, -66.0, -38.0),
    "widest": (-30.0, -8.0, 30.0, 8.0),
}


@pytest.mark.parametrize("name", WIDE_BOXES)
def test_no_two_places_are_shown_further_apart_than_the_stretch_says(name: str) -> None:
    """Against geodesics of the ellipsoid, for pairs near and far, those along the edges and across corners included."""
    region = Region(*WIDE_BOXES[name])
    rng = np.random.default_rng(5)
    lon = rng.uniform(region.west, region.east, (2, 4000))
    lat = rng.uniform(region.south, region.north, (2, 4000))
    lon[1, :1000], lat[1, :1000] = lon[0, :1000] + 1e-4, lat[0, :1000]  # short steps east
    lon[1, 1000:2000], lat[1, 1000:2000] = lon[0, 1000:2000], lat[0, 1000:2000] + 1e-4  # and north
    lat[:, 2000:2500], lat[:, 2500:3000] = region.north, region.south  # along the edges
    lon[:, 3000:3004] = [[region.west] * 4, [region.east] * 4]
    lat[:, 3000:3004] = [[region.north, region.south] * 2, [region.north, region.south, region.south, region.north]]
    (x0, x1), (y0, y1) = region.projection.to_m(lon=lon, lat=lat)
    true_m = Geod(ellps="WGS84").inv(lon[0], lat[0], lon[1], lat[1])[2]
    ratio = np.hypot(x1 - x0, y1 - y0) / true_m
    assert ratio.max() <= region.stretch * (1 + 1e-7)
    assert region.stretch <= ratio.max() * 1.02  # no more is claimed than is needed


def test_a_region_that_the_plane_cannot_hold_has_no_finite_stretch() -> None:
    assert Region(-90.0, -1.0, 90.0, 1.0).stretch == math.inf
    assert Region(0.0, 89.0, 1.0, 90.0).stretch == math.inf


def test_a_region_near_the_equator_is_stretched_north_to_south() -> None:
    """The mean radius exceeds the meridian's radius of curvature there by 0.56 %."""
    assert Region(100.0, -0.01, 100.02, 0.01).stretch == pytest.approx(1.00561, abs=1e-5)


def test_a_city_has_no_problem() -> None:
    assert region_problems(-122.5135, 37.7113, -122.3627, 37.8327) == []


def test_a_polygon_region_contains_and_samples_its_inside_only(tmp_path: Path) -> None:
    triangle = {"type": "Polygon", "coordinates": [[[0, 0], [0.1, 0], [0, 0.1], [0, 0]]]}
    path = tmp_path / "triangle.geojson"
    path.write_text(json.dumps({"type": "Feature", "properties": {}, "geometry": triangle}))
    region = region_from_file(path)
    assert region.area_m2 == pytest.approx(region.width_m * region.height_m / 2, rel=1e-6)
    x, y = region.sample(2000, np.random.default_rng(0))
    assert region.contains(x, y).all()
    assert not region.contains(*region.projection.to_m(lon=[0.09], lat=[0.09])).any()
    assert (x.size, y.size) == (2000, 2000)


def test_a_region_file_without_polygons_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "point.geojson"
    point = {"type": "Point", "coordinates": [0, 0]}
    path.write_text(json.dumps({"type": "Feature", "properties": {}, "geometry": point}))
    with pytest.raises(DataError, match="no polygon"):
        region_from_file(path)
    with pytest.raises(DataError, match="no such file"):
        region_from_file(tmp_path / "absent.geojson")


def test_grid_cells_tile_the_box_and_count_every_point_once() -> None:
    region = Region(0.0, 0.0, 0.1, 0.05)
    grid = Grid.fit(region, 300.0)
    west, south, east, north = grid.edges()
    assert ((east - west) * (north - south)).sum() == pytest.approx(region.area_m2)
    assert abs(grid.cell_x_m - 300) < 10
    x, y = region.sample(5000, np.random.default_rng(1))
    count = grid.count(x, y)
    assert count.sum() == 5000
    cell = grid.locate(x, y)
    assert ((x >= west[cell]) & (x <= east[cell]) & (y >= south[cell]) & (y <= north[cell])).all()


def test_the_outer_edge_belongs_to_the_grid_and_the_outside_does_not() -> None:
    region = Region(0.0, 0.0, 0.1, 0.05)
    grid = Grid.fit(region, 250.0)
    west, south, east, north = region.box_m
    assert grid.locate([east], [north])[0] == grid.size - 1
    assert grid.locate([west], [south])[0] == 0
    assert grid.locate([east + 1.0], [north])[0] == -1
