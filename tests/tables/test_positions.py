from pathlib import Path

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.storage.files import anchor_path
from geodp.tables.notices import gather_notices
from geodp.tables.positions import read_fixes
from geodp.tables.reader import PLACE, open_table
from tests.world.places import angle_shaped

REGION = Region(10.0, 50.0, 10.2, 50.1)


def test_a_path_starts_at_the_folder_unless_it_has_a_start_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert anchor_path("data/a.csv", tmp_path) == str(tmp_path / "data" / "a.csv")
    assert anchor_path("/data/a.csv", tmp_path) == "/data/a.csv"
    assert anchor_path("~/a.csv", tmp_path) == "/home/ada/a.csv"
    assert anchor_path("", tmp_path) == ""


@pytest.mark.parametrize("outside", [1, 3])
def test_dropped_points_are_said(tmp_path: Path, outside: int) -> None:
    path = tmp_path / "a.csv"
    path.write_text("lon,lat\n" + "10.1,50.05\n" * (4 - outside) + "11,51\n" * outside)
    with gather_notices() as noticed:
        assert read_fixes(open_table(path, PLACE), REGION).x_m.size == 4 - outside
    share = 25 * outside
    assert noticed == [f"a.csv: {outside} of 4 points ({share} %) lie outside the region and are dropped."]


def test_points_in_the_dent_of_a_polygon_are_outside(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("lon,lat\n0.2,0.2\n0.25,0.15\n")  # inside the box of the L, outside the L
    with pytest.raises(DataError, match=r"none of its 2 points lies inside the region, a polygon in lon 0 to 0\.3"):
        read_fixes(open_table(path, PLACE), angle_shaped())


def test_points_on_the_edge_are_inside(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("lon,lat\n10,50\n10.2,50.1\n")
    rows = read_fixes(open_table(path, PLACE), REGION)
    west, south, east, north = REGION.box_m
    np.testing.assert_allclose([rows.x_m, rows.y_m], [[west, east], [south, north]])


def test_infinite_coordinates_are_missing_coordinates(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("lon,lat\n10.1,50.05\ninf,50.05\n")
    with pytest.raises(DataError, match="1 row has no lon or lat, first in line 3"):
        read_fixes(open_table(path, PLACE), REGION)
