"""A map of a publication: what was published and nothing else, in one page that opens with no network."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from geodp.display.colours import REPORT
from geodp.display.drawing import Mark
from geodp.display.layers.people import ReportsLayer
from geodp.display.timeless_page import TimelessPage
from geodp.geometry import Array, Region

if TYPE_CHECKING:
    from geodp.display.folium_map import OfflineMap
    from geodp.display.layers import Layer
    from geodp.display.page import Page
    from geodp.publish.statement import Statement

MAX_POINTS = 20_000
UNIT = "positions/km²"


def draw_released_map(region: Region, draw: Callable[[Page], None], statement: Statement) -> str:
    """Return the map as HTML."""
    return _make_map(region, draw, statement, statement.request.out.name).html


def map_published(statement: Statement, title: str, max_points: int) -> OfflineMap:
    """Return the map of a publication: a Folium map that opens with no network, of what was published alone."""
    return _make_map(statement.plan.region, statement.product.draw_map, statement, title, max_points=max_points)


def _make_map(
    region: Region, draw: Callable[[Page], None], statement: Statement, title: str, *, max_points: int = MAX_POINTS
) -> OfflineMap:
    page = TimelessPage(region, max_points=max_points, unit=UNIT, releasable=statement.releasable)
    draw(page)
    return page.finish(
        title,
        statement.guarantee,
        statement.sentences,
        per_person=statement.per_person,
        accuracy=statement.product.accuracy.text,
    )


def make_released_layer(title: str) -> Layer:
    """Return a layer for what was published, with a title of its own."""

    class Released(ReportsLayer):
        pass

    Released.title = title
    return Released()


def draw_places(page: Page, title: str, x_m: Array, y_m: Array, *, mark: str, name: str, what: str) -> None:
    """Draw published places as points."""
    page.points(make_released_layer(title), x_m, y_m, marks=[Mark(mark, REPORT, "square")], name=name, what=what)
