"""The pictures of a report of flows, as drawings in SVG: bars with intervals, zones by shade, flows as lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np
import shapely

from geodp.display.colours import RELEASED, along
from geodp.flows.release import Z95
from geodp.flows.zones import ZoneMap
from geodp.geometry import Array

_FONT = 'font-family="system-ui,sans-serif" font-size="12" fill="#1d2430"'
_MOST_POINTS = 60_000
_Place = Callable[[float, float], tuple[float, float]]


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
    parts, width, height, place = _prepare_ground(zones)
    colours = along(RELEASED, np.sqrt(np.clip(value[: len(zones.names)] / max(top, 1e-9), 0, 1)))
    for shape, colour in zip(_simplify(zones), colours, strict=True):
        parts.append(_draw_shape(shape, place, f'fill="{colour}" stroke="#8a94a3" stroke-width="0.6"'))
    return _frame(width, height, parts)


def draw_lines(zones: ZoneMap, origin: Sequence[int], destination: Sequence[int], value: Array) -> bytes:
    """Draw flows as lines as wide as they are large; a dot is where they lead.

    Parameters
    ----------
    zones
        The zones.
    origin, destination, value
        The flows; what leads beyond the zones is left out.
    """
    parts, width, height, place = _prepare_ground(zones)
    parts += [
        _draw_shape(shape, place, 'fill="#f5f7fa" stroke="#c4ccd6" stroke-width="0.6"') for shape in _simplify(zones)
    ]
    x_m, y_m = zones.centres_m
    top = float(np.max(value, initial=1.0))
    for o, d, size in sorted(zip(origin, destination, value.tolist(), strict=True), key=lambda flow: flow[2]):
        if not (np.isfinite(x_m[o]) and np.isfinite(x_m[d])):
            continue
        (x0, y0), (x1, y1) = place(x_m[o], y_m[o]), place(x_m[d], y_m[d])
        bend_x, bend_y = (x0 + x1) / 2 + (y1 - y0) * 0.12, (y0 + y1) / 2 - (x1 - x0) * 0.12
        parts.append(f'<path d="M{x0:.1f} {y0:.1f}Q{bend_x:.1f} {bend_y:.1f} {x1:.1f} {y1:.1f}" fill="none" '
                     f'stroke="#7b3294" stroke-opacity="0.55" stroke-width="{0.6 + 6 * size / top:.2f}"/>')  # fmt: skip
        parts.append(f'<circle cx="{x1:.1f}" cy="{y1:.1f}" r="{1.5 + 2 * size / top:.1f}" fill="#7b3294"/>')
    return _frame(width, height, parts)


def _prepare_ground(zones: ZoneMap) -> tuple[list[str], float, float, _Place]:
    west, south, east, north = zones.region.box_m
    scale = 460.0 / max(east - west, 1e-9)
    width, height = 480.0, (north - south) * scale + 20

    def place(x: float, y: float) -> tuple[float, float]:
        return 10 + (x - west) * scale, 10 + (north - y) * scale

    return [], width, min(height, 1200.0), place


def _simplify(zones: ZoneMap) -> list[shapely.Geometry]:
    projection = zones.projection

    def project(points: Array) -> Array:
        return np.column_stack(projection.to_m(lon=points[:, 0], lat=points[:, 1]))

    shapes = shapely.transform(zones.shapes, project)
    west, _, east, _ = zones.region.box_m
    if int(shapely.get_num_coordinates(shapes).sum()) > _MOST_POINTS:
        shapes = shapely.simplify(shapes, (east - west) / 800)
    return list(shapes)


def _draw_shape(shape: shapely.Geometry, place: _Place, look: str) -> str:
    words = []
    for ring in shapely.get_rings(shape):
        points = [place(x, y) for x, y in shapely.get_coordinates(ring)]
        words.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z")
    return f'<path d="{"".join(words)}" fill-rule="evenodd" {look}/>'


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
    return f"{value:g}"
