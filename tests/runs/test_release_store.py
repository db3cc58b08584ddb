from pathlib import Path

import numpy as np
import pytest

from geodp import plugin
from geodp.curator.mechanisms import Snapshot
from geodp.geometry import Grid, Region
from geodp.privacy.guarantee import Guarantee
from geodp.privacy.noise import SimulatedNoise
from geodp.release import Cells, GridCells
from geodp.runs.release_store import read_release, write_release

REGION = Region(10.0, 50.0, 10.1, 50.05)


@pytest.mark.parametrize("kind", ["contour", "no_privacy"])
def test_what_the_server_reads_back_is_what_was_released(tmp_path: Path, kind: str) -> None:
    x, y = REGION.sample(500, np.random.default_rng(0))
    snapshot = Snapshot(60.0, x, y, REGION, 500.0)
    release = plugin(kind, cell_m=400).release(snapshot, SimulatedNoise(np.random.default_rng(1)))
    write_release(tmp_path, 3, release)
    again = read_release(tmp_path / "0003.json")
    assert type(again) is type(release)
    assert again.guarantee == release.guarantee
    assert np.array_equal(again.density(x, y), release.density(x, y))
    assert np.array_equal(again.count, release.count)


def test_plain_cells_and_grids_keep_their_type(tmp_path: Path) -> None:
    grid = Grid(0.0, 0.0, 10.0, 10.0, 2, 1)
    promise = Guarantee.none("a test")
    count, scale = np.array([1.0, 2.0]), np.zeros(2)
    for index, release in enumerate(
        [
            Cells(0.0, "test", promise, *grid.edges(), count, scale, 0.0),
            GridCells(0.0, "test", promise, *grid.edges(), count, scale, 0.0, grid=grid),
        ]
    ):
        write_release(tmp_path, index, release)
        assert type(read_release(tmp_path / f"{index:04d}.json")) is type(release)
