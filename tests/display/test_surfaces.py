"""Many releases and fine grids are drawn fewer and coarser, and nothing is lost from the sums."""

from __future__ import annotations

import numpy as np
import pytest

from geodp.curator.mechanisms import Snapshot
from geodp.display.page import Page
from geodp.display.surfaces import coarsen_surfaces, drawable, surface, thin_releases
from geodp.geometry import Grid, Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.release import GridCells
from geodp.registry import plugin
from tests.display.fake_run import GUARANTEE

REGION = Region(10.0, 50.0, 10.1, 50.1)


@pytest.fixture
def sheet() -> Page:
    return Page(REGION, max_points=100, public=True)


def release(columns: int, rows: int) -> GridCells:
    west, south, _, _ = REGION.box_m
    grid = Grid(west, south, REGION.width_m / columns, REGION.height_m / rows, columns, rows)
    count = np.arange(grid.size, dtype=np.float64)
    return GridCells(
        0.0, "uniform_grid", GUARANTEE, *grid.edges(), count, np.full(grid.size, 2.0), floor_per_m2=0.0, grid=grid
    )


def test_few_releases_are_all_drawn(sheet: Page) -> None:
    assert thin_releases("abc", 3, sheet) == [(0, "a"), (1, "b"), (2, "c")]
    assert sheet.notes == []


def test_many_releases_are_thinned_evenly_and_the_caption_says_so(sheet: Page) -> None:
    kept = thin_releases(range(144), 24, sheet)
    assert (len(kept), kept[0], kept[-1]) == (24, (0, 0), (143, 143))
    assert sheet.notes == ["24 of 144 releases"]


@pytest.mark.parametrize(("columns", "rows"), [(6, 4), (7, 5)])
def test_blocks_keep_the_total_and_tile_the_same_box(sheet: Page, columns: int, rows: int) -> None:
    fine = release(columns, rows)
    (coarse,) = coarsen_surfaces([surface(fine, np.asarray(fine.count))], [fine.grid], 10, sheet)
    assert coarse.count.sum() == fine.count.sum()
    assert coarse.count.size <= 16
    areas = (coarse.east_m - coarse.west_m) * (coarse.north_m - coarse.south_m)
    assert areas.sum() == pytest.approx(fine.area_m2.sum())
    assert coarse.noise_scale is None  # a sum of noisy counts has no longer the scale of one
    assert sheet.notes == ["cells are drawn 2 × 2 at a time"]


def test_a_block_holds_the_sum_of_its_cells(sheet: Page) -> None:
    fine = release(4, 4)
    (coarse,) = coarsen_surfaces([surface(fine, np.asarray(fine.count))], [fine.grid], 4, sheet)
    assert coarse.count.tolist() == [0 + 1 + 4 + 5, 2 + 3 + 6 + 7, 8 + 9 + 12 + 13, 10 + 11 + 14 + 15]


@pytest.mark.parametrize("kind", ["uniform_grid", "adaptive_grid", "quadtree", "kd_tree", "dpcube"])
@pytest.mark.parametrize("limit", [100_000, 60])
def test_cells_of_any_mechanism_are_drawn_whole_or_added_up(sheet: Page, kind: str, limit: int) -> None:
    x, y = REGION.sample(4000, np.random.default_rng(0))
    noise = SimulatedNoise(np.random.default_rng(1))
    released = plugin(kind, epsilon=1.0).release(Snapshot(0.0, x, y, REGION, 4000.0), noise)
    (drawn,) = drawable([released], limit, sheet)
    assert drawn.count.sum() == pytest.approx(released.count.sum())
    areas = (drawn.east_m - drawn.west_m) * (drawn.north_m - drawn.south_m)
    assert areas.sum() == pytest.approx(REGION.area_m2)
    assert drawn.count.size == released.count.size if limit > 1000 else drawn.count.size <= 81
    assert bool(sheet.notes) == (limit < released.count.size)
