"""Maps in a real browser that cannot resolve any name: what is drawn, what moves, what is said."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from geodp.display.map import build_map
from geodp.run_folder.folder import RunFolder
from tests.display.conftest import ALL_LAYERS, Browser, Made
from tests.display.map_contents import contents

pytestmark = pytest.mark.browser

SHOWN = ["region", "release", "tasks"]
TOLD = ".geodp-tooltip:not([hidden])"


def canvases(browser: Browser) -> list[str]:
    script = """return [...document.querySelectorAll('.geodp-canvas')].map(
        c => [Number(c.parentNode.style.zIndex), c.dataset.kind])"""
    return [kind for _, kind in sorted(browser.run(script))]


def place_of_task(browser: Browser, number: int) -> list[float]:
    script = """const style = geodp.stage.entries.find(e => e.spec.kind === 'tasks').layer.style;
        const at = geodp.stage.projection.latLng(style.places.x[arguments[0]], style.places.y[arguments[0]]);
        const point = geodp.stage.map.latLngToContainerPoint(at);
        const frame = geodp.stage.map.getContainer().getBoundingClientRect();
        return [point.x + frame.left, point.y + frame.top];"""
    place: list[float] = browser.run(script, number)
    return place


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("which", ["plain", "arms"])
def test_a_map_asks_for_nothing_and_throws_nothing(
    browser: Browser, which: str, public: bool, request: pytest.FixtureRequest
) -> None:
    browser.open(build_map(request.getfixturevalue(which), public=public))
    for box in browser.driver.find_elements("css selector", ".geodp-layer:not([hidden]) input"):
        box.click()
        box.click()
    browser.wait("geodp.stage.entries.every(e => e.layer.style || e.spec.group === 'exact')")
    assert browser.requests() == []
    assert browser.problems() == []


def test_layers_are_drawn_one_above_the_other(browser: Browser, html: str) -> None:
    browser.open(html)
    assert canvases(browser) == SHOWN
    for kind in set(ALL_LAYERS) - set(SHOWN):
        browser.tick(kind)
    browser.wait("document.querySelectorAll('.geodp-canvas').length === 8")
    assert canvases(browser) == ALL_LAYERS


def test_every_layer_leaves_a_mark(browser: Browser, html: str) -> None:
    browser.open(html)
    for kind in set(ALL_LAYERS) - set(SHOWN):
        browser.tick(kind)
    browser.wait("document.querySelectorAll('.geodp-canvas').length === 8")
    script = """return Object.fromEntries([...document.querySelectorAll('.geodp-canvas')].map(c => {
        const pixels = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let painted = 0; for (let i = 3; i < pixels.length; i += 4) painted += pixels[i] > 0;
        return [c.dataset.kind, painted]; }))"""
    painted = browser.run(script)
    assert set(painted) == set(ALL_LAYERS)
    assert min(painted.values()) > 200


def test_the_browser_unpacks_what_was_packed(browser: Browser, html: str) -> None:
    browser.open(html)
    script = """const plain = (key, value) => ArrayBuffer.isView(value) ? [...value] : value;
        geodp.unpack(arguments[0]).then(data => arguments[1](JSON.stringify(data, plain)));"""
    for number, data in enumerate(contents(html)):
        assert json.loads(browser.driver.execute_async_script(script, f"drawn_layer_geodp_{number}-0")) == data


def test_the_player_plays_and_pauses(browser: Browser, html: str) -> None:
    browser.open(html)
    play, clock = browser.find(".geodp-play"), browser.find(".geodp-clock")
    assert clock.text == "08:00"
    assert play.get_attribute("aria-label") == "Play"
    play.click()
    browser.wait("document.querySelector('.geodp-clock').textContent > '08:00'")
    play.click()
    assert play.get_attribute("aria-label") == "Play"
    before = clock.text
    browser.driver.execute_async_script("setTimeout(arguments[0], 300)")
    assert clock.text == before


def test_the_slider_picks_the_release_and_moves_the_workers(browser: Browser, html: str) -> None:
    browser.open(html)
    assert browser.find(".geodp-release").text == "release 1 of 3"
    browser.tick("workers")
    browser.wait("document.querySelector('.geodp-canvas[data-kind=workers]')")
    style = "const style = geodp.stage.entries.find(e => e.spec.kind === '{}').layer.style, clock = geodp.stage.clock;"
    where = style.format("workers") + "return style.place(3, ...style.moment(clock.t))"
    start = browser.run(where)
    browser.run("""const range = document.querySelector('#geodp-player input[type=range]');
        range.value = 1000; range.dispatchEvent(new Event('input'));""")
    assert browser.find(".geodp-clock").text == "09:00"
    assert browser.find(".geodp-release").text == "release 3 of 3"
    assert browser.run(where) != start
    assert browser.run(style.format("release") + "return style.current(clock).number") == 2


def test_as_it_happens_only_tasks_that_have_arrived_are_there(browser: Browser, plain: RunFolder, html: str) -> None:
    browser.open(html)
    there = """const s = geodp.stage.entries.find(e => e.spec.kind === 'tasks').layer.style;
        return [...s.data.x].filter((_, i) => s.isThere(i, geodp.stage.clock)).length;"""
    assert browser.run(there) == len(plain.tasks)
    browser.find("#geodp-player label input").click()
    browser.run("geodp.stage.clock.set(1800)")
    assert browser.run(there) == int((plain.tasks["arrived_s"].round() <= 1800).sum())


def test_the_legend_follows_the_layers(browser: Browser, html: str) -> None:
    browser.open(html)
    legend = {kind: browser.find(f".geodp-layer[data-kind={kind}] .geodp-legend") for kind in ("tasks", "cells")}
    assert "success: taken" in legend["tasks"].text
    assert not legend["cells"].is_displayed()
    browser.tick("tasks")
    browser.tick("cells")
    browser.wait("document.querySelector('.geodp-canvas[data-kind=cells]')")
    assert not legend["tasks"].is_displayed()
    assert "workers/km²" in legend["cells"].text
    assert "zero or below" in legend["cells"].text


def test_pointing_at_a_task_tells_about_it(browser: Browser, html: str) -> None:
    browser.open(html)
    browser.point_at(*place_of_task(browser, 7))
    browser.wait(f"document.querySelector('{TOLD}')")
    text = browser.find(TOLD).text
    assert text.startswith("Task ")
    assert "Arrived" in text
    assert re.search(r"Notified \d+ workers", text)


def test_pointing_at_an_empty_place_tells_the_released_density(browser: Browser, public_html: str) -> None:
    browser.open(public_html)
    browser.point_at(700, 420)
    browser.wait(f"document.querySelector('{TOLD}')")
    text = browser.find(TOLD).text
    assert text.startswith("Released density")
    assert "workers/km²" in text


def overlaps(browser: Browser) -> list[Any]:
    script = """return [...document.querySelectorAll('.leaflet-control, #geodp-player, #geodp-side')].map(c => {
        const r = c.getBoundingClientRect(); return [c.className || c.id, r.left, r.top, r.right, r.bottom]; })"""
    boxes = [box for box in browser.run(script) if box[3] > box[1]]
    return [
        (a[0], b[0])
        for a, b in itertools.combinations(boxes, 2)
        if a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]
    ]


@pytest.mark.parametrize("size", [(1400, 900), (800, 600)])
@pytest.mark.parametrize("which", ["plain", "arms"])
def test_nothing_lies_over_anything(
    browser: Browser, which: str, size: tuple[int, int], request: pytest.FixtureRequest
) -> None:
    browser.open(build_map(request.getfixturevalue(which)), size)
    assert overlaps(browser) == []
    browser.find("#geodp-caption summary").click()
    browser.tick("cells")
    assert overlaps(browser) == []


def test_the_region_is_in_full_view(browser: Browser, html: str) -> None:
    browser.open(html, (800, 600))
    script = """const [w, s, e, n] = geodp.stage.facts.scene.box; const m = geodp.stage.map;
        const [from, to] = [[s, w], [n, e]].map(corner => m.latLngToContainerPoint(corner).x);
        return m.getBounds().contains([[s, w], [n, e]]) && to - from;"""
    assert browser.run(script) > 250


def test_a_map_that_nobody_touched_follows_its_window(browser: Browser, html: str) -> None:
    browser.open(html, (800, 600))
    zoom = "return geodp.stage.map.getZoom()"
    small = browser.run(zoom)
    browser.resize((1400, 900))
    browser.wait(f"geodp.stage.map.getZoom() > {small}")
    browser.find(".leaflet-control-zoom-out").click()
    browser.wait("!geodp.stage.map._animatingZoom")
    chosen = browser.run(zoom)
    browser.resize((1000, 700))
    browser.wait("geodp.stage.map.getSize().x < 700")
    assert browser.run(zoom) == chosen


def test_rows_of_a_raster_lie_at_their_latitude(browser: Browser, make_run: Made) -> None:
    # At 60° north a tall box is stretched: its middle latitude lies about 4 pixels off the middle of the picture.
    box = {"west": 10.0, "south": 59.5, "east": 11.0, "north": 61.0}
    layers = [{"kind": "cells", "shown": True}, "region"]
    run = make_run(box=box, map={"layers": layers}, halves=True, cell_m=8000.0, tasks=1, movers=1, releases=1)
    browser.open(build_map(run))
    script = """const c = document.querySelector('.geodp-canvas[data-kind=cells]'), m = geodp.stage.map;
        const frame = geodp.stage.entries.find(e => e.spec.kind === 'cells').layer.style.data.frames[0];
        const [w, s, e, n] = geodp.stage.facts.scene.box;
        const middle = s + (n - s) * Math.floor(frame.rows / 2) / frame.rows;
        const at = (lat) => m.latLngToLayerPoint([lat, (w + e) / 2]).subtract(L.DomUtil.getPosition(c));
        const pixels = c.getContext('2d').getImageData(Math.round(at(middle).x), 0, 1, c.height).data;
        const blue = []; for (let y = 0; y < c.height; y++) if (pixels[4 * y + 3] && pixels[4 * y] < 100) blue.push(y);
        return [blue[0], blue[blue.length - 1] + 1, at(n).y, at(middle).y, (at(n).y + at(s).y) / 2];"""
    top, bottom, north, middle, halfway = browser.run(script)
    assert abs(top - north) <= 1
    assert abs(bottom - middle) <= 1
    assert abs(middle - halfway) > 2.5  # a raster that is linear in latitude would end here


def test_words_of_the_user_are_shown_and_not_run(browser: Browser, make_run: Made) -> None:
    evil = "Words. </script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    browser.open(build_map(make_run(about=evil, tasks=2, movers=2, releases=1)))
    browser.find("#geodp-caption summary").click()
    assert evil in browser.find("#geodp-caption").text
    assert browser.run("return window.hacked") is None
    assert browser.problems() == []


def test_tiles_are_asked_for_only_once_chosen(browser: Browser, make_run: Made) -> None:
    run = make_run(map={"layers": ["region"], "basemap": "osm"}, tasks=1, movers=1, releases=1)
    browser.open(build_map(run))
    assert browser.requests() == []
    browser.driver.find_elements("css selector", "input[name=geodp-ground]")[1].click()
    browser.wait("document.querySelectorAll('.leaflet-tile').length")
    asked = browser.requests()
    assert asked
    assert all(url.startswith("https://tile.openstreetmap.org/") for url in asked)
    assert "OpenStreetMap" in browser.find(".leaflet-control-attribution").text


def test_one_arm_can_be_shown_alone(browser: Browser, arms: RunFolder) -> None:
    browser.open(build_map(arms))
    visible = "return geodp.stage.entries.filter(e => e.visible).map(e => e.spec.group + '/' + e.spec.kind).sort()"
    assert browser.run(visible) == ["/region", "contour/release", "contour/tasks", "exact/release", "exact/tasks"]
    browser.choose("How arms are compared", "one")
    browser.wait("document.querySelectorAll('.geodp-canvas').length === 3")
    assert browser.run(visible) == ["/region", "contour/release", "contour/tasks"]
    browser.choose("Left arm", "exact")
    browser.wait("geodp.stage.entries.some(e => e.visible && e.spec.group === 'exact')")
    assert browser.run(visible) == ["/region", "exact/release", "exact/tasks"]
    assert browser.problems() == []


def test_a_public_map_shows_no_task_and_no_worker(browser: Browser, public_html: str) -> None:
    browser.open(public_html)
    assert canvases(browser) == ["region", "release"]
    page = browser.find("body").text.lower()
    assert not [word for word in ("task", "trip", "success", "notified", "idle") if word in page]


def test_trips_move_along_their_ways(browser: Browser) -> None:
    shipped = Path(__file__).parent.parent.parent / "maps" / "synthetic_day.html"
    browser.open(shipped.read_text(encoding="utf-8"))
    ways = "const way = geodp.stage.entries.find(e => e.spec.kind === 'synthetic_trajectories').layer.style;"
    browser.run("geodp.stage.clock.setWholeRun(false)")
    places = """const t = way.data.time, clock = {wholeRun: false};
        return [t[0] - 1, t[0], (t[0] + t[1]) / 2, t[way.first[1] - 1]].map(
            at => { clock.t = at; return way.reached(0, clock) })"""
    before, start, between, end = browser.run(ways + places)
    assert (before, start, between) == (-1, 0, 0.5)
    assert end == browser.run(ways + "return way.first[1] - 1")
    assert browser.requests() == []
    assert browser.problems() == []
