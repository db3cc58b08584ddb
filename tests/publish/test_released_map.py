from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from geodp.publish.positions_plan import publish_positions
from geodp.tables.regions import parse_region
from tests.display.conftest import Browser
from tests.display.map_contents import contents
from tests.publish.conftest import TOWN, Make, places


def drawn(make: Make, tmp_path: Path, **options: Any) -> str:
    mechanism = options.pop("mechanism", "planar_geometric")
    publish_positions(make(map=tmp_path / "map.html", **options), mechanism=mechanism)
    return (tmp_path / "map.html").read_text()


def test_the_map_holds_the_reports_and_no_true_place(make: Make, tmp_path: Path) -> None:
    html = drawn(make, tmp_path, settings={"cell_m": 5})
    points = next(data for data in contents(html) if "marks" in data)
    told = pd.read_csv(tmp_path / "out.csv")
    x_m, y_m = parse_region(TOWN).projection.to_m(lon=told["lon"].to_numpy(), lat=told["lat"].to_numpy())
    assert points["x"] == np.rint(x_m).astype(int).tolist()
    assert points["y"] == np.rint(y_m).astype(int).tolist()
    assert len(contents(html)) == 2  # the region and the reports


def test_the_map_says_what_may_be_done_with_it(make: Make, tmp_path: Path, opendp: None) -> None:
    simulated = drawn(make, tmp_path)
    assert "Simulated noise, predictable from the seed: not releasable, do not publish." in simulated
    exact = drawn(make, tmp_path, mechanism="none", epsilon=None, force=True)
    assert "No privacy guarantee holds for what is drawn: do not publish." in exact
    released = drawn(make, tmp_path, mode="release", force=True)
    assert "Released data only, under the guarantee below." in released
    assert "do not publish" not in released
    assert "from everyone but a trusted curator" in released


def test_many_reports_are_sampled_and_the_caption_says_so(make: Make, tmp_path: Path) -> None:
    html = drawn(make, tmp_path, frame=places(25_000))
    assert "20,000 of 25,000 reports" in html
    assert len(html.encode()) < 2_000_000


@pytest.mark.browser
@pytest.mark.parametrize(("mechanism", "epsilon"), [("planar_geometric", 0.05), ("contour", 1.0)])
def test_the_map_asks_for_nothing_and_draws_every_layer(
    browser: Browser, make: Make, tmp_path: Path, mechanism: str, epsilon: float
) -> None:
    fields = {"cell_m": 300} if mechanism == "contour" else {}
    browser.open(drawn(make, tmp_path, mechanism=mechanism, epsilon=epsilon, settings=fields))
    kinds = browser.run("return geodp.stage.entries.map(e => e.spec.kind).sort()")
    assert kinds == (["reports", "region"][::-1] if mechanism == "planar_geometric" else ["cells", "region", "release"])
    if mechanism == "contour":
        browser.tick("cells")
        browser.wait("document.querySelectorAll('.geodp-canvas').length === 3")
    painted = browser.run("""return [...document.querySelectorAll('.geodp-canvas')].map(c => {
        const pixels = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let painted = 0; for (let i = 3; i < pixels.length; i += 4) painted += pixels[i] > 0; return painted; })""")
    assert min(painted) > 200
    assert browser.run("return document.getElementById('geodp-player')") is None  # a publication has no clock
    assert browser.requests() == []
    assert browser.problems() == []
