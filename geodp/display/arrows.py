"""Arrows as areas: bent aside, so that the way back has room, as wide as what they stand for, and of its shade."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.display.colours import TRAVELLING, along
from geodp.geometry import Array

SHADES = ("#d9a9cb", TRAVELLING, "#5c0f47")
"""From small flows to the largest."""
_BEND = 0.12
"""How far the middle of an arrow lies aside, of its length."""
_ENDS = (0.06, 0.92)
"""Where it begins and ends, of the way between the middles: where many meet, each can be told."""
_HEAD = 2.6
"""Width of the head, in widths of the shaft."""
_LONGEST_HEAD = 0.35
_THINNEST = 0.15
"""Width of the smallest flow, of that of the largest."""
_STEPS = 12


def bend_arrows(start: Array, end: Array, value: Array, widest_m: float) -> npt.NDArray[Any]:
    """Return an arrow from each place to another.

    Parameters
    ----------
    start, end
        Places, metres: rows of x and y.
    value
        What each arrow stands for.
    widest_m
        Width of the shaft of the largest one, metres.

    Returns
    -------
    NDArray[Polygon]
        The arrows.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.display.arrows import bend_arrows
    >>> [arrow] = bend_arrows(np.zeros((1, 2)), np.array([[1000.0, 0.0]]), np.ones(1), widest_m=20.0)
    >>> [round(edge) for edge in arrow.bounds]
    [58, -70, 920, -4]
    """
    import shapely

    share = value / max(float(np.max(value, initial=0.0)), 1e-9)
    width_m = widest_m * (_THINNEST + (1 - _THINNEST) * share)
    found = [_bend(*ends) for ends in zip(start, end, width_m.tolist(), strict=True)]
    return np.array([shapely.Polygon(points) for points in found], dtype=np.object_)


def shade_arrows(value: Array) -> list[str]:
    """Return the colour of each arrow: the darker, the more it stands for.

    Parameters
    ----------
    value
        What each stands for.
    """
    return along(SHADES, value / max(float(np.max(value, initial=0.0)), 1e-9))


def _bend(start: Array, end: Array, width_m: float) -> Array:
    """Return the corners of one arrow, along its left side to the point, and back along its right side."""
    way = end - start
    length_m = max(float(np.hypot(*way)), 1e-9)
    width_m = min(width_m, length_m / 8)
    aside = np.array([way[1], -way[0]]) / length_m
    bend = (start + end) / 2 + aside * _BEND * length_m
    head = min(1.2 * _HEAD * width_m / length_m, _LONGEST_HEAD)
    at = np.linspace(_ENDS[0], _ENDS[1] - head, _STEPS)[:, None]

    def follow(share: Any) -> Array:
        return np.asarray((1 - share) ** 2 * start + 2 * share * (1 - share) * bend + share**2 * end)

    shaft, point = follow(at), follow(_ENDS[1])
    along_m = 2 * (1 - at) * (bend - start) + 2 * at * (end - bend)
    normal = np.column_stack([along_m[:, 1], -along_m[:, 0]]) / np.hypot(*along_m.T)[:, None]
    half = normal * width_m / 2
    wing = normal[-1] * _HEAD * width_m / 2
    return np.vstack([shaft - half, shaft[-1] - wing, point, shaft[-1] + wing, (shaft + half)[::-1]])
