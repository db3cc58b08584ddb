"""The map of a run is a Folium map: whatever Folium offers can be added to it, and it still opens with no network."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from operator import attrgetter
from pathlib import Path
from typing import Any

import folium
import folium.plugins
import pytest

from geodp.display.folium_map import OfflineMap, as_plain_text
from geodp.display.map import make_map
from geodp.display.offline import content_policy
from geodp.errors import UsageError
from geodp.run_folder.folder import RunFolder
from tests.display.conftest import ALL_LAYERS, Browser, Made

HERE = (37.77, -122.44)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TEXT = "{{ 7*7 }}{% of }</script><script>window.hacked = 1</script><b>`&\\"


def test_a_map_of_a_run_is_a_folium_map_with_one_folium_layer_per_layer(plain: RunFolder) -> None:
    made = make_map(plain)
    assert isinstance(made, folium.Map)
    names = [child.layer_name for child in made._children.values() if isinstance(child, folium.map.Layer)]
    assert len(names) == len(ALL_LAYERS)
    assert {"Region", "Released density", "Tasks"} <= set(names)


def test_it_is_saved_to_a_path_or_a_file_and_shown_in_a_notebook(plain: RunFolder, tmp_path: Path) -> None:
    made = make_map(plain)
    made.save(tmp_path / "map.html")
    file = io.BytesIO()
    made.save(file, close_file=False)
    assert (tmp_path / "map.html").read_bytes() == file.getvalue() == made.html.encode()
    assert made._repr_html_().startswith("<iframe srcdoc=")
    with pytest.raises(UsageError, match="must end in"):
        made.save(str(tmp_path / "map.txt"))


def test_links_added_to_one_map_stay_with_it() -> None:
    one, other = OfflineMap(), OfflineMap()
    one.add_js_link("mine", "https://example.org/mine.js")
    assert "https://example.org/mine.js" in one.html
    assert "example.org" not in other.html
    assert "example.org" not in str(folium.Map.default_js)


def test_a_page_may_ask_the_hosts_that_were_named_and_no_other() -> None:
    strict = content_policy("L.marker([1, 2]) // http://www.w3.org/2000/svg")
    assert strict == "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    made = OfflineMap(location=HERE, tiles="https://{s}.tiles.example/{z}/{x}/{y}.png", attr="tiles")
    policy = made.html.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert policy.count("https://*.tiles.example") == 5
    assert policy.count("https://") == 5


@pytest.mark.parametrize("text", ["{{ 7*7 }}", "{% of }", "{# a", "<b>", "a&b`c\\d", "100 % of #1"])
def test_names_of_layers_are_no_template_and_no_markup(text: str) -> None:
    written = as_plain_text(text)
    assert not set(written) & set("{}%<>`\\")


def make(name: str) -> Any:
    """Return an element of Folium whose maker has no types."""
    return attrgetter(name)(folium)()


def elements() -> dict[str, Any]:
    square = {
        "type": "Polygon",
        "coordinates": [[[-122.45, 37.76], [-122.44, 37.76], [-122.44, 37.77], [-122.45, 37.76]]],
    }
    group = folium.FeatureGroup("group")
    folium.Marker(HERE).add_to(group)
    return {
        "marker": folium.Marker(HERE, popup="<i>here</i>", tooltip="a place"),
        "coloured": folium.Marker(
            HERE, icon=folium.Icon(color="red", icon="cloud"), popup=folium.Popup("shown", show=True)
        ),
        "lazy": folium.Marker(HERE, popup=folium.Popup("lazy", lazy=True)),
        "circle": folium.Circle(HERE, radius=500, popup="round"),
        "geojson": folium.GeoJson(square, tooltip="triangle"),
        "group": group,
        "control": folium.LayerControl(collapsed=False),
        "click": make("LatLngPopup"),
        "div": folium.Marker(HERE, icon=folium.DivIcon(html="<b>div</b>")),
    }


@pytest.mark.browser
@pytest.mark.parametrize("name", elements())
def test_elements_of_folium_show_on_ours_with_no_network(browser: Browser, plain: RunFolder, name: str) -> None:
    made = make_map(plain)
    elements()[name].add_to(made)
    browser.open(made.html)
    assert browser.requests() == []
    assert browser.problems() == []
    assert browser.run("return document.getElementById('geodp-problem')") is None


@pytest.mark.browser
def test_a_marker_has_its_picture_its_popup_and_its_tooltip(browser: Browser, plain: RunFolder) -> None:
    made = make_map(plain)
    elements()["marker"].add_to(made)
    browser.open(made.html)
    icon = browser.find(".leaflet-marker-icon")
    assert browser.run("return arguments[0].naturalWidth", icon) == 25
    icon.click()
    browser.wait("document.querySelector('.leaflet-popup-content i')")
    assert browser.find(".leaflet-popup-content").text == "here"
    browser.wait("[...document.querySelectorAll('.leaflet-tooltip')].some(t => t.textContent.trim() === 'a place')")
    assert browser.problems() == []


@pytest.mark.browser
def test_a_layer_control_of_folium_and_our_panel_say_the_same(browser: Browser, plain: RunFolder) -> None:
    made = make_map(plain)
    folium.LayerControl(collapsed=False).add_to(made)
    browser.open(made.html)
    tick = """const row = [...document.querySelectorAll('.leaflet-control-layers-overlays label')]
        .find(l => l.textContent.trim() === 'Noisy counts per cell'); row.querySelector('input').click();"""
    browser.run(tick)
    browser.wait("document.querySelector('.geodp-canvas[data-kind=cells]')")
    assert browser.find('.geodp-layer[data-kind="cells"] input').is_selected()


@pytest.mark.browser
def test_a_plug_in_that_cannot_be_loaded_is_missed_and_nothing_else_is(browser: Browser, plain: RunFolder) -> None:
    made = make_map(plain)
    cluster = make("plugins.MarkerCluster").add_to(made)
    folium.Marker(HERE).add_to(cluster)
    make("plugins.Fullscreen").add_to(made)
    folium.Marker((37.78, -122.42)).add_to(made)
    browser.open(made.html)
    assert "needs the network" in browser.find("#geodp-problem").text
    assert len(browser.driver.find_elements("css selector", ".leaflet-marker-icon")) == 1
    shown = "return [...document.querySelectorAll('.geodp-canvas')].map(c => c.dataset.kind)"
    assert {"region", "release", "tasks"} <= set(browser.run(shown))


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """Serve a plug-in, as somebody's server would."""
    (tmp_path / "plugin.js").write_text("L.greet = (map) => { map.greeted = 'hello'; };")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.browser
def test_a_plug_in_works_where_its_scripts_can_be_loaded(browser: Browser, plain: RunFolder, web: str) -> None:
    class Greeting(folium.elements.JSCSSMixin):
        _template = folium.template.Template(
            "{% macro script(this, kwargs) %}L.greet({{ this._parent.get_name() }});{% endmacro %}"
        )
        default_js = [("greeting", f"{web}/plugin.js")]  # noqa: RUF012 - as Folium has it

    made = make_map(plain)
    greeting: Any = Greeting
    greeting().add_to(made)
    browser.open(made.html)
    assert browser.run("return map_geodp.greeted") == "hello"
    assert browser.requests() == [f"{web}/plugin.js"]
    assert browser.problems() == []


@pytest.mark.browser
def test_tiles_of_somebody_lie_beneath_our_layers(browser: Browser, plain: RunFolder, web: str, tmp_path: Path) -> None:
    (tmp_path / "tile.png").write_bytes(base64.b64decode(PIXEL))
    made = make_map(plain)
    folium.TileLayer(f"{web}/tile.png?{{z}}/{{x}}/{{y}}", attr="somebody", name="theirs").add_to(made)
    browser.open(made.html)
    browser.wait("document.querySelector('.leaflet-tile-loaded')")
    asked = browser.requests()
    assert asked
    assert all(url.startswith(f"{web}/tile.png?") for url in asked)
    assert "somebody" in browser.find(".leaflet-control-attribution").text
    shown = "return [...document.querySelectorAll('.geodp-canvas')].map(c => c.dataset.kind)"
    assert {"region", "release", "tasks"} <= set(browser.run(shown))
    assert browser.problems() == []


@pytest.mark.browser
def test_words_of_a_scenario_and_of_a_layer_run_nowhere_beside_elements_of_folium(
    browser: Browser, make_run: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("geodp.display.layers.tasks.TasksLayer.title", TEXT)
    run = make_run(about=TEXT, arms=("one", "two"), tasks=3, movers=2, releases=1)
    made = make_map(run)
    folium.LayerControl(collapsed=False).add_to(made)
    browser.open(made.html)
    labels = browser.run(
        "return [...document.querySelectorAll('.leaflet-control-layers-overlays label')].map(l => l.textContent.trim())"
    )
    assert {f"one: {TEXT}", f"two: {TEXT}"} <= set(labels)
    assert browser.run("return window.hacked") is None
    assert browser.problems() == []
