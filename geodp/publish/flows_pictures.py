"""The pictures of a report of flows, as drawings in SVG: bars with intervals, zones by shade, flows as lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

import numpy as np
import shapely

from geodp.display.arrows import bend_arrows, shade_arrows
from geodp.display.colours import RELEASED, along
from geodp.flows.release import Z95, FlowTable
from geodp.flows.zones import ZoneMap
from geodp.geometry import Array

_FONT = 'font-family="system-ui,sans-serif" font-size="12" fill="#1d2430"'
_MOST_POINTS = 60_000
_WIDEST = 6.0
"""Width of the largest flow's arrow on paper."""


def draw_bars(names: Sequence[str], value: Array, sd: Array, *, measure: str) -> bytes:
    """Draw a bar for each value, with its 95 % interval; pale where it cannot be relied on.

    Parameters
    ----------
    names
        What stands beneath.
    value, sd
        Noisy values and their standard deviations.
    measure
        What is counted.
    """
    width, height, left, bottom = 640.0, 300.0, 62.0, 62.0
    low, high = float(np.min(value - Z95 * sd, initial=0.0)), float(np.max(value + Z95 * sd, initial=1.0))
    low = min(low, 0.0)
    step = (width - left - 10) / max(len(names), 1)

    def y(at: float) -> float:
        return round(12 + (height - bottom - 12) * (high - at) / (high - low), 1)

    parts = []
    for tick in _find_ticks(low, high):
        parts.append(f'<line x1="{left}" x2="{width - 8}" y1="{y(tick)}" y2="{y(tick)}" stroke="#d9dee6"/>')
        parts.append(f'<text x="{left - 6}" y="{y(tick) + 4}" text-anchor="end" {_FONT}>{_short(tick)}</text>')
    every = max(1, len(names) // 12)
    for number, (name, at, spread) in enumerate(zip(names, value.tolist(), np.asarray(sd).tolist(), strict=True)):
        x, sure = left + step * (number + 0.5), Z95 * spread <= 0.5 * at
        top, foot = y(max(at, 0.0)), y(min(at, 0.0))
        colour = "#3a83bd" if sure else "#c9d3de"
        parts.append(f'<rect x="{x - step * 0.38:.1f}" width="{step * 0.76:.1f}" y="{top}" '
                     f'height="{max(foot - top, 0.5):.1f}" fill="{colour}"/>')  # fmt: skip
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y(at - Z95 * spread)}" y2="{y(at + Z95 * spread)}" '
                     'stroke="#10243d" stroke-width="1.5"/>')  # fmt: skip
        if number % every == 0:
            parts.append(f'<text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle" {_FONT} '
                         f'transform="rotate({0 if step * every > 56 else 28} {x:.1f} {height - bottom + 14})">'
                         f"{escape(name)}</text>")  # fmt: skip
    parts.append(f'<line x1="{left}" x2="{width - 8}" y1="{y(0)}" y2="{y(0)}" stroke="#566070"/>')
    parts.append(
        f'<text x="{(width + left) / 2}" y="{height - 4}" text-anchor="middle" {_FONT}>{escape(measure)}</text>'
    )
    return _frame(width, height, parts)


@dataclass(frozen=True)
class FlowLine:
    """One flow as it is drawn: from where to where, how many, its arrow, and that one's colour."""

    origin: int
    destination: int
    value: float
    path: str
    colour: str


class Ground:
    """The outlines of the zones on paper: what all maps of a report lie on.

    Parameters
    ----------
    zones
        The zones.
    """

    width = 480.0

    def __init__(self, zones: ZoneMap) -> None:
        west, south, east, north = zones.region.box_m
        self._zones, self._west, self._north = zones, west, north
        self._scale = 460.0 / max(east - west, (north - south) / 2, 1e-9)
        self.height = (north - south) * self._scale + 20

    def place(self, x_m: float, y_m: float) -> tuple[float, float]:
        """Return where a place lies on paper."""
        return 10 + (x_m - self._west) * self._scale, 10 + (self._north - y_m) * self._scale

    @cached_property
    def paths(self) -> list[str]:
        """The outline of every zone."""
        zones, projection = self._zones, self._zones.projection

        def project(points: Array) -> Array:
            return np.column_stack(projection.to_m(lon=points[:, 0], lat=points[:, 1]))

        shapes = shapely.transform(zones.shapes, project)
        west, _, east, _ = zones.region.box_m
        if int(shapely.get_num_coordinates(shapes).sum()) > _MOST_POINTS:
            shapes = shapely.simplify(shapes, (east - west) / 800)
        return [self._trace(shape) for shape in shapes]

    def _trace(self, shape: shapely.Geometry) -> str:
        words = []
        for ring in shapely.get_rings(shape):
            points = [self.place(x, y) for x, y in shapely.get_coordinates(ring)]
            words.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z")
        return "".join(words)

    def find_centres(self, level: str) -> tuple[Array, Array]:
        """Return the middle of every zone or district, metres; that of `outside` is not known (NaN)."""
        x_m, y_m = self._zones.centres_m
        if level == "zone":
            return x_m, y_m
        of = self._zones.district_of
        many = np.bincount(of)
        with np.errstate(invalid="ignore"):
            return np.bincount(of, weights=x_m) / many, np.bincount(of, weights=y_m) / many

    def list_flows(self, table: FlowTable, most: int) -> list[FlowLine]:
        """Return the largest flows, small ones first; what stays, or leads beyond the zones, has no line."""
        x_m, y_m = self.find_centres(table.level)
        o, d = table.origin, table.destination
        known = np.flatnonzero(np.isfinite(x_m[o]) & np.isfinite(x_m[d]) & (o != d))
        rows = known[np.argsort(-table.value[known], kind="stable")][:most][::-1]
        value, centres = table.value[rows], np.column_stack([x_m, y_m])
        arrows = bend_arrows(centres[o[rows]], centres[d[rows]], value, _WIDEST / self._scale)
        drawn = zip(o[rows].tolist(), d[rows].tolist(), value.tolist(), arrows, shade_arrows(value), strict=True)
        return [
            FlowLine(begin, end, many, path=self._trace(arrow), colour=colour)
            for begin, end, many, arrow, colour in drawn
        ]


def draw_zones(zones: ZoneMap, value: Array, top: float) -> bytes:
    """Draw zones shaded by a value, from nothing to `top`.

    Parameters
    ----------
    zones
        The zones.
    value
        A value for each (`outside` is left out).
    top
        The value of the darkest shade.
    """
    ground = Ground(zones)
    colours = along(RELEASED, np.sqrt(np.clip(value[: len(zones.names)] / max(top, 1e-9), 0, 1)))
    parts = [
        f'<path d="{path}" fill-rule="evenodd" fill="{colour}" stroke="#8a94a3" stroke-width="0.6"/>'
        for path, colour in zip(ground.paths, colours, strict=True)
    ]
    return _frame(ground.width, ground.height, parts)


def _frame(width: float, height: float, parts: Sequence[str]) -> bytes:
    size = f'viewBox="0 0 {width:g} {height:.0f}" width="{width:g}" height="{height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return (head + "".join(parts) + "</svg>").encode()


def _find_ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 4
    base = 10 ** np.floor(np.log10(max(rough, 1e-9)))
    step = base * min((1, 2, 5, 10), key=lambda times: abs(base * times - rough))
    return [float(tick) for tick in np.arange(np.ceil(low / step) * step, high + step * 1e-6, step)]


def _short(value: float) -> str:
    for size, mark in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{mark}"
    return f"{value + 0.0:g}"  # no -0
