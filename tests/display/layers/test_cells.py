"""Noisy counts, and the true ones behind them."""

from __future__ import annotations

import numpy as np
import pytest

from geodp.display.drawing import Surface
from geodp.display.layers.densities import CellsLayer, DensityLayer
from geodp.display.page import Page
from geodp.display.surfaces import surface
from geodp.geometry import Grid
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.public.release import AdaptiveCells
from geodp.run_folder.folder import RunFolder
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


def adaptive() -> AdaptiveCells:
    """Two coarse cells, the second of which is divided into four, with a crowd in a corner of it."""
    coarse = Grid(0.0, 0.0, 1000.0, 1000.0, 2, 1)
    west, south = np.array([0.0, 1000.0, 1500.0, 1000.0, 1500.0]), np.array([0.0, 0.0, 0.0, 500.0, 500.0])
    size = np.array([1000.0, 500.0, 500.0, 500.0, 500.0])
    count, scale = np.array([4.0, -1.0, 2.5, 3.0, 90.0]), np.array([2.0, 3.0, 3.0, 3.0, 3.0])
    promise = Guarantee(0.4, Unit.SNAPSHOT, Neighbours.ADD_REMOVE, Trust.CENTRAL)
    edges = (west, south, west + size, south + size)
    return AdaptiveCells(
        0.0, "adaptive_grid", promise, *edges, count, scale, 1e-6, coarse=coarse, per_side=np.array([1, 2])
    )


def test_cells_of_any_size_are_drawn_as_rectangles_with_the_noise_of_each() -> None:
    drawn = surface(adaptive(), adaptive().count)
    packed = drawn.pack()
    assert "columns" not in packed
    assert packed["west"].tolist() == [0, 1000, 1500, 1000, 1500]
    assert packed["noise"].tolist() == [20, 30, 30, 30, 30]  # tenths
    assert (packed["count"] * packed["step"]).tolist() == [4, -1, 2, 3, 90]


def test_a_speck_does_not_leave_the_rest_without_colour() -> None:
    """The crowd covers an eighth of the area, so it sets the scale; one of a thousandth would not."""
    assert surface(adaptive(), adaptive().count).brightest_per_km2 == pytest.approx(360.0)
    west, south, east, north = np.array([[0.0, 0.0], [0.0, 1.0], [1000.0, 1.0], [1.0, 2.0]])
    speck = Surface(0.0, west, south, east, north, np.array([5.0, 9.0]))
    assert speck.brightest_per_km2 == pytest.approx(5 / 1e-3)
