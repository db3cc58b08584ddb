"""Files of public towers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.tables.towers import TowerNetwork, read_towers

TOWN = Region(10.0, 50.0, 10.08, 50.05)


def write(folder: Path, text: str) -> Path:
    path = folder / "towers.csv"
    path.write_text(text)
    return path


def test_a_file_of_towers_is_read_under_usual_names(tmp_path: Path) -> None:
    towers = read_towers(write(tmp_path, "tower,longitude,latitude\n7,10.02,50.01\nB,10.05,50.02\n"))
    assert towers.names == ("7", "B")
    assert towers.number(["B", "7"]).tolist() == [1, 0]
    assert min(cell.area for cell in towers.cells_m) > 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tower,lon,lat\na,10.02,\n", "no lon or lat"),
        ("tower,lon,lat\na,10.02,50\na,10.03,50\n", "'a' is listed twice"),
        ("tower,lon,lat\n,10.02,50\n", "no tower"),
        ("site,lon,lat\na,10.02,50\n", "no column 'tower'"),
        ("tower,lon,lat\n", "no towers"),
    ],
)
def test_a_tower_without_name_or_place_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_towers(write(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_towers(tmp_path / "none.csv")


def test_a_network_is_laid_out_by_public_chance_alone(tmp_path: Path) -> None:
    first, again = (TowerNetwork(count=30).lay_out(TOWN, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first.lon, again.lon)
    listed = TowerNetwork(path=str(write(tmp_path, "tower,lon,lat\na,10.02,50.01\n")))
    assert listed.lay_out(TOWN, np.random.default_rng(5)).names == ("a",)
