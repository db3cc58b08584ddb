"""A folium map that opens with no network: Leaflet and our own scripts stand in the page itself."""

from __future__ import annotations

import html
import re
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import folium
from branca.element import Element

from geodp.display.packing import inline_json
from geodp.errors import UsageError

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


class OfflineMap(folium.Map):
    """A folium map without any link: it loads nothing, whatever other maps of the process do."""

    default_js: list[tuple[str, str]] = []  # noqa: RUF012 - folium reads class attributes of these names
    default_css: list[tuple[str, str]] = []  # noqa: RUF012

    def __init__(self, *, title: str, centre: tuple[float, float], tiles_host: str | None) -> None:
        super().__init__(location=centre, tiles=None, zoom_start=11, zoom_control=False)
        self._id = "geodp"  # folium draws random names; the same run gives the same page
        root: Any = self.get_root()
        root._id = "geodp"
        self.stage = Stage(title, self.get_name(), tiles_host)
        self.add_child(self.stage, name="stage")


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

    def __init__(self, title: str, map_name: str, tiles_host: str | None) -> None:
        super().__init__()
        self._name = "Stage"
        self._id = "geodp"
        self.title = title
        self.map_name = map_name
        # The browser itself refuses every request but for the tiles a user may choose to see.
        images = "data:" if tiles_host is None else f"data: {tiles_host}"
        self.policy = f"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src {images}"
        self.caption = ""
        self.facts = "{}"
        self.blocks: list[str] = []

    def fill(self, *, caption: str, facts: dict[str, Any], blocks: list[str]) -> None:
        """Set the caption (HTML), the facts about the page, and one element of packed data per layer."""
        self.caption = caption
        self.facts = inline_json(facts)
        self.blocks = blocks

    def render(self, **_: Any) -> str:
        """Put everything where it belongs in the page around it."""
        page: Any = self.get_root()
        parts = {"header": self._head(), "html": self._body(), "script": self._script()}
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

    def _body(self) -> str:
        return "\n".join(
            [
                "<noscript>This map needs JavaScript. It loads nothing from the network.</noscript>",
                self.caption,
                f'<script type="application/json" id="geodp-page">{self.facts}</script>',
                *self.blocks,
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
