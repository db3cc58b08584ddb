"""Made-up runs, their maps, and a browser that cannot reach anything."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from geodp.display.map import build_map
from geodp.run_folder.folder import RunFolder
from tests.display.fake_run import FakeRun

ALL_LAYERS = ["region", "density", "release", "cells", "offers", "trips", "tasks", "workers"]
Made = Callable[..., RunFolder]


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return a function that writes a made-up run with the given settings."""

    def make(**settings: Any) -> RunFolder:
        settings.setdefault("map", {"layers": ALL_LAYERS})
        return RunFolder(FakeRun(**settings).write(tmp_path_factory.mktemp("run") / "run"))

    return make


@pytest.fixture(scope="session")
def plain(make_run: Made) -> RunFolder:
    """Return a small run with every layer."""
    return make_run()


@pytest.fixture(scope="session")
def html(plain: RunFolder) -> str:
    """Return the map of the small run."""
    return build_map(plain)


@pytest.fixture(scope="session")
def public_html(plain: RunFolder) -> str:
    """Return the public map of the small run."""
    return build_map(plain, public=True)


@pytest.fixture(scope="session")
def arms(make_run: Made) -> RunFolder:
    """Return a comparison of two arms."""
    return make_run(arms=("contour", "exact"), tasks=20, movers=10)


class Browser:
    """A headless Chromium that reaches this computer alone: no host name resolves."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver = driver
        self.folder = folder
        self.pages = 0

    def open(self, html: str, size: tuple[int, int] = (1400, 900), *, until: str = "ready") -> None:
        """Open a map and wait until it says that it is drawn (`begun`: on a map that is not a page of ours)."""
        self.pages += 1
        path = self.folder / f"{self.pages}.html"
        path.write_text(html, encoding="utf-8")
        self.driver.get("about:blank")
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.resize(size)
        self.driver.get(path.as_uri())
        self.wait(f"document.documentElement.dataset.geodp === '{until}'")

    def resize(self, size: tuple[int, int]) -> None:
        """Give the window another size."""
        screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what a script returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: str, seconds: float = 20.0) -> None:
        """Wait until a condition holds in the page."""
        end = time.monotonic() + seconds
        while not self.run(f"return Boolean({condition})"):
            if time.monotonic() > end:
                raise AssertionError(f"never true: {condition}; {self.driver.get_log('browser')}")
            time.sleep(0.02)

    def find(self, selector: str) -> Any:
        """Return the first element that a CSS selector matches."""
        return self.driver.find_element("css selector", selector)

    def tick(self, kind: str) -> None:
        """Click the tick of a layer."""
        self.find(f'.geodp-layer[data-kind="{kind}"] input').click()

    def choose(self, label: str, value: str) -> None:
        """Choose from a list that a label names."""
        script = """const list = document.querySelector(`select[aria-label="${arguments[0]}"]`);
            list.value = arguments[1]; list.dispatchEvent(new Event('change'));"""
        self.run(script, label, value)

    def point_at(self, x: float, y: float) -> None:
        """Move the mouse to a place in the window."""
        move = {"type": "mouseMoved", "x": x, "y": y}
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", move)

    def problems(self) -> list[str]:
        """Return everything the page complained about."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def requests(self) -> list[str]:
        """Return every address asked for since the page was opened, other than files and embedded data."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
        urls = [parameters["request"]["url"] for parameters in sent]
        return [url for url in urls if not url.startswith(("file:", "data:", "blob:", "about:"))]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a headless Chromium; skipped only where there is none."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver_program = shutil.which("chromedriver")
    if program is None or driver_program is None:
        pytest.skip("needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    flags = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
        "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --window-size=1400,900"
    )
    for flag in flags.split():
        options.add_argument(flag)
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(driver_program))
    yield Browser(driver, tmp_path_factory.mktemp("pages"))
    driver.quit()
