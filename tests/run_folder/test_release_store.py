from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geodp import plugin
from geodp.curator.mechanisms import Snapshot
from geodp.geometry import Grid, Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Guarantee
from geodp.public.release import Cells, DensityEstimate, GridCells, Points
from geodp.registry import plugins
from geodp.run_folder.release_store import read_release, write_release

REGION = Region(10.0, 50.0, 10.1, 50.05)


@pytest.mark.parametrize("kind", [kind for kind in sorted(plugins("mechanism")) if kind != "cloak"])
def test_what_the_server_reads_back_is_what_was_released(tmp_path: Path, kind: str) -> None:
    x, y = REGION.sample(500, np.random.default_rng(0))
    snapshot = Snapshot(60.0, x, y, REGION, 500.0)
    release = plugin(kind).release(snapshot, SimulatedNoise(np.random.default_rng(1)))
    write_release(tmp_path, 3, release)
    again = read_release(tmp_path / "0003.json")
    assert isinstance(again, Cells)
    assert again.guarantee == release.guarantee
    assert np.array_equal(again.density(x, y), release.density(x, y))
    assert np.array_equal(again.locate(x, y), release.locate(x, y))
    law, other = again.density_law(x, y), release.density_law(x, y)
    assert np.array_equal(law.variance, other.variance)
    assert np.array_equal(law.terms, other.terms)
    assert np.array_equal(again.count, release.count)
    assert type(again) is type(release)
    assert np.array_equal(getattr(again, "coarse_count", None), getattr(release, "coarse_count", None))  # type: ignore[arg-type]


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


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("planar_laplace", {}),
        ("planar_laplace", {"cell_m": 100.0}),
        ("planar_laplace", {"clamp": False}),
        ("planar_geometric", {"cell_m": 100.0}),
        ("none", {}),
    ],
)
def test_reports_come_back_with_their_names_and_their_law(tmp_path: Path, kind: str, fields: dict[str, Any]) -> None:
    device = plugin(kind, "device", **fields)
    rng = np.random.default_rng(0)
    x, y = REGION.sample(40, rng)
    who = np.array([f"w{number:014x}" for number in range(40)])
    x, y = (np.array(place) for place in device.report(x, y, rng=rng, region=REGION))
    points = Points(30.0, kind, device.guarantee(REGION), who, x, y, device.channel(REGION), 1e-6)
    write_release(tmp_path, 0, points)
    again = read_release(tmp_path / "0000.json")
    assert isinstance(again, Points)
    assert again.guarantee == points.guarantee
    assert again.channel == points.channel
    assert (again.time_s, again.floor_per_m2, again.mechanism) == (30.0, 1e-6, kind)
    for name in ("who", "x_m", "y_m"):
        assert np.array_equal(getattr(again, name), getattr(points, name))


def test_an_estimate_comes_back_as_it_was(tmp_path: Path) -> None:
    grid = Grid(0.0, 0.0, 10.0, 10.0, 2, 2)
    count, variance = np.arange(4.0), np.arange(4.0) + 1
    promise = Guarantee.none("a test")
    made = DensityEstimate(5.0, "test", promise, *grid.edges(), count, np.zeros(4), 1e-3, grid=grid, variance=variance)
    write_release(tmp_path, 0, made)
    again = read_release(tmp_path / "0000.json")
    assert isinstance(again, DensityEstimate)
    law, other = again.density_law([7.0], [12.0]), made.density_law([7.0], [12.0])
    assert law.estimate_per_m2 == other.estimate_per_m2
    assert law.variance == other.variance
