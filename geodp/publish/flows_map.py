"""The map of a report of flows: footfall hour by hour, and the flows that stand out. Released numbers alone."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from geodp.display.arrows import bend_arrows, shade_arrows
from geodp.display.colours import RELEASED
from geodp.display.drawing import Band, Fact, Mark, Moment
from geodp.display.layers import Layer
from geodp.display.layers.region import RegionLayer
from geodp.display.page import Page
from geodp.flows.release import Z95
from geodp.geometry import Array
from geodp.public.guarantee import name_strength
from geodp.publish.flows_files import FlowsProduct
from geodp.publish.flows_live import profile_zones
from geodp.publish.flows_pictures import Ground

if TYPE_CHECKING:
    from geodp.display.folium_map import OfflineMap
    from geodp.publish.flows_statement import FlowsStatement

_FLOWS = {"largest": 40, "large": 100, "smaller": 200}
"""How many arrows each layer holds; the largest alone are shown at first."""
_WIDEST = 0.012
"""Width of the largest flow's arrow, of the width of the region."""
_STEPS = (0.02, 0.08, 0.2, 0.35, 0.55, 0.8)
_UNIT = "people/km²"


def draw_flows_map(statement: FlowsStatement) -> str:
    """Return the map of a report as HTML."""
    return map_flows(statement).html


def map_flows(statement: FlowsStatement) -> OfflineMap:
    """Return the map of a report: a Folium map that opens with no network, of what was published alone.

    Parameters
    ----------
    statement
        The report.
    """
    from geodp.display.caption import frame_caption, write_privacy_line
    from geodp.display.map import frame_page
    from geodp.display.timeless_page import RELEASED as BADGE
    from geodp.display.timeless_page import SIMULATED

    product, days = statement.product, statement.design.days
    page = _FlowsPage(product.zones.region, max_points=20_000, public=True)
    page.start_s, page.duration_s = days.begins_h * 3600.0, float(days.most_slots * days.every_s)
    page.ground(RegionLayer(), graticule=True)
    page.public = statement.releasable  # the region is public whatever made the numbers
    _draw_footfall(page, product)
    _draw_outlines(page, product)
    _draw_flows(page, product)
    body = ["<h2>Privacy</h2>", *(f"<p>{escape(sentence)}</p>" for sentence in statement.sentences)]
    body += ["<h2>Accuracy</h2>", f"<p>{escape(statement.accuracy)}</p>"]
    badge = BADGE if statement.releasable else SIMULATED
    privacy = [write_privacy_line(*_say_worth(statement))]
    title = f"Footfall and flows, {days.first} to {days.last}"
    caption = frame_caption(title, badge, body, page.notes, released=statement.releasable, privacy=privacy)
    return frame_page(page, title, caption, releasable=statement.releasable)


def _say_worth(statement: FlowsStatement) -> tuple[str, str]:
    """Say in one line what all days of a person cost together, and in a word what that is worth."""
    design = statement.design
    count = design.days.count
    one, whole = design.spend(1), design.spend(count)
    text = f"ε = {whole['epsilon']:.3g} for one person's day"
    if count > 1:
        text = f"ε = {whole['epsilon']:.3g} for the {count} days of a person together, {one['epsilon']:.3g} for one day"
    slack = f" (δ = {whole['delta']:g})" if whole["delta"] else ""
    return text + slack, name_strength(whole["epsilon"])


class _FlowsPage(Page):
    """A page with a clock; what simulated noise made is not marked as released."""

    def _add(self, *drawing: Any, **more: Any) -> None:
        super()._add(*drawing, **{**more, "public": self.public and more.get("public", True)})


def _layer(name: str, at: int, *, shown: bool = True) -> Layer:
    """Return a layer of this map."""

    class FlowsLayer(RegionLayer):
        title: ClassVar[str] = name
        public: ClassVar[bool] = True
        level: ClassVar[int] = at

    return FlowsLayer(shown=shown)


def _draw_footfall(page: Page, product: FlowsProduct) -> None:
    """Colour the zones by people per square kilometre, on the mean day."""
    areas, shapes = _shapes_m(product)
    profile, _ = profile_zones(product, np.ones(product.design.days.count, dtype=np.bool_))
    density = profile / np.maximum(areas / 1e6, 1e-9)[:, None]
    top = max(float(np.nanmax(density, initial=1e-9)), 1e-9)
    edges = np.array([0.0, *(step * top for step in _STEPS)])
    moments = []
    for slot in range(density.shape[1]):
        at = np.clip(np.searchsorted(edges, np.nan_to_num(density[:, slot]), side="right") - 1, 0, len(edges) - 1)
        bands = [
            Band(float(low), float([*edges[1:], np.inf][number]), shapes[at == number])
            for number, low in enumerate(edges)
            if number and (at == number).any()
        ]
        moments.append(Moment(float(slot * product.design.days.every_s), bands))
    page.areas(_layer("People by zone, mean day", 30), moments, ramp=RELEASED, name="People", unit=_UNIT)


def _draw_outlines(page: Page, product: FlowsProduct) -> None:
    zones = product.zones
    areas, shapes = _shapes_m(product)
    first = 1 + len(zones.all_districts)
    periods = float(product.design.days.slots.sum())
    value = np.nansum(product.noisy.footfall.value, axis=(1, 2))[first:-1]
    sd = np.sqrt(np.nansum(product.noisy.footfall.sd**2, axis=(1, 2)))[first:-1]
    facts = [
        Fact("Zone", list(zones.names), form="words"),
        Fact("District", [zones.districts[number] for number in zones.district], form="words"),
        Fact("People, mean period", value / periods, digits=1),
        Fact("Give or take (95 %)", Z95 * sd / periods, digits=1),
        Fact("Area", areas / 1e6, unit="km²", digits=2),
    ]
    page.outlines(_layer("Zones", 40), list(shapes), mark=Mark("zone", "#555555", "line"), name="Zone", facts=facts)


def _draw_flows(page: Page, product: FlowsProduct) -> None:
    """Draw the largest flows over all days, in three layers: between zones, or between districts."""
    whole = [one for one in product.noisy.flows if one.period < 0]
    table = next((one for one in whole if one.level == "zone"), whole[0])
    x, y = Ground(product.zones).find_centres(table.level)
    inside = np.flatnonzero(
        np.isfinite(x[table.origin]) & np.isfinite(x[table.destination]) & (table.origin != table.destination)
    )
    order = inside[np.argsort(-table.value[inside], kind="stable")]
    centres = np.column_stack([x, y])
    widest_m = _WIDEST * product.zones.region.width_m
    arrows = bend_arrows(centres[table.origin[order]], centres[table.destination[order]], table.value[order], widest_m)
    colours = np.array(shade_arrows(table.value[order]), dtype=np.object_)
    places = product.zones.all_names if table.level == "zone" else product.zones.all_districts
    names = np.array(places, dtype=np.object_)
    ends = np.cumsum([0, *_FLOWS.values()])
    for name, first, last in zip(_FLOWS, ends[:-1], ends[1:], strict=True):
        which = np.arange(order.size)[first:last][::-1]  # the largest on top
        rows = order[which]
        if not rows.size:
            continue
        o, d = table.origin[rows], table.destination[rows]
        facts = [
            Fact("From", names[o].tolist(), form="words"),
            Fact("To", names[d].tolist(), form="words"),
            Fact("People", table.value[rows]),
            Fact("Give or take (95 %)", np.full(rows.size, Z95 * table.sd)),
        ]
        low, high = float(table.value[rows].min()), float(table.value[rows].max())
        mark = Mark(f"{low:,.0f} to {high:,.0f} people", str(colours[which[which.size // 2]]), "line")
        layer = _layer(f"Flows, {name}", 50, shown=first == 0)
        page.outlines(
            layer,
            list(arrows[which]),
            mark=mark,
            colours=colours[which].tolist(),
            filled=True,
            name="Flow",
            facts=facts,
            what="flows",
        )


def _shapes_m(product: FlowsProduct) -> tuple[Array, npt.NDArray[Any]]:
    import shapely

    projection = product.zones.projection

    def project(points: Array) -> Array:
        return np.column_stack(projection.to_m(lon=points[:, 0], lat=points[:, 1]))

    shapes = shapely.transform(product.zones.shapes, project)
    return shapely.area(shapes), shapes
