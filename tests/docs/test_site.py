"""The built site is whole: everything has a page, every link leads somewhere, and nothing asks the network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import geodp
from docs.commands import list_commands
from docs.links import find_problems, read_page
from docs.notebooks import list_tutorials
from geodp.registry import ROOMS
from tests.display.conftest import Browser

ROOT = Path(__file__).parents[2]
TUTORIALS = [path.stem for path in list_tutorials(ROOT / "docs" / "tutorials")]
SHOWN = [
    "index.html",
    "start.html",
    "tutorials/1_first_run.html",
    "reference/python.html",
    "reference/plugins/metric.html",
]
ELSEWHERE: set[str] = set()
"""Addresses outside the site to which pages may link."""

pytestmark = pytest.mark.slow


def maps_of(site: Path) -> frozenset[str]:
    """Return the pages that are maps: of the gallery, and of the tutorials."""
    gallery = [path for path in (site / "gallery").glob("*.html") if path.name != "index.html"]
    framed = (site / "tutorials").glob("*-*.html")
    return frozenset(path.relative_to(site).as_posix() for path in [*gallery, *framed])


def test_every_link_leads_somewhere_and_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 50
    assert find_problems(site, maps=maps_of(site)) == []


def test_pages_link_to_the_outside_only_where_it_is_needed(site: Path) -> None:
    plain = [path for path in site.rglob("*.html") if path.relative_to(site).as_posix() not in maps_of(site)]
    links = [target for path in plain for target, loads in read_page(path)[0] if not loads]
    assert {target for target in links if target.startswith("http")} == ELSEWHERE


def test_styles_and_scripts_name_no_address_to_load(site: Path) -> None:
    styles = " ".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\"']*", styles)


@pytest.mark.parametrize("name", TUTORIALS)
def test_every_tutorial_was_run_with_the_installed_package(site: Path, installed: Path, name: str) -> None:
    page = (site / "tutorials" / f"{name}.html").read_text(encoding="utf-8")
    assert page.count('class="output"') >= 4
    assert "Traceback" not in page
    assert (installed / "geodp" / "__init__.py").is_file()
    notebook = json.loads((site / "tutorials" / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert not any(cell.get("outputs") for cell in notebook["cells"])


def test_every_plugin_has_a_place_with_its_options(site: Path) -> None:
    for family in ROOMS:
        page = site / "reference" / "plugins" / f"{family}.html"
        _, anchors = read_page(page)
        text = page.read_text(encoding="utf-8")
        for kind, cls in geodp.plugins(family).items():
            if cls.__module__.startswith("geodp."):
                assert kind in anchors
                assert all(f"<code>{name}</code>" in text for name in cls.model_fields)


def test_every_command_has_a_place_with_its_options(site: Path) -> None:
    page = site / "reference" / "commands.html"
    _, anchors = read_page(page)
    text = page.read_text(encoding="utf-8")
    for words, command in list_commands():
        assert words.replace(" ", "-") in anchors
        named = [one.opts[0] for one in getattr(command, "params", []) if one.opts[0].startswith("--")]
        assert all(option in text for option in named)


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for name in geodp.__all__:
        assert name == "__version__" or f"geodp.{name}" in text


def test_every_key_of_a_scenario_is_in_the_reference(site: Path) -> None:
    text = (site / "reference" / "scenario.html").read_text(encoding="utf-8")
    schema = geodp.Scenario.model_json_schema()
    for part in (schema, *schema["$defs"].values()):
        if "kind" not in part.get("properties", {}):
            assert all(f"<code>{name}</code>" in text for name in part.get("properties", {}))


def test_every_shipped_map_is_in_the_gallery(site: Path) -> None:
    links, _ = read_page(site / "gallery" / "index.html")
    scenarios = {f"{path.stem}.html" for path in (ROOT / "scenarios").glob("*.yaml")}
    assert scenarios <= {target for target, _ in links}


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site on this machine's own address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def visit(browser: Browser, address: str) -> None:
    browser.driver.get("about:blank")
    for log in ("browser", "performance"):
        browser.driver.get_log(log)
    browser.driver.get(address)
    browser.wait("document.readyState === 'complete'")


@pytest.mark.browser
@pytest.mark.parametrize("page", SHOWN)
def test_a_page_opens_as_a_file_with_no_request_and_no_error(site: Path, browser: Browser, page: str) -> None:
    visit(browser, (site / page).as_uri())
    assert browser.run("return document.querySelector('h1').innerText")
    assert browser.problems() == []
    assert browser.requests() == []


@pytest.mark.browser
@pytest.mark.parametrize("page", SHOWN)
def test_a_served_page_asks_its_own_server_alone(address: str, browser: Browser, page: str) -> None:
    visit(browser, f"{address}/{page}")
    assert browser.problems() == []
    asked = browser.requests()
    assert asked
    assert [url for url in asked if not url.startswith(address)] == []


@pytest.mark.browser
@pytest.mark.parametrize("served", [False, True], ids=["as files", "served"])
def test_the_search_finds_a_page(site: Path, address: str, browser: Browser, served: bool) -> None:
    visit(browser, f"{address}/how-to/maps.html" if served else (site / "how-to" / "maps.html").as_uri())
    field = browser.find(".md-search__input")
    browser.run("arguments[0].focus()", field)
    field.send_keys("interaction leakage")
    browser.wait("document.querySelectorAll('.md-search-result__link').length > 0")
    found = browser.run("return [...document.querySelectorAll('.md-search-result__link')].map(a => a.pathname)")
    assert any(path.endswith("/explanation/protocol.html") for path in found)
    assert browser.problems() == []


@pytest.mark.browser
@pytest.mark.parametrize("page", [*SHOWN, "gallery/index.html", "reference/scenario.html"])
def test_nothing_overflows_on_a_phone(site: Path, browser: Browser, page: str) -> None:
    visit(browser, (site / page).as_uri())
    browser.resize((390, 844))
    wide = browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    browser.resize((1400, 900))
    assert wide <= 0
