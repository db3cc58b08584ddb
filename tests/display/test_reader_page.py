"""A map as a reader meets it: on a screen, in the dark, on a phone and on paper, with a mouse and without."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from geodp.display.map import build_map
from geodp.run_folder.folder import RunFolder
from tests.display.conftest import Browser, Made
from tests.display.map_contents import contents, specs

PHONE = (390, 844)


@pytest.fixture
def dark(browser: Browser) -> Iterator[None]:
    """Let the reader prefer dark pages."""
    wish = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
    yield
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def colour_of_ramp(browser: Browser) -> str:
    script = "return document.querySelector('.geodp-layer[data-kind=release] .geodp-bar').style.background"
    return str(browser.run(script))


def test_all_densities_of_a_map_share_one_scale(arms: RunFolder) -> None:
    page = build_map(arms)
    tops = {data["top"] for data in contents(page) if "top" in data}
    said = {row["top"] for spec in specs(page) for row in spec["legend"] if "top" in row}
    assert len(tops) == 1
    assert said == tops


def test_a_scale_may_be_given_so_that_maps_can_be_laid_side_by_side(make_run: Made) -> None:
    layers = ["region", {"kind": "release", "top_per_km2": 500.0}, "cells"]
    run = make_run(map={"layers": layers}, tasks=1, movers=1)
    tops = [data["top"] for data in contents(build_map(run)) if "top" in data]
    assert tops[0] == 500.0
    assert tops[1] != 500.0


@pytest.mark.browser
def test_a_page_is_titled_by_what_it_is_about_and_opens_with_one_story(browser: Browser, html: str) -> None:
    browser.open(html)
    assert browser.find("h1").text == "Couriers in a city centre"
    assert browser.run("return document.title") == "Couriers in a city centre (geodp)"
    ticked = "return geodp.stage.entries.filter(e => e.tick.checked).map(e => e.spec.kind).sort()"
    assert browser.run(ticked) == ["region", "release", "tasks"]
    assert browser.find("#geodp-about").get_attribute("open") is None


@pytest.mark.browser
def test_two_arms_share_a_map_that_is_cut_at_a_divider(browser: Browser, arms: RunFolder) -> None:
    browser.open(build_map(arms))
    clips = """return Object.fromEntries(geodp.stage.entries.filter(e => e.spec.kind === 'tasks').map(
        e => [e.spec.group, geodp.stage.map.getPane(e.layer.options.pane).style.clip]))"""
    before = browser.run(clips)
    assert all(clip.startswith("rect(") for clip in before.values())
    grip = browser.find(".geodp-grip")
    assert grip.get_attribute("role") == "slider"
    assert grip.get_attribute("aria-valuenow") == "50"
    grip.send_keys("\ue012")  # arrow to the left
    assert grip.get_attribute("aria-valuenow") == "45"
    assert browser.run(clips) != before
    # Left of the divider the left arm answers, right of it the right one.
    told = """const size = geodp.stage.map.getSize(), at = [size.x * arguments[0], size.y / 2];
        const latlng = geodp.stage.map.containerPointToLatLng(at);
        geodp.stage.tooltip.look({latlng, containerPoint: L.point(at)}, false);
        return document.querySelector('.geodp-tooltip b').textContent"""
    assert browser.run(told, 0.4).endswith("(contour)")
    assert browser.run(told, 0.6).endswith("(exact)")
    assert browser.problems() == []


@pytest.mark.browser
def test_two_arms_side_by_side_move_together(browser: Browser, arms: RunFolder) -> None:
    browser.open(build_map(arms))
    browser.choose("How arms are compared", "side")
    browser.wait("document.querySelectorAll('.geodp-second .geodp-canvas').length === 3")
    twin = "geodp.stage.page.arms.twin.map"
    browser.run("geodp.stage.map.setView([37.75, -122.45], 13, {animate: false})")
    place = browser.run(f"const c = {twin}.getCenter(); return [c.lat, c.lng, {twin}.getZoom()]")
    assert place == pytest.approx([37.75, -122.45, 13], abs=1e-3)
    browser.run(f"{twin}.setView([37.78, -122.42], 14, {{animate: false}})")
    place = browser.run("const m = geodp.stage.map, c = m.getCenter(); return [c.lat, c.lng, m.getZoom()]")
    assert place == pytest.approx([37.78, -122.42, 14], abs=1e-3)
    drawn = "return [...document.querySelectorAll('.folium-map')].map(m => m.querySelectorAll('.geodp-canvas').length)"
    assert browser.run(drawn) == [3, 3]
    browser.tick("cells")  # one tick for both arms
    browser.wait("document.querySelectorAll('.geodp-second .geodp-canvas').length === 4")
    assert browser.run(drawn) == [4, 4]
    assert browser.problems() == []


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1400, 900), PHONE])
def test_a_tooltip_stays_on_the_map(browser: Browser, html: str, size: tuple[int, int]) -> None:
    browser.open(html, size)
    script = """const map = geodp.stage.map, frame = map.getContainer().getBoundingClientRect();
        const at = L.point(frame.width * arguments[0], frame.height * arguments[1]);
        geodp.stage.tooltip.box.replaceChildren("a tooltip with many words ".repeat(8));
        geodp.stage.tooltip.box.hidden = false;
        geodp.stage.tooltip.place(at);
        const box = geodp.stage.tooltip.box.getBoundingClientRect();
        return [box.left - frame.left, box.top - frame.top, frame.right - box.right, frame.bottom - box.bottom];"""
    for corner in ((0, 0), (1, 0), (0, 1), (1, 1), (0.5, 0.5)):
        assert min(browser.run(script, *corner)) >= 0


@pytest.mark.browser
def test_who_cannot_point_is_told_what_lies_in_the_middle(browser: Browser, html: str) -> None:
    browser.open(html)
    chart = browser.find("#map_geodp")
    assert chart.get_attribute("tabindex") == "0"
    assert chart.get_attribute("aria-label").startswith(
        "Map: Couriers in a city centre (geodp). Arrow keys move the map"
    )
    chart.send_keys("\ue007")
    browser.wait("document.querySelector('#map_geodp .geodp-unseen').textContent")
    assert browser.run("return document.querySelector('#map_geodp .geodp-unseen').textContent").count(";") >= 1
    chart.send_keys("\ue00c")
    assert browser.run("return document.querySelector('.geodp-tooltip').hidden")


@pytest.mark.browser
@pytest.mark.parametrize("which", ["plain", "arms"])
def test_everything_that_can_be_used_has_a_name(browser: Browser, which: str, request: pytest.FixtureRequest) -> None:
    browser.open(build_map(request.getfixturevalue(which)))
    script = """const used = 'button, input, select, a[href], [role=slider], [tabindex]';
        return [...document.querySelectorAll(used)].filter(e => {
        const around = e.labels && e.labels.length && e.labels[0].textContent;
        return !(e.getAttribute('aria-label') || around || e.textContent).trim(); }).map(e => e.outerHTML)"""
    assert browser.run(script) == []
    unnamed = "return [...document.querySelectorAll('.geodp-canvas')].filter(c => !c.getAttribute('aria-label')).length"
    assert browser.run(unnamed) == 0


@pytest.mark.browser
@pytest.mark.usefixtures("dark")
def test_in_the_dark_the_page_is_dark_and_dense_places_are_light(browser: Browser, html: str) -> None:
    browser.open(html)
    light = """const [r, g, b] = getComputedStyle(arguments[0]).backgroundColor.match(/\\d+/g).map(Number);
        return (r + g + b) / 3"""
    assert browser.run(light, browser.find("body")) < 60
    assert browser.run(light, browser.find("#map_geodp")) < 60
    assert browser.run("return geodp.stage.dark") is True
    channels = re.findall(r"rgb\((\d+)", colour_of_ramp(browser))  # red, from the left end to the right
    assert int(channels[0]) < int(channels[-1])
    assert browser.problems() == []


@pytest.mark.browser
def test_layers_that_were_there_before_the_page_are_dark_too(browser: Browser, html: str, dark: None) -> None:
    late = re.sub(r"geodp\.openPage\(.*?\);", lambda call: f"setTimeout(() => {{ {call[0]} }}, 700);", html)
    assert late != html
    browser.open(late)
    shades = "return geodp.stage.entries.find(e => e.spec.kind === 'release').layer.style.shades.map(s => s[0])"
    red = browser.run(shades)
    assert red[0] < red[-1]


@pytest.mark.browser
@pytest.mark.parametrize("which", ["plain", "arms"])
def test_on_a_phone_nothing_overflows_and_panels_fold(
    browser: Browser, which: str, request: pytest.FixtureRequest
) -> None:
    browser.open(build_map(request.getfixturevalue(which)), PHONE)
    wide = "const e = document.documentElement; return [e.scrollWidth, e.scrollHeight]"
    assert browser.run(wide) == list(PHONE)
    assert browser.find("#geodp-layers").is_displayed() is False
    assert browser.find("#map_geodp").size["height"] > 300
    browser.find(".geodp-panel .geodp-fold").click()
    assert browser.find("#geodp-layers").is_displayed()
    assert browser.run(wide) == list(PHONE)
    beyond = """return [...document.querySelectorAll('#geodp-caption *, .geodp-panel *, #geodp-player *')].filter(
        e => { const box = e.getBoundingClientRect();
            return box.width && (box.right > innerWidth || box.left < 0) }).length"""
    assert browser.run(beyond) == 0
    assert browser.find("#map_geodp").size["height"] > 100


@pytest.mark.browser
@pytest.mark.parametrize("which", ["plain", "arms"])
def test_on_paper_are_map_legend_and_caption_on_one_page_without_a_player(
    browser: Browser, which: str, request: pytest.FixtureRequest
) -> None:
    browser.open(build_map(request.getfixturevalue(which)))
    browser.run("""addEventListener('beforeprint', () => {
        const seen = (what) => { const e = document.querySelector(what); return Boolean(e && e.offsetParent); };
        const [w, s, e, n] = geodp.stage.facts.scene.box;
        window.printed = {player: seen('#geodp-player'), caption: seen('h1'), legend: seen('.geodp-sign'),
            whole: geodp.stage.map.getBounds().contains([[s, w], [n, e]]),
            fits: document.querySelector('#geodp-side').scrollHeight <= 730}; })""")
    wish = {"preferCSSPageSize": True}
    pdf = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", wish)["data"])
    printed: dict[str, Any] = browser.run("return window.printed")
    assert printed == {"player": False, "caption": True, "legend": True, "whole": True, "fits": True}
    assert len(re.findall(rb"/Type /Page\b", pdf)) == 1
    (box,) = re.findall(rb"/MediaBox \[([^]]*)\]", pdf)
    assert [round(float(side)) for side in box.split()] == pytest.approx([0, 0, 842, 595], abs=1)  # A4 landscape
    assert browser.find("#geodp-player").is_displayed()
    assert browser.run("return document.documentElement.classList.contains('geodp-print')") is False


LONG = ("a_contour_plot_with_noise_aware_planning_and_every_option_there_is", "exact_counts_and_nothing_else_" * 3)


@pytest.fixture(scope="module")
def long_names(make_run: Made) -> str:
    """Return the map of a comparison whose arms have long names."""
    return build_map(make_run(arms=LONG, tasks=10, movers=5))


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1400, 900), PHONE], ids=["screen", "phone"])
def test_long_names_of_arms_push_nothing_out_of_sight(browser: Browser, long_names: str, size: tuple[int, int]) -> None:
    browser.open(long_names, size)
    if size == PHONE:
        browser.find(".geodp-panel .geodp-fold").click()
    beyond = """const side = Math.min(innerWidth, innerWidth > 720 ? 318 : innerWidth);
        return [...document.querySelectorAll('#geodp-caption *, .geodp-panel *')].filter(e => {
            const box = e.getBoundingClientRect();
            return !e.closest('select') && box.width && (box.right > side || box.left < 0) })
            .concat([...document.querySelectorAll('.geodp-arm')].filter(e => {
            const box = e.getBoundingClientRect(), slot = e.closest('.geodp-slot').getBoundingClientRect();
            return box.left < slot.left - 1 || box.right > slot.right + 1 })).map(e => e.outerHTML.slice(0, 80))"""
    assert browser.run(beyond) == []
    assert browser.run("const s = document.querySelector('#geodp-side'); return s.scrollWidth - s.clientWidth") <= 0
    lists = browser.run("return [...document.querySelectorAll('.geodp-arms select')].map(e => e.offsetWidth)")
    assert all(wide > 100 for wide in lists)


@pytest.mark.browser
def test_paper_as_narrow_as_a_phone_has_the_legend_too(browser: Browser, long_names: str) -> None:
    """Until the page has said that it wants A4, a browser may lay it out on upright paper."""
    browser.open(long_names)
    wish = {"preferCSSPageSize": True, "landscape": True, "paperWidth": 11.69, "paperHeight": 8.27}  # turned: upright
    browser.run("""window.hidden = []; const legend = document.querySelector('#geodp-layers');
        new MutationObserver(() => window.hidden.push(legend.hidden)).observe(legend, {attributes: true});""")
    browser.driver.execute_cdp_cmd("Page.printToPDF", wish)
    assert not any(browser.run("return window.hidden"))


@pytest.mark.browser
def test_an_arm_without_the_layers_of_the_first_shows_its_own_story(browser: Browser, make_run: Made) -> None:
    run = make_run(arms=("contour", "exact"), tasks=10, movers=5)
    page = build_map(run)
    # The second arm releases something that the first does not have.
    other = page.replace('"kind":"release"', '"kind":"other"').replace('"kind":"other"', '"kind":"release"', 1)
    assert other != page
    browser.open(other)
    ticked = "return geodp.stage.entries.filter(e => e.wanted && e.spec.group === 'exact').map(e => e.spec.kind).sort()"
    assert browser.run(ticked) == ["other", "tasks"]


@pytest.mark.browser
def test_the_density_is_on_the_paper(browser: Browser, public_html: str) -> None:
    """A canvas that clears itself while it is printed would clear what lies beneath it, too."""
    browser.open(public_html)
    pdf = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    parts = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.S)
    drawn = b"".join(inflate(part) for part in parts)
    assert drawn.count(b" l\n") + drawn.count(b" c\n") > 300  # lines of contours


def inflate(part: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(part)
    except zlib.error:
        return b""
