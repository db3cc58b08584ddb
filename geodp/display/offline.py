"""A folium map that opens with no network: Leaflet and our own scripts stand in the page itself."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import folium
from branca.element import MacroElement
from folium.template import Template

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
        root.title = html.escape(title)
        self.stage = Stage(self.get_name(), tiles_host)
        self.add_child(self.stage, name="stage")


class Stage(MacroElement):
    """Leaflet, our style and scripts, the caption and the data, written into the page.

    Everything is handed to the template as a variable: code put into a template's own text would be run as a template.
    """

    _template = Template(
        """
        {% macro header(this, kwargs) %}
        <meta http-equiv="Content-Security-Policy" content="{{ this.policy }}" />
        <!--
{{ this.licence }}
        -->
        <style>{{ this.leaflet_css }}</style>
        <style>{{ this.css }}</style>
        <script>{{ this.leaflet_js }}</script>
        {% endmacro %}
        {% macro html(this, kwargs) %}
        <noscript>This map needs JavaScript. It loads nothing from the network.</noscript>
        {{ this.caption }}
        <script type="application/json" id="geodp-page">{{ this.facts }}</script>
        {%- for block in this.blocks %}
        {{ block }}
        {%- endfor %}
        {% endmacro %}
        {% macro script(this, kwargs) %}
        {{ this.js }}
        geodp.start({{ this.map_name }});
        {% endmacro %}
        """
    )

    def __init__(self, map_name: str, tiles_host: str | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._name = "Stage"
        self._id = "geodp"
        self.map_name = map_name
        # The browser itself refuses every request but for the tiles a user may choose to see.
        images = "data:" if tiles_host is None else f"data: {tiles_host}"
        self.policy = f"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src {images}"
        self.licence = _asset("leaflet-licence.txt")
        self.leaflet_js, self.leaflet_css = _leaflet()
        self.css = _asset("geodp.css")
        self.js = "\n".join(_asset(name) for name in _SCRIPTS)
        self.caption = ""
        self.facts = "{}"
        self.blocks: list[str] = []

    def fill(self, *, caption: str, facts: dict[str, Any], blocks: list[str]) -> None:
        """Set the caption (HTML), the facts about the page, and one element of packed data per layer."""
        self.caption = caption
        # "<" may not stand in an inlined script: it could end it. JSON lets it be written as an escape.
        self.facts = json.dumps(facts, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace(
            "<", "\\u003c"
        )
        self.blocks = blocks


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
