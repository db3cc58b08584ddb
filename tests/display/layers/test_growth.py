"""Regions of offers, and the steps in which one of them grew, on the map of a small run."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest

import geodp
from geodp.display.layers.tasks import GrowthLayer, OffersLayer
from geodp.display.map import build_map
from geodp.display.page import Page
from geodp.public.release import Cells
from geodp.run_folder.folder import RunFolder
from tests.display.conftest import Browser
from tests.display.map_contents import contents
from tests.small import small


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    changes: dict[str, Any] = {
        "workers.acceptance": {"kind": "linear", "mar": 0.15, "max_travel_m": 2000},
        "curator.mechanism": {"kind": "adaptive_grid", "epsilon": 1.0},
        "server.assignment": {"kind": "geocast", "max_recipients": None},
    }
    return geodp.run(small(changes), tmp_path_factory.mktemp("growth") / "run", draw_map=False).folder


def page(run: RunFolder) -> Page:
    return Page(run.region, max_points=5000, public=False)


def test_regions_of_a_sample_of_offers_are_drawn_as_outlines(run: RunFolder) -> None:
    sheet = page(run)
    OffersLayer(max_circles=10).draw(run, sheet)
    [drawing] = sheet.drawings
    assert (drawing.style, drawing.title) == ("outlines", "Offer regions")
    assert len(drawing.data["shapes"]) == 10
    assert sheet.notes == [f"10 of {len(run.regions)} offer regions"]
    regions = {task: rectangles for task, _, rectangles in run.regions}
    for task, shape in zip(drawing.data["ids"].tolist(), drawing.data["shapes"], strict=True):
        edges = regions[task] / sheet.step_m
        assert abs(shape["x"].min() - edges[:, 0].min()) <= 1
        assert abs(shape["y"].max() - edges[:, 3].max()) <= 1


def test_one_region_is_drawn_cell_by_cell_with_what_was_planned_after_each(run: RunFolder) -> None:
    sheet = page(run)
    task, _, rectangles = max(run.regions, key=lambda region: len(region[2]))
    promised = float(run.offers.loc[run.offers["task"] == task, "planned_success"].iloc[0])
    GrowthLayer(task=task, pace_s=20.0).draw(run, sheet)
    [drawing] = sheet.drawings
    cells = len(rectangles)
    assert drawing.data["ids"].tolist() == list(range(1, cells + 1))
    assert np.diff(drawing.data["from"]).tolist() == [20] * (cells - 1)
    planned, count, _ = drawing.data["facts"]
    assert planned["values"][-1] == pytest.approx(1000 * promised, abs=1)
    assert (np.diff(planned["values"]) >= 0).all()
    counts = [np.rint(10 * released.count).tolist() for released in run.releases if isinstance(released, Cells)]
    assert count["values"][0] in {-1, *chain.from_iterable(counts)}
    assert len(set(drawing.data["colours"])) == cells


def test_by_default_a_region_of_several_cells_is_chosen_and_circles_have_none(run: RunFolder, plain: RunFolder) -> None:
    sheet = page(run)
    GrowthLayer().draw(run, sheet)
    assert len(sheet.drawings[0].data["ids"]) > 1
    for layer, other in ((GrowthLayer(task=10**6), run), (GrowthLayer(), plain)):
        empty = page(other)
        layer.draw(other, empty)
        assert empty.drawings == []


def test_neither_is_part_of_a_public_map(run: RunFolder) -> None:
    private, public = build_map(run), build_map(run, public=True)
    assert any("shapes" in data for data in contents(private))
    assert not any("shapes" in data for data in contents(public))


@pytest.mark.browser
def test_a_browser_draws_both_and_says_what_is_pointed_at(browser: Browser, run: RunFolder) -> None:
    browser.open(build_map(run))
    for kind in ("growth", "offers"):
        browser.tick(kind)
        browser.wait(f"document.querySelector('canvas[data-kind={kind}]')")
        script = """const c = document.querySelector(`canvas[data-kind="${arguments[0]}"]`);
            return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v > 0)"""
        assert browser.run(script, kind)
    script = """const entry = geodp.stage.entries.find(e => e.spec.kind === 'growth');
        const box = entry.layer.style.boxes[0];
        const hit = entry.layer.hit(
            entry.layer.projection.latLng((box.west + box.east) / 2, (box.north + box.south) / 2));
        return [hit.title, hit.rows.map(row => row[0])]"""
    title, labels = browser.run(script)
    assert title.startswith("Task ")
    assert title.endswith("cell 1")
    assert labels[0] == "Success planned so far"
    assert browser.problems() == []
