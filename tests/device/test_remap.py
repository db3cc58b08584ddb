from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodp.device.planar import Remap, prior_from_file, remap_grid
from geodp.device.planar_geometric import PlanarGeometric
from geodp.device.planar_laplace import PlanarLaplace
from geodp.errors import DataError
from geodp.geometry import Grid, Region
from geodp.public.channels import PlanarLaplaceChannel

REGION = Region(10.0, 50.0, 10.04, 50.025)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def prior(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A public file of two towns."""
    x, y = town_places(4000, 1)
    lon, lat = REGION.projection.to_lonlat(x_m=x, y_m=y)
    path = tmp_path_factory.mktemp("public") / "places.csv"
    pd.DataFrame({"lon": lon, "lat": lat}).to_csv(path, index=False)
    return path


def town_places(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = rng(seed)
    x = generator.normal(np.where(generator.random(count) < 0.5, -900, 900), 150)
    return REGION.clamp(x, generator.normal(0, 150, count))


def test_remapping_against_a_public_prior_reports_nearer_to_the_truth(prior: Path) -> None:
    """People live in two towns; the remap cuts the mean distance by more than a tenth, and costs nothing."""
    x, y = town_places(4000, 2)

    def mean_distance(device: PlanarLaplace) -> float:
        z_x, z_y = device.report(x, y, rng=rng(3), region=REGION)
        return float(np.hypot(z_x - x, z_y - y).mean())

    plain, remapped = PlanarLaplace(), PlanarLaplace(remap=True, prior_file=str(prior))
    assert mean_distance(remapped) < 0.9 * mean_distance(plain)
    assert remapped.guarantee() == plain.guarantee()


def test_remapping_is_a_function_of_the_report_alone(prior: Path) -> None:
    """The same noise gives the same answer as remapping the plain report afterwards: pure post-processing."""
    x, y = town_places(500, 4)
    device = PlanarGeometric(remap=True, prior_file=str(prior))
    plain = PlanarGeometric().report(x, y, rng=rng(5), region=REGION)
    expected = device._remap(REGION).apply(*plain)
    np.testing.assert_array_equal(device.report(x, y, rng=rng(5), region=REGION), expected)


def test_the_answer_has_the_least_expected_distance() -> None:
    """On a line of three cells with a lopsided prior, by hand: every report is answered by the posterior's median."""
    cells = Grid(-150.0, -50.0, 100.0, 100.0, 3, 1)
    channel = PlanarLaplaceChannel(0.01, None, (-150.0, -50.0, 150.0, 50.0))
    prior = np.array([0.9, 0.05, 0.05])
    remap = Remap.build(channel, cells, prior)
    table = channel.matrix(cells, cells)
    distance = 100.0 * np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    for report in range(3):
        posterior = prior * table[:, report]
        assert remap.target[report] == np.argmin(distance @ posterior)
    assert remap.target[0] == remap.target[1] == 0
    np.testing.assert_allclose(remap.channel.table.sum(axis=1), 1)


def test_a_uniform_prior_moves_only_what_was_clamped() -> None:
    """Away from the edges every place is alike, so the best answer is the report's own cell."""
    device = PlanarLaplace(epsilon_per_m=0.02, remap=True)
    remap = device._remap(REGION)
    column, row = np.arange(remap.cells.size) % remap.cells.columns, np.arange(remap.cells.size) // remap.cells.columns
    inner = (np.minimum(column, remap.cells.columns - 1 - column) > 15) & (
        np.minimum(row, remap.cells.rows - 1 - row) > 15
    )
    assert inner.any()
    np.testing.assert_array_equal(remap.target[inner], np.flatnonzero(inner))


def test_the_grid_stays_affordable() -> None:
    for epsilon in (1e-4, 0.007, 1.0):
        assert remap_grid(Region(10.0, 50.0, 10.5, 50.4), epsilon).size <= 2_600


def test_priors_that_say_nothing_are_refused(tmp_path: Path) -> None:
    cells = remap_grid(REGION, 0.007)
    far = tmp_path / "far.csv"
    far.write_text("lon,lat\n0,0\n")
    with pytest.raises(DataError, match="no place lies in the region"):
        prior_from_file(far, REGION, cells)
    far.write_text("x,y\n0,0\n")
    with pytest.raises(DataError, match="columns lon and lat"):
        prior_from_file(far, REGION, cells)
    with pytest.raises(DataError, match="no such file"):
        prior_from_file(tmp_path / "absent.csv", REGION, cells)
    channel = PlanarLaplaceChannel(0.01, None, REGION.box_m)
    for weights in (np.zeros(cells.size), np.full(cells.size, -1.0), np.ones(3)):
        with pytest.raises(DataError, match="finite weights"):
            Remap.build(channel, cells, weights)


def test_counts_weigh_and_no_place_is_impossible(tmp_path: Path) -> None:
    cells = remap_grid(REGION, 0.007)
    path = tmp_path / "venues.parquet"
    pd.DataFrame({"lon": [10.01, 10.03], "lat": [50.01, 50.02], "count": [1.0, 99.0]}).to_parquet(path)
    weight = prior_from_file(path, REGION, cells)
    assert weight.min() > 0
    assert weight.max() / weight.sum() == pytest.approx(0.99, abs=0.001)


def test_relative_prior_files_start_at_the_scenario(tmp_path: Path) -> None:
    device = PlanarLaplace(remap=True, prior_file="places.csv").anchor(tmp_path)
    assert device.prior_file == str(tmp_path / "places.csv")
    assert PlanarLaplace().anchor(tmp_path) == PlanarLaplace()
