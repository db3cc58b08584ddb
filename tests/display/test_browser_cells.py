"""Cells of any size in a real browser: told with count, noise and size, one release at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from geodp.display.map import build_map
from geodp.run_folder.folder import RunFolder
from geodp.runs.run import run
from tests.display.conftest import Browser
from tests.small import small

pytestmark = pytest.mark.browser

CHANGES = {
    "duration_s": 1200,
    "workers.mobility": {"kind": "static"},
    "curator.mechanism": {"kind": "adaptive_grid", "epsilon": 2.0},
    "map": {"layers": ["region", "release"]},
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the public map of two releases of an adaptive grid."""
    folder: Path = tmp_path_factory.mktemp("adaptive") / "run"
    run(small(CHANGES), folder, draw_map=False, summarise=False)
    return build_map(RunFolder(folder), public=True)


def told(browser: Browser) -> dict[str, str]:
    """Return what the page says about the cell under the pointer, row by row."""
    browser.wait("document.querySelector('.geodp-tooltip:not([hidden])')")
    lines = browser.run("return document.querySelector('.geodp-tooltip').innerText").replace("\t", "\n").split("\n")
    kept = [line.strip() for line in lines if line.strip()]
    assert kept[0] == "Cell"
    return dict(zip(kept[1::2], kept[2::2], strict=False))


def test_pointing_at_a_cell_tells_count_noise_and_size(browser: Browser, page: str) -> None:
    browser.open(page)
    browser.point_at(700, 430)
    rows = told(browser)
    assert "Released count" in rows
    assert rows["Typical noise"].startswith("±")
    assert rows["Size"].endswith(" m")
    assert "(1 of 2)" in rows["Release"]
    assert browser.problems() == []


def test_every_release_has_cells_of_its_own(browser: Browser, page: str) -> None:
    """Dividing follows noisy counts, so two releases differ in cells, which the slider shows in turn."""
    browser.open(page)
    sizes = browser.run(
        "return geodp.stage.entries.find(e => e.spec.kind === 'release').layer.style.data.frames"
        ".map(frame => frame.count.length)"
    )
    assert len(sizes) == 2
    assert min(sizes) > 100
    assert sizes[0] != sizes[1]
