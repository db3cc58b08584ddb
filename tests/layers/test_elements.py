"""Layers on anybody's Folium map."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import folium
import pytest

import geodp
from geodp.display.folium_map import OfflineMap
from geodp.errors import UsageError
from geodp.run_folder.folder import RunFolder
from tests.display.conftest import Browser, Made
from tests.display.map_contents import contents, specs

HERE = (37.772, -122.438)
OF_A_RUN = [name for name in geodp.layers.__all__ if name not in {"PluginLayer", "RegionOutline"}]


def leaflet(name: str) -> str:
    """Return the address of a file of the installed Leaflet."""
    files = importlib.metadata.files("XStatic-Leaflet") or []
    (found,) = (file for file in files if file.name == name)
    return Path(str(found.locate())).as_uri()


def their_map() -> folium.Map:
    """Return a plain Folium map that finds Leaflet on this computer."""
    made = folium.Map(HERE, zoom_start=12, tiles=None)
    made.default_js = [("leaflet", leaflet("leaflet.js"))]
    made.default_css = [("leaflet_css", leaflet("leaflet.css"))]
    return made


def test_there_is_an_element_for_every_kind_of_layer() -> None:
    drawn = {getattr(geodp.layers, name).kind for name in OF_A_RUN}
    shipped = {kind for kind, each in geodp.plugins("layer").items() if each.__module__.startswith("geodp.")}
    assert shipped - drawn == {"region"}


@pytest.mark.parametrize("name", OF_A_RUN)
def test_every_element_draws_a_run_on_a_folium_map(name: str, plain: RunFolder) -> None:
    made = folium.Map()
    layer = getattr(geodp.layers, name)(plain, name="mine", show=False).add_to(made)
    assert layer.layer_name == "mine"
    assert f"var {layer.get_name()} = geodp.layer(" in made.get_root().render()


def test_a_release_knows_where_it_lies(plain: RunFolder) -> None:
    release = SimpleNamespace(data=plain.releases[0], region=plain.region)
    box = plain.region
    for layer in (
        geodp.layers.ReleasedDensity(release),
        geodp.layers.ReleasedDensity(plain.releases[0], region=plain.region),
        geodp.layers.ReleasedDensity([release, release]),
    ):
        assert layer.get_bounds() == [[box.south, box.west], [box.north, box.east]]


def test_a_bare_release_without_a_region_is_refused(plain: RunFolder) -> None:
    with pytest.raises(UsageError, match="give region="):
        geodp.layers.ReleasedDensity(plain.releases[0])
    with pytest.raises(UsageError, match="a dict is not a release"):
        geodp.layers.ReleasedCells({}, region=plain.region)
    with pytest.raises(UsageError, match="no release"):
        geodp.layers.ReleasedCells([], region=plain.region)


def test_a_comparison_is_drawn_arm_by_arm(arms: RunFolder) -> None:
    with pytest.raises(UsageError, match=r"run\.arms\['contour'\]"):
        geodp.layers.TaskOutcomes(arms)
    assert geodp.layers.TaskOutcomes(arms.arms["exact"]).drawings


def test_words_in_names_and_data_are_in_no_template(plain: RunFolder) -> None:
    made = folium.Map()
    geodp.layers.TaskOutcomes(plain, name="{{ 7*7 }}</script>").add_to(made)
    folium.LayerControl().add_to(made)
    page = made.get_root().render()
    assert "49" not in page.split("overlays")[1][:200]
    assert "&#123;&#123; 7*7 &#125;&#125;".replace("&", "\\u0026") in page


@pytest.mark.browser
@pytest.mark.parametrize("ours", [False, True])
def test_layers_are_drawn_on_a_map_that_is_not_a_page_of_ours(browser: Browser, plain: RunFolder, ours: bool) -> None:
    made = OfflineMap(HERE, zoom_start=12) if ours else their_map()
    geodp.layers.RegionOutline(plain).add_to(made)
    geodp.layers.ReleasedDensity(plain.releases[0], region=plain.region).add_to(made)
    group = folium.FeatureGroup("a group of theirs").add_to(made)
    geodp.layers.TaskOutcomes(plain).add_to(group)
    geodp.layers.Trips(plain, show=False).add_to(made)
    folium.Circle(HERE, radius=300).add_to(made)
    folium.LayerControl(collapsed=False).add_to(made)
    browser.open(made.get_root().render(), until="begun")
    browser.wait("document.querySelectorAll('.geodp-canvas').length === 3")
    browser.wait("document.querySelector('.geodp-legends')")
    legend = browser.find(".geodp-legends").text
    assert "workers/km²" in legend
    assert "success: taken" in legend
    assert browser.find(".geodp-player").is_displayed()
    label = """[...document.querySelectorAll('.leaflet-control-layers-overlays label')]
        .find(l => l.textContent.trim() === 'Trips').querySelector('input')"""
    browser.run(f"{label}.click()")
    browser.wait("document.querySelector('.geodp-canvas[data-kind=trips]')")
    assert "way to the task" in browser.find(".geodp-legends").text
    assert [url for url in browser.requests() if not url.startswith("file:")] == []
    assert browser.problems() == []


@pytest.mark.browser
@pytest.mark.parametrize("ours", [False, True])
def test_each_element_opens_on_their_map_and_on_ours(browser: Browser, plain: RunFolder, ours: bool) -> None:
    made = OfflineMap(HERE, zoom_start=12) if ours else their_map()
    for name in OF_A_RUN:
        getattr(geodp.layers, name)(plain).add_to(made)
    page = made.get_root().render()
    kinds = {spec["kind"] for spec in specs(page)}
    assert {"release", "cells", "density", "tasks", "offers", "trips", "workers"} <= kinds
    assert len(contents(page)) == len(specs(page))
    browser.open(page, until="begun")
    browser.wait(f"document.querySelectorAll('.geodp-canvas').length === {len(specs(page))}")
    assert browser.problems() == []


def test_layers_that_find_nothing_add_nothing(make_run: Made) -> None:
    bare: Any = make_run(releases=0, tasks=0, movers=1)
    assert geodp.layers.ReleasedDensity(bare).drawings == []
    assert geodp.layers.TaskOutcomes(bare).drawings == []
