"""What moves in a report of flows: zones hour by hour with a player, and flows with a slider for the smallest one.

Both are drawings inside the page, of released numbers alone; a script of ours recolours and hides, and loads nothing.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.display.colours import RELEASED, along
from geodp.flows.release import Z95, FlowTable, list_nodes
from geodp.flows.tree import clip_tree
from geodp.geometry import Array
from geodp.pages.html import Html, Part, build_element, join_html
from geodp.publish.flows_files import FlowsProduct
from geodp.publish.flows_pictures import Ground

Mask = npt.NDArray[np.bool_]
SCRIPT = "flows.js"
MOST_FLOWS = 300
_SHOWN_FIRST = 40
"""About so many flows are drawn when the page opens, and on paper."""
_SHADES = 36
_STEPS = 6


def build_zone_player(product: FlowsProduct) -> Html:
    """Build the zones coloured by people, with a player for the hours of the mean day.

    Parameters
    ----------
    product
        The report.
    """
    days = product.design.days
    starts = [f"{moment:%H:%M}" for moment in days.slot_starts(int(days.slots.argmax()))]
    kinds = list_kinds_of_days(product)
    profiles = [profile_zones(product, chosen) for _, chosen in kinds]
    top = max(float(max(value.max(initial=0.0) for value, _ in profiles)), 1e-9)
    series: list[dict[str, Any]] = []
    for value, give in profiles:
        shade = np.rint(np.sqrt(value / top) * (_SHADES - 1)).astype(int)
        rows = ["".join(np.base_repr(number, _SHADES).lower() for number in row) for row in shade.T.tolist()]
        series.append({"shades": rows, "values": np.rint(value.T).astype(int).tolist(),
                       "give": np.maximum(np.rint(give.T), 1).astype(int).tolist()})  # fmt: skip
    told: dict[str, Any] = {"names": list(product.zones.names), "starts": starts,
            "colours": along(RELEASED, np.linspace(0, 1, _SHADES)), "series": series}  # fmt: skip
    first = series[0]["shades"][0]
    ground = Ground(product.zones)
    marks = [
        build_element("path", class_="zone", d=path, fill=told["colours"][int(shade, 36)], stroke="#8a94a3",
                      stroke_width="0.6", fill_rule="evenodd")
        for path, shade in zip(ground.paths, first, strict=True)
    ]  # fmt: skip
    choice = None
    if len(kinds) > 1:
        options = [build_element("option", name, value=str(number)) for number, (name, _) in enumerate(kinds)]
        choice = build_element("select", *options, aria_label="Which days")
    controls = build_element(
        "div",
        build_element("button", "Play", type="button"),
        build_element(
            "input", type="range", min="0", max=str(len(starts) - 1), value="0", aria_label="Hour of the day"
        ),
        build_element("output", starts[0]),
        choice,
        class_="controls screen",
    )
    svg = _build_svg(ground, [*marks, *_draw_legend(ground, top)], label="Zones by people, hour by hour")
    caption = "People in each zone, hour by hour, mean day. Point at a zone for its number."
    return build_element(
        "figure", controls, svg, build_element("p", class_="told", role="status"),
        build_element("figcaption", caption), class_="live player",
        data_series=json.dumps(told, ensure_ascii=False, separators=(",", ":")),
    )  # fmt: skip


def list_kinds_of_days(product: FlowsProduct) -> list[tuple[str, Mask]]:
    """Return which days a mean is taken of: all; and, where there are both, working days and weekends.

    Parameters
    ----------
    product
        The report.
    """
    weekend = np.array([date.weekday() >= 5 for date in product.design.days.dates])
    found = [("All days", np.ones(weekend.size, dtype=np.bool_))]
    if weekend.any() and not weekend.all():
        found += [("Monday to Friday", ~weekend), ("Saturday and Sunday", weekend)]
    return found


def profile_zones(product: FlowsProduct, chosen: Mask) -> tuple[Array, Array]:
    """Return people by zone and period of the mean day of some days (none negative), and half the 95 % interval.

    Parameters
    ----------
    product
        The report.
    chosen
        Whether each day counts.
    """
    mean, give = profile_nodes(product, chosen)
    first = 1 + len(product.zones.all_districts)
    return clip_tree(list_nodes(product.zones)[0], mean)[first:-1], give[first:-1]


def profile_nodes(product: FlowsProduct, chosen: Mask) -> tuple[Array, Array]:
    """Return people by place of the tree and period of the mean day of some days, and half the 95 % interval.

    Parameters
    ----------
    product
        The report.
    chosen
        Whether each day counts.
    """
    footfall = product.noisy.footfall
    with warnings.catch_warnings(action="ignore"):  # a period that no day has
        mean = np.nan_to_num(np.nanmean(footfall.value[:, chosen], axis=1))
        many = np.maximum(np.isfinite(footfall.sd[:, chosen]).sum(axis=1), 1)
        give = Z95 * np.sqrt(np.nansum(footfall.sd[:, chosen] ** 2, axis=1)) / many
    return mean, give


def build_flow_map(product: FlowsProduct, table: FlowTable, names: Sequence[str]) -> Html | None:
    """Build the flows as lines over the zones, with a slider for the smallest (None: there is nothing to draw).

    Parameters
    ----------
    product
        The report.
    table
        Flows.
    names
        Names of the places between which they lead.
    """
    ground = Ground(product.zones)
    lines = ground.list_flows(table, most=MOST_FLOWS)
    if not lines:
        return None
    base: list[Html] = [
        build_element("path", d=path, fill="#f5f7fa", stroke="#c4ccd6", stroke_width="0.6", fill_rule="evenodd")
        for path in ground.paths
    ]
    marks = []
    give = round(Z95 * table.sd)
    for line in lines:
        told = f"{names[line.origin]} → {names[line.destination]}: {line.value:,.0f} ± {give:,.0f} people"
        marks.append(build_element(
            "g",
            build_element("path", d=line.path, fill="none", stroke="#fff", stroke_opacity="0", stroke_width="8"),
            build_element("path", d=line.path, fill=line.colour, stroke="#fff", stroke_width="0.5"),
            class_="flow", data_size=f"{line.value:.0f}", data_name=told,
        ))  # fmt: skip
    controls = build_element(
        "div",
        build_element("label", "Smallest flow "),
        build_element(
            "input",
            type="range",
            min="0",
            max="100",
            value=str(_find_start([line.value for line in lines])),
            aria_label="Smallest flow that is drawn",
        ),
        build_element("output", f"{len(lines)} flows"),
        class_="controls screen",
    )
    svg = _build_svg(ground, [*base, *marks], label=f"The {len(lines)} largest flows", below=0.0)
    caption = f"The {len(lines)} largest flows between {table.level}s, all days: wide and dark is large. Point at one."
    return build_element("figure", controls, svg, build_element("p", class_="told", role="status"),
                         build_element("figcaption", caption), class_="live flows")  # fmt: skip


def _find_start(sizes: Sequence[float]) -> int:
    """Return where the slider stands at first: it goes from the smallest to the largest flow by their ratio."""
    low, high = max(min(sizes), 1.0), max(*sizes, 1.0, min(sizes))
    if len(sizes) <= _SHOWN_FIRST or high <= low:
        return 0
    least = sorted(sizes, reverse=True)[_SHOWN_FIRST - 1]
    return min(max(round(100 * math.log(max(least, low) / low) / math.log(high / low)), 0), 100)


def _build_svg(ground: Ground, parts: Sequence[Part], *, label: str, below: float = 34.0) -> Html:
    box = f"0 0 {ground.width:g} {ground.height + below:.0f}"
    return build_element("svg", join_html(parts), viewBox=box, role="img", aria_label=label)


def _draw_legend(ground: Ground, top: float) -> list[Html]:
    """Draw what the shades mean: they go by the square root, so that small zones are seen, too."""
    found: list[Html] = []
    wide = (ground.width - 20) / _STEPS
    for number, colour in enumerate(along(RELEASED, np.linspace(0, 1, _STEPS))):
        x, y = 10 + number * wide, ground.height + 2
        found.append(build_element("rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{wide:.1f}", height="10", fill=colour))
        value = top * (number / (_STEPS - 1)) ** 2
        words = f"{value:,.0f}" + (" people" if number == _STEPS - 1 else "")
        anchor = "end" if number == _STEPS - 1 else "start"
        at = x + wide if number == _STEPS - 1 else x
        found.append(build_element("text", words, x=f"{at:.1f}", y=f"{y + 25:.1f}", text_anchor=anchor,
                                   font_size="12", font_family="system-ui,sans-serif", fill="#1d2430"))  # fmt: skip
    return found
