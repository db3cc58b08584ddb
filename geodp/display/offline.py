"""A folium map that opens with no network: Leaflet and our own scripts stand in the page itself."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import folium
from branca.element import Element

from geodp.display.basemap import TILES, TILES_HOST
from geodp.display.packing import data_block, inline_json, pack
from geodp.errors import UsageError
from geodp.geometry import EARTH_RADIUS_M

if TYPE_CHECKING:
    from geodp.display.page import Page

_SCRIPTS = (
    "unpack.js",
    "projection.js",
    "elements.js",
    "canvas.js",
    "ground.js",
    "areas.js",
    "cells.js",
    "points.js",
    "circles.js",
    "outlines.js",
    "lines.js",
    "ways.js",
    "movers.js",
    "tooltip.js",
    "legend.js",
    "panel.js",
    "clock.js",
    "start.js",
)
"""Our own scripts, in the order in which they build on one another."""


def offline_page(
    page: Page,
    name: str,
    caption: str,
    *,
    releasable: bool = False,
    start_s: float = 0,
    duration_s: float = 1,
    groups: Sequence[str] = (),
    release_times: Sequence[float] = (),
    tiles: bool = False,
) -> str:
    """Return a page with all that was drawn on it as HTML.

    Parameters
    ----------
    page
        What was drawn.
    name
        Name of the run or publication.
    caption
        HTML of the caption, in which every word of a user is escaped.
    releasable
        Whether all of it may be published.
    start_s
        Time of day at which the clock starts.
    duration_s
        How long the clock runs.
    groups
        Arms of a comparison, in the order of the panel.
    release_times
        When something was released.
    tiles
        Whether online tiles wait to be chosen.
    """
    region, centre = page.region, page.region.projection
    drawings = sorted(page.drawings, key=lambda drawing: drawing.level)
    facts = {
        "name": name,
        "public": page.public,
        "releasable": releasable,
        "box": [region.west, region.south, region.east, region.north],
        "centre": [centre.lon, centre.lat],
        "earth_radius_m": EARTH_RADIUS_M,
        "step_m": page.step_m,
        "start_s": start_s,
        "duration_s": duration_s,
        "groups": list(groups),
        "release_times": list(release_times),
        "tiles": TILES if tiles else None,
        "layers": [drawing.spec() for drawing in drawings],
    }
    body = [
        "<noscript>This map needs JavaScript. It loads nothing from the network.</noscript>",
        caption,
        f'<script type="application/json" id="geodp-page">{inline_json(facts)}</script>',
        *(data_block(number, pack(drawing.data)) for number, drawing in enumerate(drawings)),
    ]
    # The browser itself refuses every request but for the tiles a user may choose to see.
    images = f"data: {TILES_HOST}" if tiles else "data:"
    policy = f"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src {images}"
    shell = OfflineMap(centre=(centre.lat, centre.lon))
    shell.add_child(Stage(f"{name} (geodp)", policy, "\n".join(body), shell.get_name()), name="stage")
    text: str = shell.get_root().render()
    return text.replace("<html>", '<html lang="en">', 1)


class OfflineMap(folium.Map):
    """A folium map without any link: it loads nothing, whatever other maps of the process do."""

    default_js: list[tuple[str, str]] = []  # noqa: RUF012 - folium reads class attributes of these names
    default_css: list[tuple[str, str]] = []  # noqa: RUF012

    def __init__(self, *, centre: tuple[float, float]) -> None:
        super().__init__(location=centre, tiles=None, zoom_start=11, zoom_control=False)
        self._id = "geodp"  # folium draws random names; the same run gives the same page
        root: Any = self.get_root()
        root._id = "geodp"


class Verbatim(Element):
    """A part of the page that is written as it stands.

    Of the text of any other element branca makes a template, and runs it: words of a user must never be in one.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def render(self, **_: Any) -> str:
        """Return the text."""
        return self.text


class Stage(Element):
    """Title, Leaflet, our style and scripts, the caption and the data, put into the page verbatim."""

    def __init__(self, title: str, policy: str, body: str, map_name: str) -> None:
        super().__init__()
        self._name = "Stage"
        self._id = "geodp"
        self.title, self.policy, self.body, self.map_name = title, policy, body, map_name

    def render(self, **_: Any) -> str:
        """Put everything where it belongs in the page around it."""
        page: Any = self.get_root()
        parts = {"header": self._head(), "html": self.body, "script": self._script()}
        for place, text in parts.items():
            getattr(page, place).add_child(Verbatim(text), name=self.get_name())
        return ""

    def _head(self) -> str:
        leaflet_js, leaflet_css = _leaflet()
        return "\n".join(
            [
                f'<meta http-equiv="Content-Security-Policy" content="{self.policy}" />',
                f"<title>{html.escape(self.title)}</title>",
                f"<!--\n{_asset('leaflet-licence.txt')}\n-->",
                f"<style>{leaflet_css}</style>",
                f"<style>{_asset('geodp.css')}</style>",
                f"<script>{leaflet_js}</script>",
            ]
        )

    def _script(self) -> str:
        return "\n".join([*(_asset(name) for name in _SCRIPTS), f"geodp.start({self.map_name});"])


@cache
def _asset(name: str) -> str:
    return resources.files("geodp.display").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _leaflet() -> tuple[str, str]:
    """Return Leaflet's script and style from the installed package, without anything that points outside."""
    files = metadata.files("XStatic-Leaflet") or []
    found = {Path(str(file)).name: file for file in files if Path(str(file)).name in {"leaflet.js", "leaflet.css"}}
    if len(found) != 2:
        raise UsageError("maps need Leaflet: install the package XStatic-Leaflet (pip install xstatic-leaflet)")
    script, style = (
        Path(str(found[name].locate())).read_text(encoding="utf-8") for name in ("leaflet.js", "leaflet.css")
    )
    script = re.sub(r"//# sourceMappingURL=.*", "", script)
    if "</script" in script:
        raise UsageError("this version of Leaflet cannot stand in a page: use xstatic-leaflet 1.9.3")
    # Its icons belong to controls that we do not use; VML is for browsers long gone.
    return script, re.sub(r"behavior:\s*url\(#default#VML\);?|url\([^)]*\)", "", style)
