"""One file that carries everything, and in public nothing that was not released."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import folium
import pytest

from geodp.display.map import build_map, write_map
from geodp.errors import OutputError
from geodp.run_folder.folder import RunFolder
from tests.display.conftest import ALL_LAYERS, Made
from tests.display.map_contents import contents, specs

ATTRIBUTION = {"https://leafletjs.com"}
LINK = re.compile(r"""(?:src|href|action|data)\s*=\s*\\?["']?\s*(https?:|//)[^"'\s>]*""", re.I)
CSS_LINK = re.compile(r"url\((?!data:)|@import", re.I)


def facts(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="geodp-page">(.*?)</script>', html, re.S)
    assert found is not None
    page: dict[str, Any] = json.loads(found[1])
    return page


def kinds(html: str) -> list[str]:
    return [layer["kind"] for layer in specs(html)]


@pytest.mark.parametrize("which", ["html", "public_html"])
def test_nothing_but_attribution_links_points_outside(which: str, request: pytest.FixtureRequest) -> None:
    html: str = request.getfixturevalue(which)
    links = [match[0] for match in LINK.finditer(html)]
    outside = [link for link in links if not any(allowed in link for allowed in ATTRIBUTION)]
    assert outside == []
    assert len(links) <= 3  # Leaflet's own prefix, and ours
    styles = "".join(re.findall(r"<style>(.*?)</style>", html, re.S))
    assert CSS_LINK.findall(styles) == []
    assert "<link" not in html
    assert "sourceMappingURL" not in html


def test_the_browser_is_told_to_refuse_every_request(html: str) -> None:
    assert "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\"" in html


def test_other_maps_of_the_process_do_not_leak_into_ours(plain: RunFolder, html: str) -> None:
    folium.Map().add_js_link("tracker", "https://example.org/tracker.js")
    try:
        assert "example.org" not in build_map(plain)
    finally:
        folium.Map.default_js[:] = [link for link in folium.Map.default_js if link[0] != "tracker"]


def test_the_licence_of_leaflet_is_in_the_page(html: str) -> None:
    assert "Copyright (c) 2010-2022, Volodymyr Agafonkin" in html
    assert "Redistributions in binary form must reproduce the above copyright notice" in html


def test_the_same_run_gives_the_same_page(plain: RunFolder, html: str) -> None:
    assert build_map(RunFolder(plain.path)) == html


def test_the_page_does_not_say_where_the_run_lies(plain: RunFolder, html: str) -> None:
    assert str(plain.path.parent) not in html + json.dumps(contents(html), ensure_ascii=False)


def test_layers_lie_in_their_fixed_order_whatever_the_scenario_says(html: str, make_run: Made) -> None:
    assert kinds(html) == ALL_LAYERS
    run = make_run(map={"layers": list(reversed(ALL_LAYERS))}, tasks=5, movers=5, releases=1)
    assert kinds(build_map(run)) == ALL_LAYERS


def test_a_public_map_holds_released_layers_only(public_html: str) -> None:
    layers = specs(public_html)
    assert [layer["kind"] for layer in layers] == ["region", "release", "cells"]
    assert all(layer["public"] for layer in layers)
    assert not any(layer["history"] for layer in layers)
    keys = {key for data in contents(public_html) for key in data}
    assert keys == {"graticule", "x", "y", "lengths", "name", "unit", "step_m", "frames", "ramp", "top", "nothing"}


def test_no_true_number_is_in_a_public_map(plain: RunFolder, public_html: str) -> None:
    cells = contents(public_html)[2]
    for number, frame in enumerate(cells["frames"]):
        assert frame["count"] == [round(value) for value in plain.densities[number].count]
        assert frame["count"] != plain.true_counts(number).to_list()
    assert "2,000" not in public_html  # the true number of workers


def test_a_public_map_has_a_layer_even_when_the_scenario_lists_none(make_run: Made) -> None:
    run = make_run(map={"layers": ["tasks"]}, tasks=5, movers=5, releases=1)
    assert kinds(build_map(run, public=True)) == ["region", "release"]


def test_every_arm_has_its_layers_and_only_the_first_starts_ticked(arms: RunFolder) -> None:
    page = build_map(arms)
    assert facts(page)["groups"] == ["contour", "exact"]
    names = ("", "contour", "exact")
    by_group = {name: [layer for layer in specs(page) if layer["group"] == name] for name in names}
    assert [layer["kind"] for layer in by_group[""]] == ["region"]
    assert [layer["kind"] for layer in by_group["contour"]] == ALL_LAYERS[1:]
    assert [layer["kind"] for layer in by_group["exact"]] == ALL_LAYERS[1:]
    assert any(layer["shown"] for layer in by_group["contour"])
    assert not any(layer["shown"] for layer in by_group["exact"])


def test_words_of_the_user_cannot_end_a_script(make_run: Made) -> None:
    evil = "</script><script>window.hacked = 1</script><!--"
    html = build_map(make_run(about=evil, tasks=2, movers=2, releases=1))
    assert evil not in html
    assert "<script>window.hacked" not in html
    assert facts(html)["groups"] == []


def test_a_million_workers_fit_into_a_megabyte(make_run: Made) -> None:
    run = make_run(workers=1_000_000, tasks=10_000, releases=6, movers=500, times=97, cell_m=200.0)
    html = build_map(run)
    assert len(html.encode()) < 1_000_000
    assert "5,000 of 10,000 tasks drawn" in html
    assert "300 of 1,000,000 workers move" in html
    tasks = contents(html)[kinds(html).index("tasks")]
    assert len(tasks["x"]) == 5000


def test_a_map_that_cannot_be_written_leaves_nothing_behind(plain: RunFolder, tmp_path: Path) -> None:
    assert write_map(plain, tmp_path / "new" / "map.html").stat().st_size > 100_000
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match="the map could not be written"):
        write_map(plain, blocked / "map.html")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["map.html"]
