"""Folium maps that open with no network, and our layers as elements of any Folium map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import folium
from branca.element import Element, Figure
from folium.map import Layer as FoliumLayer
from folium.template import Template

from geodp.display.map import PICTURE, require_page
from geodp.display.offline import LAYER_SCRIPTS, PAGE_SCRIPTS, content_policy, join_assets, leaflet_head, read_asset
from geodp.display.packing import inline_json, pack
from geodp.display.picture import take_picture
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.display.drawing import Drawing
    from geodp.display.page import Page

_HEIGHT = "600px"


class Verbatim(Element):
    """A part of the page that is written as it stands.

    Of the text of any other element branca makes a template, and runs it: words of a user must never be in one.

    Parameters
    ----------
    text
        The part.

    Examples
    --------
    >>> from geodp.display.folium_map import Verbatim
    >>> Verbatim("{{ 7 * 7 }}").render()
    '{{ 7 * 7 }}'
    """

    def __init__(self, text: str, *, hosts: Sequence[str] = ()) -> None:
        super().__init__()
        self.text = text
        self.hosts = list(hosts)
        """Where it may ask for images, once a reader chooses so."""

    def render(self, **_: Any) -> str:
        """Return the text."""
        return self.text


class OfflineFigure(Figure):
    """The page around an offline map: it refuses what nobody asked for, and an element that fails fails alone."""

    _template = Template(
        "<!DOCTYPE html>\n"
        '<html lang="en">\n'
        "<head>\n"
        '<meta http-equiv="Content-Security-Policy" content="{{ this.policy() }}" />\n'
        "{{ this.header.render(**kwargs) }}\n"
        "</head>\n"
        "<body>\n"
        "{{ this.html.render(**kwargs) }}\n"
        "{% for element in this.script._children.values() %}"
        "<script>\n{{ element.render(**kwargs) }}\n</script>\n"
        "{% endfor %}"
        "</body>\n"
        "</html>\n"
    )

    def policy(self) -> str:
        """Return the content security policy of what stands in the page."""
        parts = [part for place in (self.header, self.html, self.script) for part in place._children.values()]
        foreign = [part.render() for part in parts if not isinstance(part, Verbatim)]
        chosen = [host for part in parts for host in getattr(part, "hosts", ())]
        return content_policy("\n".join(foreign), images=chosen)


class OfflineMap(folium.Map):
    """A Folium map that opens with no network: Leaflet stands in the page itself.

    Whatever Folium offers can be added to it. Markers, icons, popups, tooltips, vectors, GeoJSON and layer controls
    need no network; tiles and plug-ins with scripts of their own are loaded where there is one, and where there is none
    the rest of the page is as it was.

    Parameters
    ----------
    location
        Latitude and longitude of the centre (default: the whole world).
    tiles
        Tiles, which need the network (default: none).
    **options
        As of `folium.Map`.

    Examples
    --------
    >>> import folium
    >>> from geodp.display.folium_map import OfflineMap
    >>> m = OfflineMap(location=(50.0, 10.0), zoom_start=12)
    >>> marker = folium.Marker((50.0, 10.0), popup="Town hall").add_to(m)
    >>> "https://cdn" in m.html
    False
    """

    def __init__(self, location: Sequence[float] | None = None, *, tiles: Any = None, **options: Any) -> None:
        super().__init__(location=location, tiles=tiles, **options)
        # Folium's lists belong to the class: a link added to any map of the process would be in ours.
        self.default_js: list[tuple[str, str]] = []
        self.default_css: list[tuple[str, str]] = []
        OfflineFigure(height=_HEIGHT).add_child(self)

    @property
    def html(self) -> str:
        """The whole page."""
        page: str = self.get_root().render()
        return page

    def save(self, outfile: str | bytes | Path | BinaryIO, close_file: bool = True, **kwargs: Any) -> None:
        """Write the page to a file.

        Parameters
        ----------
        outfile
            A path that ends in .html, or in .png for a picture of the page (which needs a browser), or an open binary
            file.
        close_file
            Whether to close an open file.
        **kwargs
            As of `folium.Map.save`.

        Raises
        ------
        UsageError
            If the path names neither a page nor a picture, or if there is no browser to take one.
        """
        target = require_page(Path(outfile), pictures=True) if isinstance(outfile, str | Path) else outfile
        if isinstance(target, Path) and target.suffix.lower() == PICTURE:
            target.write_bytes(take_picture(self.html))
            return
        super().save(target, close_file, **kwargs)

    def render(self, **kwargs: Any) -> Any:
        """Put Leaflet, and then everything that was added, where it belongs in the page."""
        figure: Any = self.get_root()
        figure.header.add_child(Verbatim(leaflet_head()), name="geodp_leaflet")
        rendered: Any = super()
        rendered.render(**kwargs)
        for child in self._children.values():
            if isinstance(child, ReaderPage):
                child.render()  # again: what was added after it is there only now


class DrawnLayer(FoliumLayer):
    """What was drawn on a page, as one layer of any Folium map.

    It brings our scripts and its own data, packed, and asks nothing of the network. Words in the data are only ever
    shown: they are in no template and no markup.

    Parameters
    ----------
    page
        The page on which it was drawn: its places count from the centre of the page's region.
    name
        What layer controls call it.
    show
        Whether it is shown when the map opens.
    control
        Whether layer controls list it.
    drawings
        Those of the page's drawings that belong to it (default: all).

    Examples
    --------
    >>> import folium
    >>> from geodp.display.folium_map import DrawnLayer
    >>> from geodp.display.layers.region import RegionLayer
    >>> from geodp.display.page import Page
    >>> from geodp.geometry import Region
    >>> page = Page(Region(10.0, 50.0, 10.08, 50.05), max_points=100, public=False)
    >>> page.ground(RegionLayer(), graticule=False)
    >>> m = folium.Map(location=(50.0, 10.0), zoom_start=12)
    >>> layer = DrawnLayer(page, name="Region").add_to(m)
    >>> layer.get_bounds()
    [[50.0, 10.0], [50.05, 10.08]]
    """

    def __init__(
        self,
        page: Page,
        name: str,
        *,
        show: bool = True,
        control: bool = True,
        drawings: Sequence[Drawing] | None = None,
    ) -> None:
        super().__init__(name=as_plain_text(name), overlay=True, control=control, show=show)
        self._name = "DrawnLayer"
        self.page = page
        page.settle_scales()
        self.drawings = list(page.drawings if drawings is None else drawings)

    def _get_self_bounds(self) -> list[list[float | None]]:
        region = self.page.region
        return [[region.south, region.west], [region.north, region.east]]

    def render(self, **kwargs: Any) -> Any:
        """Put scripts and data into the page around it; no part of them is ever a template."""
        figure, name, parent = self.get_root(), self.get_name(), self._parent
        if not isinstance(figure, Figure) or parent is None:
            raise UsageError("add the layer to a Folium map first: layer.add_to(m)")
        figure.header.add_child(Verbatim(f"<style>{read_asset('layers.css')}</style>"), name="geodp_style")
        figure.html.add_child(Verbatim(self._data(name)), name=name)
        figure.script.add_child(Verbatim(join_assets(LAYER_SCRIPTS)), name="geodp_scripts")
        shown = f"{name}.addTo({parent.get_name()});" if self.show else ""
        figure.script.add_child(Verbatim(f'var {name} = geodp.layer("{name}");\n{shown}'), name=name)
        for child in self._children.values():
            child.render(**kwargs)

    def _data(self, name: str) -> str:
        """Return the elements of the page that hold what is drawn: what it is, and the packed data of each part."""
        facts = {"scene": self.page.scene(), "layers": [drawing.spec() for drawing in self.drawings]}
        blocks = [f'<script type="application/json" id="geodp-layer-{name}">{inline_json(facts)}</script>']
        blocks += [
            f'<script type="application/geodp" id="geodp-data-{name}-{number}">{pack(drawing.data)}</script>'
            for number, drawing in enumerate(self.drawings)
        ]
        return "\n".join(blocks)


def as_plain_text(text: str) -> str:
    """Return text that shows as it is where Folium puts it into markup, and into a template on the way."""
    return "".join(f"&#{ord(sign)};" if sign in "{}%#`\\" else sign for sign in escape(text))


class ReaderPage(Element):
    """What makes a map a page for a reader: title, caption, panel of layers and player.

    Parameters
    ----------
    title
        Title of the page.
    caption
        Markup of the caption, in which every word of a user is escaped.
    facts
        What the scripts of the page must know.
    hosts
        Where the page itself may ask for images, once a reader chooses so.

    Examples
    --------
    >>> from geodp.display.folium_map import OfflineMap, ReaderPage
    >>> m = OfflineMap()
    >>> page = ReaderPage("Counts", "<section></section>", {"groups": []}).add_to(m)
    """

    def __init__(self, title: str, caption: str, facts: Mapping[str, Any], *, hosts: Sequence[str] = ()) -> None:
        super().__init__()
        self._name = "ReaderPage"
        self._id = "geodp"
        self.title, self.caption, self.facts, self.hosts = title, caption, dict(facts), list(hosts)

    def render(self, **_: Any) -> Any:
        """Put the parts into the page; the script comes last, when every layer is there."""
        figure, shown = self.get_root(), self._parent
        if not isinstance(figure, Figure) or shown is None:
            raise UsageError("add the page to a Folium map first: page.add_to(m)")
        head = f"<title>{escape(self.title)}</title>\n<style>{join_assets(('layers.css', 'page.css'))}</style>"
        body = [
            "<noscript>This map needs JavaScript. It loads nothing from the network.</noscript>",
            self.caption,
            f'<script type="application/json" id="geodp-page">{inline_json(self.facts)}</script>',
        ]
        layers = [child.get_name() for child in shown._children.values() if isinstance(child, DrawnLayer)]
        start = f"geodp.openPage({shown.get_name()}, [{', '.join(layers)}]);"
        figure.header.add_child(Verbatim(head), name="geodp_page")
        figure.html.add_child(Verbatim("\n".join(body), hosts=self.hosts), name="geodp_page")
        for name, text in (("geodp_page_scripts", join_assets(PAGE_SCRIPTS)), ("geodp_page", start)):
            figure.script._children.pop(name, None)  # a page that is rendered again has it last again
            figure.script.add_child(Verbatim(text), name=name)
