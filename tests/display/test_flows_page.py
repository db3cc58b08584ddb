"""The report of flows as a reader meets it: on a screen, on a phone and on paper; it moves, and asks nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from geodp.datasets.table_folders import make_pings
from geodp.flows.generated_pings import PingSizes
from geodp.publish.flows_pipeline import publish_flows
from geodp.publish.flows_request import FlowsRequest
from geodp.tables.regions import parse_region
from tests.display.conftest import Browser

pytestmark = pytest.mark.browser
PHONE = (390, 844)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("flows")
    make_pings(folder / "town", PingSizes(people=400, pings=60_000, days=7, zones=4), parse_region("10,50,10.08,50.05"))
    zones = f"{folder / 'town' / 'zones.geoparquet'}:zone"
    request = FlowsRequest(folder / "town" / "pings.parquet", zones, folder / "out", "2024-03-04", "2024-03-10",
                           districts="district", epsilon=30.0, delta=1e-6)  # fmt: skip
    publish_flows(request)
    text: str = (Path(folder) / "out" / "report.html").read_text(encoding="utf-8")
    return text


def find_fills(browser: Browser) -> list[str]:
    script = "return [...document.querySelectorAll('.player path.zone')].map(z => z.getAttribute('fill'))"
    return list(browser.run(script))


def move(browser: Browser, kind: str, value: int) -> None:
    script = """const s = document.querySelector(`figure.${arguments[0]} input[type=range]`);
        s.value = arguments[1]; s.dispatchEvent(new Event('input'));"""
    browser.run(script, kind, value)


def test_zones_are_coloured_hour_by_hour(browser: Browser, page: str) -> None:
    browser.open(page)
    before = find_fills(browser)
    assert len(before) == 16
    move(browser, "player", 6)
    assert browser.find(".player output").text == "10:00"
    assert find_fills(browser) != before
    weekdays = find_fills(browser)
    browser.choose("Which days", "2")
    assert find_fills(browser) != weekdays
    browser.find(".player button").click()
    browser.wait("document.querySelector('.player output').textContent === '11:00'")
    browser.find(".player button").click()
    assert browser.find(".player button").text == "Play"
    browser.run("document.querySelector('.player path.zone').dispatchEvent(new Event('click', {bubbles: true}))")
    assert browser.find(".player .told").text.startswith("zone 1-1, ")
    assert "±" in browser.find(".player .told").text
    assert browser.problems() == []
    assert browser.requests() == []


def test_a_slider_hides_the_smaller_flows(browser: Browser, page: str) -> None:
    browser.open(page)
    seen = "return [...document.querySelectorAll('g.flow')].filter(f => !f.hasAttribute('display')).length"
    every = browser.run("return document.querySelectorAll('g.flow').length")
    assert 0 < browser.run(seen) <= every > 5
    move(browser, "flows", 0)
    assert browser.run(seen) == every
    move(browser, "flows", 50)
    assert 0 < browser.run(seen) < every
    assert browser.find(".flows output").text.startswith(f"{browser.run(seen)} of {every} flows")
    move(browser, "flows", 100)
    assert browser.run(seen) >= 1  # the largest stays
    script = "document.querySelector('g.flow path').dispatchEvent(new Event('click', {bubbles: true}))"
    browser.run(script)
    assert "→" in browser.find(".flows .told").text


def test_nothing_is_wider_than_a_phone(browser: Browser, page: str) -> None:
    browser.open(page, PHONE)
    assert browser.run("return document.documentElement.scrollWidth") <= PHONE[0]
    assert browser.run("return document.querySelector('.player svg').getBoundingClientRect().width") > 250


def test_on_paper_four_hours_stand_in_the_place_of_the_player(browser: Browser, page: str) -> None:
    browser.open(page)
    shown = "return getComputedStyle(document.querySelector(arguments[0])).display"
    assert browser.run(shown, ".paper") == "none"
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert browser.run(shown, ".paper") == "grid"
        assert browser.run(shown, ".player .controls") == "none"
        assert browser.run(shown, "figure.player") == "none"
        assert browser.run(shown, "figure.flows") != "none"
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
