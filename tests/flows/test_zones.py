"""ZoneMap: the raster finds what the exact test finds, and files that are unclear are refused."""

from __future__ import annotations

from pathlib import Path

import geopandas
import numpy as np
import pytest
import shapely

from geodp.errors import DataError
from geodp.flows.zones import make_zones, read_zones
from tests.flows.worlds import grid_zones


def voronoi(seed: int, many: int) -> list[shapely.Polygon]:
    places = shapely.MultiPoint(np.random.default_rng(seed).uniform((10, 50), (10.3, 50.2), (many, 2)))
    parts = shapely.get_parts(shapely.voronoi_polygons(places))
    return [part for part in shapely.intersection(parts, shapely.box(10, 50, 10.3, 50.2)) if part.area > 0]


@pytest.mark.parametrize(("seed", "many"), [(0, 3), (1, 40), (2, 500)])
def test_places_are_found_as_the_exact_test_finds_them(seed: int, many: int) -> None:
    shapes = np.array(voronoi(seed, many)[: many - 1])  # one is missing: a gap
    zones = make_zones([f"z{number}" for number in range(len(shapes))], shapes)
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(9.99, 10.31, 20_000), rng.uniform(49.99, 50.21, 20_000)
    corners = shapely.get_coordinates(shapes)  # the hardest places: where outlines meet
    lon, lat = np.append(lon, corners[:, 0]), np.append(lat, corners[:, 1])
    place, zone = shapely.STRtree(shapes).query(shapely.points(lon, lat), predicate="intersects")
    exact = np.full(lon.size, len(shapes))
    np.minimum.at(exact, place, zone)
    assert (zones.locate(lon, lat) == exact).all()


def test_what_has_no_place_lies_outside() -> None:
    zones = grid_zones()
    assert zones.locate(np.array([np.nan, 0.0, 10.005]), np.array([50.0, 0.0, 50.005])).tolist() == [9, 9, 0]


def test_zones_that_overlap_are_refused_and_parts_of_one_name_are_one_zone() -> None:
    left, right = shapely.box(0, 0, 2, 1), shapely.box(1, 0, 3, 1)
    with pytest.raises(DataError, match="zones 'a' and 'b' overlap"):
        make_zones(["a", "b"], np.array([left, right]))
    assert make_zones(["a", "a"], np.array([left, right])).names == ("a",)


def test_a_file_is_read_with_its_districts_and_a_missing_column_is_named(tmp_path: Path) -> None:
    grid = grid_zones()
    frame = geopandas.GeoDataFrame({"zone": grid.names, "part": ["n"] * 4 + ["s"] * 5}, geometry=grid.shapes, crs=4326)
    path = tmp_path / "zones.gpkg"
    frame.to_file(path)
    zones = read_zones(path, "zone", "part")
    assert zones.all_districts == ("n", "s", "outside")
    assert zones.district_of.tolist() == [0] * 4 + [1] * 5 + [2]
    with pytest.raises(DataError, match="no column 'zones'"):
        read_zones(path, "zones")
