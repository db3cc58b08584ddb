"""A map of a publication: what was published and nothing else, in one page that opens with no network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from geodp.display.caption import frame_caption
from geodp.display.colours import REPORT
from geodp.display.drawing import Mark
from geodp.display.layers.people import ReportsLayer
from geodp.display.page import Page
from geodp.geometry import Array, Region

if TYPE_CHECKING:
    from geodp.display.drawing import Moment, Surface
    from geodp.display.layers import Layer
    from geodp.publish.statement import Statement

MAX_POINTS = 20_000
UNIT = "positions/km²"
RELEASED = "Released data only, under the guarantee below."
SIMULATED = "Simulated noise, predictable from the seed: not releasable, do not publish."
UNPROTECTED = "No privacy guarantee holds for what is drawn: do not publish."


class TimelessPage(Page):
    """A page without a clock: a publication is one moment."""

    def areas(self, layer: Layer, moments: Sequence[Moment], *, unit: str = UNIT, **more: Any) -> None:  # noqa: ARG002
        """Draw filled bands; a publication counts positions, not workers."""
        super().areas(layer, moments, unit=UNIT, **more)

    def cells(self, layer: Layer, surfaces: Sequence[Surface], *, unit: str = UNIT, **more: Any) -> None:  # noqa: ARG002
        """Draw rectangles coloured by count per area."""
        super().cells(layer, surfaces, unit=UNIT, **more)

    def _add(self, *drawing: Any, **more: Any) -> None:
        public = self.public and more.get("public", True)
        super()._add(*drawing, **{**more, "timed": False, "history": False, "public": public})


def draw_released_map(region: Region, draw: Callable[[Page], None], statement: Statement) -> str:
    """Return the map as HTML."""
    from geodp.display.layers.region import RegionLayer
    from geodp.display.offline import offline_page

    page = TimelessPage(region, max_points=MAX_POINTS, public=True)
    page.ground(RegionLayer(), graticule=True)
    page.public = statement.releasable
    draw(page)
    caption = _caption(statement, page.notes)
    return offline_page(page, statement.request.out.name, caption, releasable=statement.releasable)


def make_released_layer(title: str) -> Layer:
    """Return a layer for what was published, with a title of its own."""

    class Released(ReportsLayer):
        pass

    Released.title = title
    return Released()


def draw_places(page: Page, title: str, x_m: Array, y_m: Array, *, mark: str, name: str, what: str) -> None:
    """Draw published places as points."""
    page.points(make_released_layer(title), x_m, y_m, marks=[Mark(mark, REPORT, "square")], name=name, what=what)


def _caption(statement: Statement, notes: list[str]) -> str:
    released = statement.releasable
    badge = RELEASED if released else SIMULATED if statement.guarantee.holds else UNPROTECTED
    body = [
        "<h2>Privacy</h2>",
        *(f"<p>{escape(sentence)}</p>" for sentence in statement.sentences),
        "<h2>Accuracy</h2>",
        f"<p>{escape(statement.product.accuracy.text)}</p>",
    ]
    return frame_caption(statement.request.out.name, badge, body, notes, released=released)
