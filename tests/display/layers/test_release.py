"""Released densities: contours where there are any, cells otherwise."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from geodp.display.layers import densities as module
from geodp.display.layers.densities import ReleaseLayer
from geodp.display.page import Page
from geodp.public.release import Contours
from geodp.run_folder.folder import RunFolder
from tests.display.conftest import Made


def drawn(run: RunFolder) -> Page:
    page = Page(run.region, max_points=5000, public=True)
    ReleaseLayer().draw(run, page)
    return page


def test_levels_are_workers_per_square_kilometre(plain: RunFolder) -> None:
    frames = drawn(plain).drawings[0].data["frames"]
    first = plain.releases[0]
    assert isinstance(first, Contours)
    per_km2 = 1e6 / first.grid.cell_area_m2
    lows = [band["low"] for band in frames[0]["bands"]]
    assert lows == pytest.approx(first.levels[: len(lows)] * per_km2, rel=1e-3)
    assert frames[0]["bands"][-1]["high"] is None
    assert [frame["time"] for frame in frames] == [0.0, 1200.0, 2400.0]


def test_nested_areas_are_the_bands_put_together(plain: RunFolder) -> None:
    first = plain.releases[0]
    assert isinstance(first, Contours)
    bands = [area.area for _, _, area in first.polygons()]
    nested = [area.area for _, _, area in first.polygons(nested=True)]
    assert nested == pytest.approx(np.cumsum(bands[::-1])[::-1])


def test_a_colour_means_the_same_density_in_every_release(plain: RunFolder) -> None:
    drawing = drawn(plain).drawings[0]
    lows = [band["low"] for frame in drawing.data["frames"] for band in frame["bands"]]
    assert drawing.data["top"] == drawing.legend[0]["top"] == max(lows)
    assert drawing.legend[0]["unit"] == "workers/km²"


def test_lines_are_simplified_when_a_page_could_not_carry_them(
    plain: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = drawn(plain).drawings[0].data["frames"]
    monkeypatch.setattr(module, "MAX_VERTICES", 300)
    light = drawn(plain).drawings[0].data["frames"]
    count = sum(len(band["x"]) for frame in light for band in frame["bands"])
    assert count <= 300 < sum(len(band["x"]) for frame in full for band in frame["bands"])


def test_a_release_without_contours_is_drawn_as_cells(make_run: Made) -> None:
    run = make_run(irregular=True, releases=2)
    drawing = drawn(run).drawings[0]
    assert drawing.style == "cells"
    frame = drawing.data["frames"][1]
    assert frame["count"].tolist() == [round(value) for value in run.densities[1].count]
    box = shapely.box(frame["west"], frame["south"], frame["east"], frame["north"])
    assert shapely.area(box).sum() == pytest.approx(run.region.area_m2, rel=1e-3)


def test_a_run_without_releases_draws_nothing(make_run: Made) -> None:
    assert drawn(make_run(releases=0, tasks=1, movers=1)).drawings == []
