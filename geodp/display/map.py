"""One self-contained interactive map per run: it carries its data and opens with no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.display.basemap import TILES, TILES_HOST, draw_ground
from geodp.display.caption import caption, title_of
from geodp.display.page import Page
from geodp.display.picture import require_browser, take_picture
from geodp.display.released_only import ReleasedOnly
from geodp.errors import PluginNotLoaded, UsageError

if TYPE_CHECKING:
    from geodp.display.folium_map import OfflineMap
    from geodp.display.layers import Layer
    from geodp.run_folder.folder import RunFolder

_PUBLIC_LAYERS = ("region", "release")
SUFFIXES = (".html", ".htm")
PICTURE = ".png"


_SIDES = 2
"""Things that are laid side by side."""


def make_map(
    run: RunFolder, *, public: bool = False, basemap: str | Path | None = None, places: str | Path | None = None
) -> OfflineMap:
    """Return the map of a run: a Folium map that opens with no network.

    Parameters
    ----------
    run
        A finished run; the arms of a comparison become groups of layers on one map.
    public
        Whether to embed released data only. A layer that is not ticked is in the page all the same, so a map with a
        true layer is the raw data; a public one has none, and cannot read any.
    basemap
        What lies beneath, instead of what the scenario says: `none`, `streets` (generated), `osm` (online tiles, which
        ask for nothing until a reader chooses them), or a file of areas and lines.
    places
        A gazetteer whose names the map shows, instead of the scenario's.
    """
    if public:
        run = ReleasedOnly(run.path, trust_plugins=run.trust_plugins)
    scenario = run.scenario
    page = Page(run.region, max_points=scenario.map.max_points, public=public)
    page.start_s, page.duration_s = scenario.start_s, scenario.duration_s
    page.release_times = [release.time_s for release in next(iter(run.arms.values()), run).releases]
    ground = draw_ground(run, page, basemap=basemap, places=places)
    sides = _draw(_layers(run, public=public), run, page)
    return frame_page(
        page,
        title_of(scenario.about, scenario.name),
        caption(run, page.notes, public=public),
        groups=sides,
        tiles=ground == "osm",
    )


def build_map(run: RunFolder, *, public: bool = False, **ground: str | Path | None) -> str:
    """Return the map of a run as HTML; `public` leaves out everything that was not released."""
    return make_map(run, public=public, **ground).html


def frame_page(
    page: Page,
    title: str,
    caption: str,
    *,
    releasable: bool = False,
    groups: Sequence[str] = (),
    tiles: bool = False,
) -> OfflineMap:
    """Return a map for a reader with all that was drawn on a page.

    Parameters
    ----------
    page
        What was drawn.
    title
        Title of the page.
    caption
        HTML of the caption, in which every word of a user is escaped.
    releasable
        Whether all of it may be published.
    groups
        Arms of a comparison, in the order of the panel.
    tiles
        Whether online tiles wait to be chosen.
    """
    from geodp.display.folium_map import DrawnLayer, OfflineMap, ReaderPage

    page.settle_scales()
    centre = page.region.projection
    made = OfflineMap(location=(centre.lat, centre.lon), zoom_start=11, zoom_control=False)
    made._id = "geodp"  # folium draws random names; the same run gives the same page
    for number, drawing in enumerate(sorted(page.drawings, key=lambda drawing: drawing.level)):
        called = f"{drawing.group}: {drawing.title}" if drawing.group else drawing.title
        layer = DrawnLayer(page, called, show=drawing.shown, drawings=[drawing])
        layer._id = f"geodp_{number}"
        layer.add_to(made)
    facts = {
        "public": page.public,
        "releasable": releasable,
        "groups": list(groups),
        "tiles": TILES if tiles else None,
        "scene": page.scene(),
    }
    ReaderPage(f"{title} (geodp)", caption, facts, hosts=[TILES_HOST] if tiles else []).add_to(made)
    return made


def write_map(run: RunFolder, path: Path, *, public: bool = False, **ground: str | Path | None) -> Path:
    """Write the map of a run to a file, whole or not at all, and return its path.

    A path that ends in .png gets a picture of the page, which needs a browser.
    """
    path = require_page(Path(path), pictures=True)
    is_picture = path.suffix.lower() == PICTURE
    if is_picture:
        require_browser()
    page = build_map(run, public=public, **ground)
    run.write_derived(path, take_picture(page) if is_picture else page, "the map")
    return path


def require_page(path: Path, *, pictures: bool = False) -> Path:
    """Return the path of a map, or refuse one that names neither a page nor (where they are taken) a picture."""
    if path.suffix.lower() in SUFFIXES or (pictures and path.suffix.lower() == PICTURE):
        return path
    wanted = f".html, or in {PICTURE} for a picture of it" if pictures else ".html"
    raise UsageError(f"{path}: a map is a page to open in a browser, so its file must end in {wanted}.")


def _layers(run: RunFolder, *, public: bool) -> list[Layer]:
    """Return the scenario's layers; on a public map those that hold released data only."""
    from geodp.registry import plugin

    layers: list[Any] = list(run.scenario.map.layers)
    if not public:
        return layers
    released = [layer for layer in layers if layer.public]
    return released or [plugin(kind, "layer") for kind in _PUBLIC_LAYERS]


def _draw(layers: list[Layer], run: RunFolder, page: Page) -> list[str]:
    """Draw every layer once, or once per arm where it differs between arms; return what a reader may lay side by side.

    Those are arms (after the first they start unticked), or else layers of which each shows one side of a thing, as
    true and synthetic trips do, where there are two of them.
    """
    arms = run.arms
    if not arms:
        return _draw_sides(layers, run, page)
    for layer in layers:
        if layer.shared:
            _draw_one(layer, run, page)
    for number, (name, arm) in enumerate(arms.items()):
        page.group, page.hidden = name, number > 0
        for layer in layers:
            if not layer.shared:
                _draw_one(layer, arm, page)
    page.group, page.hidden = "", False
    return list(arms)


def _draw_sides(layers: list[Layer], run: RunFolder, page: Page) -> list[str]:
    """Draw the layers of one run; return the titles of those that a reader may lay side by side."""
    sided = [layer for layer in layers if layer.side]
    pairs = sided if len({layer.kind for layer in sided}) == _SIDES else []
    for layer in layers:
        page.group = layer.title if layer in pairs else ""
        _draw_one(layer, run, page)
    page.group = ""
    drawn = list(dict.fromkeys(drawing.group for drawing in page.drawings if drawing.group))
    if len(drawn) == _SIDES:
        return drawn
    for place, drawing in enumerate(page.drawings):  # one of them had nothing to show
        page.drawings[place] = replace(drawing, group="")
    return []


def _draw_one(layer: Layer, run: RunFolder, page: Page) -> None:
    """Draw a layer; one that needs a plug-in which was not loaded is left out, and the caption says so."""
    try:
        layer.draw(run, page)
    except PluginNotLoaded:
        page.note(f"{layer.title}: not drawn, it needs a plug-in of the run that was not loaded")
