"""What makes a page whole without a network: Leaflet and our own scripts and styles, as text to stand in it."""

from __future__ import annotations

import base64
import re
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING

from geodp.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LAYER_SCRIPTS = (
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
    "clock.js",
    "stage.js",
)
"""Scripts that draw layers on any Leaflet map, in the order in which they build on one another."""
PAGE_SCRIPTS = ("panel.js", "arms.js", "page.js")
"""Scripts of the page around a run's map."""
_ICONS = ("marker-icon.png", "marker-icon-2x.png", "marker-shadow.png", "layers.png", "layers-2x.png")
_ADDRESS = re.compile(r"""(https?:)?//([A-Za-z0-9{}*-]+(?:\.[A-Za-z0-9{}*-]+)*(?::\d+)?)(?=[/"'`\s?)\\]|$)""")
_NAMESPACES = ("www.w3.org",)


@cache
def read_asset(name: str) -> str:
    """Return one of our own scripts or styles."""
    return resources.files("geodp.display").joinpath("assets", name).read_text(encoding="utf-8")


def join_assets(names: Iterable[str]) -> str:
    """Return several of our own scripts or styles as one text."""
    return "\n".join(map(read_asset, names))


@cache
def leaflet_head() -> str:
    """Return the part of a page's head that brings Leaflet, its icons, and what Folium's own elements lean on."""
    script, style, icons = _read_leaflet()
    urls = {
        "iconUrl": icons["marker-icon.png"],
        "iconRetinaUrl": icons["marker-icon-2x.png"],
        "shadowUrl": icons["marker-shadow.png"],
    }
    own = ",".join(f'"{name}":"{url}"' for name, url in urls.items())
    return "\n".join(
        [
            f"<!--\n{read_asset('leaflet-licence.txt')}\n-->",
            f"<style>{style}</style>",
            f"<script>{read_asset('trouble.js')}</script>",
            f"<script>{script}</script>",
            f"<script>window.geodpIcons = {{{own}}};\n{read_asset('folium.js')}</script>",
        ]
    )


def content_policy(foreign: str, *, images: Sequence[str] = ()) -> str:
    """Return the policy that lets a page load from the hosts which what others added to it names, and no other.

    Parameters
    ----------
    foreign
        Text of the page that is not ours: a host that it names is one that the author of the page asked for.
    images
        Hosts of images that a reader may choose to see.
    """
    found = {(scheme or "https:", host) for scheme, host in _ADDRESS.findall(foreign) if "." in host}
    hosts = sorted({f"{scheme}//{_leave_open(host)}" for scheme, host in found if host not in _NAMESPACES})
    pictures = " ".join(["data:", *images])
    if not hosts:
        return f"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src {pictures}"
    named = " ".join(hosts)
    return (
        f"default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' {named}; style-src 'unsafe-inline' {named}; "
        f"img-src {pictures} blob: {named}; font-src data: {named}; connect-src {named}; worker-src blob:"
    )


def _leave_open(host: str) -> str:
    """Return a host as policies write it: a part that the address of tiles leaves open stands for any."""
    return re.sub(r"^.*\{[^}]*\}[^.]*", "*", host)


@cache
def _read_leaflet() -> tuple[str, str, dict[str, str]]:
    """Return Leaflet's script, style and icons from the installed package, without anything that points outside."""
    wanted = {"leaflet.js", "leaflet.css", *_ICONS}
    files = metadata.files("XStatic-Leaflet") or []
    found = {Path(str(file)).name: Path(str(file.locate())) for file in files if Path(str(file)).name in wanted}
    if found.keys() != wanted:
        raise UsageError("maps need Leaflet: install the package XStatic-Leaflet (pip install xstatic-leaflet)")
    icons = {
        name: f"data:image/png;base64,{base64.b64encode(found[name].read_bytes()).decode()}" for name in sorted(_ICONS)
    }
    script, style = (found[name].read_text(encoding="utf-8") for name in ("leaflet.js", "leaflet.css"))
    script = re.sub(r"//# sourceMappingURL=.*", "", script)
    if "</script" in script:
        raise UsageError("this version of Leaflet cannot stand in a page: use xstatic-leaflet 1.9.3")
    style = re.sub(r"behavior:\s*url\(#default#VML\);?", "", style)  # for browsers long gone
    for name in ("layers.png", "layers-2x.png"):
        style = style.replace(f"url(images/{name})", f"url({icons[name]})")
    return script, re.sub(r"url\((?!data:)[^)]*\)", "none", style), icons
