"""Venues on a map, coloured by how many people a release says visited them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from geodp.display.colours import RELEASED
from geodp.display.drawing import Fact, Mark

if TYPE_CHECKING:
    from geodp.display.layers import Layer
    from geodp.display.page import Page
    from geodp.geometry import Array

_CLASSES = 4
_EMPTY = "#c9c6bf"


def draw_venue_counts(
    layer: Layer, page: Page, x_m: Array, y_m: Array, count: Array, names: Sequence[str], appears_s: float = 0.0
) -> None:
    """Draw venues in classes of their released count; when there are too many, those with the largest counts."""
    shown = np.argsort(-count, kind="stable")[: page.max_points]
    if shown.size < count.size:
        page.note(f"the {shown.size:,} venues with the largest counts of {count.size:,}")
    shown = shown[::-1]  # large counts are drawn last, above the others
    edges = class_edges(count)
    marks = [Mark("0 or below", _EMPTY, "circle"), *_marks(edges)]
    page.points(
        layer,
        x_m[shown],
        y_m[shown],
        marks=marks,
        mark=np.searchsorted(edges, count[shown], side="right") if edges.size else np.zeros(shown.size, dtype=np.int64),
        name="Venue",
        ids=shown,
        facts=[
            Fact("Name", [names[place] for place in shown], form="words"),
            Fact("Released count", np.maximum(count[shown], 0.0), digits=1),
        ],
        appears_s=appears_s,
        what="venues",
    )


def class_edges(count: Array) -> Array:
    """Return the lower ends of the classes of positive counts: round numbers, each class with fewer venues."""
    positive = count[count > 0]
    if not positive.size:
        return np.empty(0)
    ends = np.quantile(positive, [0.5, 0.8, 0.95])
    rounded = [float(f"{end:.1e}") for end in ends]
    return np.unique([np.nextafter(0.0, 1.0), *rounded])[:_CLASSES]


def _marks(edges: Array) -> list[Mark]:
    ramp = RELEASED[1:]
    marks = []
    for index, low in enumerate(edges):
        start = "above 0" if index == 0 else f"{low:g}"
        end = f" to {edges[index + 1]:g}" if index + 1 < edges.size else " and more"
        text = f"{start}{end}" if index or edges.size > 1 else "above 0"
        marks.append(Mark(text, ramp[min(index, len(ramp) - 1)], "circle"))
    return marks
