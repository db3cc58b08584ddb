"""Towers: cells that are the places nearest to each site, who serves whom, and places drawn within cells."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.public.towers import NO_TOWER, Towers, lay_out_hexagons, scatter_towers

TOWN = Region(10.0, 50.0, 10.08, 50.05)


def make(count: int = 60, seed: int = 1) -> Towers:
    return scatter_towers(TOWN, count, np.random.default_rng(seed))


def test_cells_cover_the_region_once_and_hold_the_places_nearest_to_their_site() -> None:
    towers = make()
    assert sum(cell.area for cell in towers.cells_m) == pytest.approx(TOWN.area_m2)
    x_m, y_m = TOWN.sample(5000, np.random.default_rng(2))
    site_x, site_y = towers.sites_m
    nearest = np.argmin((x_m[:, None] - site_x) ** 2 + (y_m[:, None] - site_y) ** 2, axis=1)
    np.testing.assert_array_equal(towers.find_nearest(x_m, y_m), nearest)
    inside = shapely.contains_xy(towers.cells_m[nearest], x_m, y_m)
    assert inside.mean() > 0.999


def test_towers_at_one_site_share_the_cell_of_the_first() -> None:
    towers = Towers(TOWN, ("a", "b", "c"), np.array([10.02, 10.02, 10.06]), np.array([50.02, 50.02, 50.03]))
    assert towers.cell_of.tolist() == [0, 0, 2]
    assert towers.cells_m[1].is_empty
    assert set(towers.find_nearest(*TOWN.sample(500, np.random.default_rng(0))).tolist()) == {0, 2}


def test_one_tower_has_the_whole_region() -> None:
    alone = Towers(TOWN, ("a",), np.array([10.02]), np.array([50.02]))
    assert alone.cells_m[0].area == pytest.approx(TOWN.area_m2)


def test_phones_out_of_reach_have_no_tower() -> None:
    towers = make()
    x_m, y_m = TOWN.sample(3000, np.random.default_rng(3))
    served = towers.find_serving(x_m, y_m, range_m=300.0)
    site_x, site_y = towers.sites_m
    apart_m = np.hypot(x_m[:, None] - site_x, y_m[:, None] - site_y).min(axis=1)
    np.testing.assert_array_equal(served == NO_TOWER, apart_m > 300)


def test_without_shadow_the_nearest_serves_and_with_it_others_do_but_only_near_ones() -> None:
    towers = make()
    x_m, y_m = TOWN.sample(3000, np.random.default_rng(4))
    quiet = towers.find_serving(x_m, y_m, shadow=np.zeros((3000, 8)))
    np.testing.assert_array_equal(quiet, towers.find_nearest(x_m, y_m))
    loud = towers.find_serving(x_m, y_m, shadow=np.random.default_rng(5).normal(0, 8, (3000, 8)))
    assert 0.2 < (loud != quiet).mean() < 0.6
    site_x, site_y = towers.sites_m
    rank = (np.hypot(x_m[:, None] - site_x, y_m[:, None] - site_y)
            < np.hypot(x_m - site_x[loud], y_m - site_y[loud])[:, None]).sum(axis=1)  # fmt: skip
    assert rank.max() < 8


def test_places_within_a_cell_are_even_by_area() -> None:
    towers = make(20)
    rng = np.random.default_rng(6)
    for tower in (0, 7, 19):
        number = np.full(20_000, tower)
        x_m, y_m = towers.place_within(number, rng.random(20_000), rng.random(20_000))
        np.testing.assert_array_equal(towers.find_nearest(x_m, y_m), number)
        cell = towers.cells_m[tower]
        west, south, east, north = cell.bounds
        half = shapely.intersection(cell, shapely.box(west, south, (west + east) / 2, north)).area / cell.area
        # a share of 20,000 is within 5 standard deviations but for 6e-7
        assert abs((x_m < (west + east) / 2).mean() - half) < 5 * np.sqrt(0.25 / 20_000)
        centre = shapely.centroid(cell)
        assert np.hypot(x_m.mean() - centre.x, y_m.mean() - centre.y) < 5 * max(x_m.std(), y_m.std()) / 140


def test_hexagons_are_equal_away_from_the_border() -> None:
    towers = lay_out_hexagons(TOWN, 200)
    assert abs(towers.size - 200) <= 20
    assert sum(cell.area for cell in towers.cells_m) == pytest.approx(TOWN.area_m2)
    border = shapely.box(*TOWN.box_m).boundary
    inner = [cell for cell in towers.cells_m if cell.distance(border) > 1]
    sides = {len(shapely.get_coordinates(cell)) - 1 for cell in inner}
    areas = np.array([cell.area for cell in inner])
    assert sides == {6}
    assert np.ptp(areas) / areas.mean() < 1e-6


def test_names_are_found_and_unknown_ones_are_none() -> None:
    towers = make(12)
    assert towers.names[0] == "tower 01"
    assert towers.number(["tower 12", "tower 99", None]).tolist() == [11, NO_TOWER, NO_TOWER]


@pytest.mark.parametrize(
    ("names", "lon", "says"),
    [((), [], "at least one"), (("a", "a"), [10.0, 10.1], "listed twice"), (("a",), [np.nan], "no place")],
)
def test_towers_without_sense_are_refused(names: tuple[str, ...], lon: list[float], says: str) -> None:
    with pytest.raises(DataError, match=says):
        Towers(TOWN, names, np.array(lon), np.full(len(lon), 50.0))
