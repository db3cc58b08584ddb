"""One self-contained interactive map per run: it carries its data and opens with no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.display import basemap
from geodp.display.caption import caption
from geodp.display.page import Page
from geodp.display.released_only import ReleasedOnly
from geodp.errors import PluginNotLoaded, UsageError

if TYPE_CHECKING:
    from geodp.display.layers import Layer
    from geodp.run_folder.folder import RunFolder

_PUBLIC_LAYERS = ("region", "release")
SUFFIXES = (".html", ".htm")


def build_map(run: RunFolder, *, public: bool = False) -> str:
    """Return the map of a run as HTML.

    Parameters
    ----------
    run
        A finished run; the arms of a comparison become groups of layers on one map.
    public
        Whether to embed released data only. A layer that is not ticked is in the page all the same, so a map with a
        true layer is the raw data; a public one has none, and cannot read any.
    """
    from geodp.display.offline import offline_page

    if public:
        run = ReleasedOnly(run.path, trust_plugins=run.trust_plugins)
    scenario = run.scenario
    page = Page(run.region, max_points=scenario.map.max_points, public=public)
    if run.basemap_file is not None:
        basemap.draw_backdrop(run.basemap_file, page)
    _draw(_layers(run, public=public), run, page)
    return offline_page(
        page,
        scenario.name,
        caption(run, page.notes, public=public),
        start_s=scenario.start_s,
        duration_s=scenario.duration_s,
        groups=list(run.arms),
        release_times=[release.time_s for release in next(iter(run.arms.values()), run).releases],
        tiles=scenario.map.basemap == "osm",
    )


def write_map(run: RunFolder, path: Path, *, public: bool = False) -> Path:
    """Write the map of a run to a file, whole or not at all, and return its path."""
    path = require_page(Path(path))
    text = build_map(run, public=public)
    run.write_derived(path, text, "the map")
    return path


def require_page(path: Path) -> Path:
    """Return the path of a map, or refuse one that does not name a page."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"{path}: a map is a page to open in a browser, so its file must end in .html "
            "(take a picture of it there for anything else)."
        )
    return path


def _layers(run: RunFolder, *, public: bool) -> list[Layer]:
    """Return the scenario's layers; on a public map those that hold released data only."""
    from geodp.registry import plugin

    layers: list[Any] = list(run.scenario.map.layers)
    if not public:
        return layers
    released = [layer for layer in layers if layer.public]
    return released or [plugin(kind, "layer") for kind in _PUBLIC_LAYERS]


def _draw(layers: list[Layer], run: RunFolder, page: Page) -> None:
    """Draw every layer once, or once per arm where it differs between arms; arms after the first start unticked."""
    arms = run.arms
    for layer in layers:
        if layer.shared or not arms:
            _draw_one(layer, run, page)
    for number, (name, arm) in enumerate(arms.items()):
        page.group, page.hidden = name, number > 0
        for layer in layers:
            if not layer.shared:
                _draw_one(layer, arm, page)
    page.group, page.hidden = "", False


def _draw_one(layer: Layer, run: RunFolder, page: Page) -> None:
    """Draw a layer; one that needs a plug-in which was not loaded is left out, and the caption says so."""
    try:
        layer.draw(run, page)
    except PluginNotLoaded:
        page.note(f"{layer.title}: not drawn, it needs a plug-in of the run that was not loaded")
