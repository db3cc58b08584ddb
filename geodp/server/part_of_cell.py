"""A part of a rectangle that holds a given share of its area and grows evenly around a point of it."""

from __future__ import annotations

from math import sqrt

from geodp.public.messages import Rectangle

_ROUNDING_M = 1e-7  # a side this near to the cell's edge has met it


def part_around(cell: Rectangle, x_m: float, y_m: float, share: float) -> Rectangle:
    """Return the square around a point of the cell, cut at the cell's edges, that covers this share of its area.

    Its width grows with the half side h at rate 2, at rate 1 once it has met one edge, and not at all between two;
    so does its height. Between such meetings the area is a quadratic in h.
    """
    west, south, east, north = cell
    wanted = share * (east - west) * (north - south)
    if share >= 1:
        return cell
    meets = sorted((max(x_m - west, 0.0), max(east - x_m, 0.0), max(y_m - south, 0.0), max(north - y_m, 0.0)))
    reach = 0.0
    for meet in meets:
        if (min(east, x_m + meet) - max(west, x_m - meet)) * (min(north, y_m + meet) - max(south, y_m - meet)) > wanted:
            break
        reach = meet
    left, right = max(west, x_m - reach), min(east, x_m + reach)
    bottom, top = max(south, y_m - reach), min(north, y_m + reach)
    width, height = right - left, top - bottom
    # Sides that have not met an edge yet move on.
    wider = (left > west + _ROUNDING_M) + (right < east - _ROUNDING_M)
    higher = (bottom > south + _ROUNDING_M) + (top < north - _ROUNDING_M)
    a, b, c = float(wider * higher), wider * height + higher * width, width * height - wanted
    more = 0.0
    if a > 0:
        more = (-b + sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)
    elif b > 0:
        more = -c / b
    reach += max(more, 0.0)
    return max(west, x_m - reach), max(south, y_m - reach), min(east, x_m + reach), min(north, y_m + reach)


def nearest_contact(cell: Rectangle, other: Rectangle, x_m: float, y_m: float) -> tuple[float, float]:
    """Return the point of the edge that two touching rectangles share which is nearest to a place."""
    low_x, high_x = max(cell[0], other[0]), min(cell[2], other[2])
    low_y, high_y = max(cell[1], other[1]), min(cell[3], other[3])
    return _within(x_m, low_x, high_x), _within(y_m, low_y, high_y)


def _within(value: float, low: float, high: float) -> float:
    """Return the value, moved into the interval; one turned around by rounding is its middle."""
    if low > high:
        return (low + high) / 2
    return min(max(value, low), high)
