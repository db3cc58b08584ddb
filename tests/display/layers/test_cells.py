"""Noisy counts, and the true ones behind them."""

from __future__ import annotations

from geodp.display.layers.cells import CellsLayer
from geodp.display.layers.density import DensityLayer
from geodp.display.page import Page
from geodp.privacy.guarantee import Guarantee
from geodp.runs.run_folder import RunFolder
from tests.display.conftest import Made


def test_cells_hold_the_released_counts_and_their_noise(plain: RunFolder) -> None:
    page = Page(plain.region, max_points=5000, public=True)
    CellsLayer().draw(plain, page)
    frame = page.drawings[0].data["frames"][0]
    assert frame["count"].tolist() == [round(value) for value in plain.densities[0].count]
    assert frame["noise"] == 3.333
    assert not page.drawings[0].shown
    assert page.drawings[0].title == "Noisy counts per cell"
    assert page.drawings[0].public


def test_exact_counts_are_called_exact_and_not_public(make_run: Made) -> None:
    guarantee = Guarantee.none("exact counts are published")
    run = make_run(guarantee=guarantee, noise_scale=0.0, releases=1, tasks=1, movers=1)
    page = Page(run.region, max_points=5000, public=False)
    CellsLayer().draw(run, page)
    assert page.drawings[0].title == "Exact counts per cell"
    assert not page.drawings[0].public
    assert CellsLayer.public


def test_the_true_density_is_that_of_the_first_release_and_not_public(plain: RunFolder) -> None:
    page = Page(plain.region, max_points=5000, public=False)
    DensityLayer().draw(plain, page)
    (frame,) = page.drawings[0].data["frames"]
    assert frame["count"].tolist() == plain.true_counts(0).tolist()
    assert frame["noise"] is None
    assert not page.drawings[0].public
