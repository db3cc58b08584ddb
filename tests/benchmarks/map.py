"""The map of a million workers: how large it is, how long it takes to draw and to appear."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import geodp
from geodp.display.map import write_map
from geodp.run_folder.folder import RunFolder
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import REPOSITORY, SCENARIOS, city_million_run, cpu_s, scratch_folder

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --window-size=1400,900"
OPENED = 3


def measure() -> Iterator[Figure]:
    """Draw the map of `city_million` again and open it; then weigh a map of the gallery."""
    run = RunFolder(city_million_run()[0])
    page = scratch_folder() / "city_million.html"
    write_map(run, page)  # imports what it needs
    spent, _ = cpu_s(lambda: write_map(RunFolder(run.path), page))
    yield Figure("map_city_million_build_cpu_s", spent)
    yield Figure("map_city_million_mb", _megabytes(page), at_most=5)
    yield _first_paint(page)
    small = geodp.run(SCENARIOS / "quickstart.yaml", scratch_folder() / "quickstart").path / "map.html"
    yield Figure("map_quickstart_mb", _megabytes(small), at_most=1)
    gallery = [_megabytes(path) for path in (REPOSITORY / "maps").glob("*.html")]
    if gallery:
        yield Figure("map_gallery_largest_mb", max(gallery), at_most=1.5)


def _megabytes(path: Path) -> float:
    return path.stat().st_size / 1e6


def _first_paint(page: Path) -> Figure:
    """Return the seconds (wall clock) from opening the page until all layers shown at first are drawn."""
    key = "map_city_million_first_paint_s"
    program, driver_program = next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which("chromedriver")
    if program is None or driver_program is None:
        return Figure(key, None, note="needs chromium and chromedriver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS.split():
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(driver_program))
    try:
        painted = []
        for _ in range(OPENED):
            driver.get("about:blank")
            driver.get(page.as_uri())
            WebDriverWait(driver, 60).until(lambda page: page.execute_script("return Boolean(window.geodp.readyMs)"))
            painted.append(driver.execute_script("return geodp.readyMs") / 1000)
    finally:
        driver.quit()
    return Figure(key, min(painted), at_most=2)
