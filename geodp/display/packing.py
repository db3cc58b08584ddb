"""Numbers in a web page, small: whole numbers as differences, as JSON, deflated, as base64.

Differences of neighbouring places and times are short numbers, which deflate well; the browser undoes all of it with
`DecompressionStream` (`assets/unpack.js` is the other half of this file).
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

RAW_DEFLATE = -15  # window bits of a stream without header and checksum: `deflate-raw` in browsers


def whole(values: npt.ArrayLike, step: float = 1.0) -> npt.NDArray[np.int64]:
    """Return values as whole numbers of steps; what is not a number becomes -1 step (times and counts: absent)."""
    numbers = np.asarray(values, dtype=np.float64) / step
    return np.rint(np.where(np.isfinite(numbers), numbers, -1)).astype(np.int64)


def short(value: float) -> float:
    """Round to four significant figures: legends and colours need no more."""
    return float(f"{value:.4g}")


def rings(geometry: Any, step_m: float) -> dict[str, Any]:
    """Return all rings or lines of shapely geometries one after the other, in steps, with their lengths."""
    import shapely

    parts = shapely.get_parts(np.atleast_1d(np.asarray(geometry, dtype=object)))
    if len(parts) and shapely.get_dimensions(parts[0]) == 2:
        parts = shapely.get_rings(parts)
    points, ring = shapely.get_coordinates(parts, return_index=True)
    rounded = np.rint(points / step_m).astype(np.int64)
    # Points that rounding has put on their predecessor draw nothing.
    fresh = np.ones(len(ring), dtype=np.bool_)
    fresh[1:] = np.any(rounded[1:] != rounded[:-1], axis=1) | (ring[1:] != ring[:-1])
    lengths = np.bincount(ring[fresh], minlength=len(parts))
    return {"x": rounded[fresh, 0], "y": rounded[fresh, 1], "lengths": lengths}


def pack(data: Any) -> str:
    """Return plain values and arrays of whole numbers as one line of base64."""
    text = json.dumps(_plain(data), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    squeezer = zlib.compressobj(9, zlib.DEFLATED, RAW_DEFLATE)
    return base64.b64encode(squeezer.compress(text.encode()) + squeezer.flush()).decode()


def inline_json(values: Any) -> str:
    """Return values as JSON that may stand in a page's script element.

    There "<" could end the element, or open a comment that swallows its end; two line separators are no part of
    JavaScript's strings. JSON lets all of them be written as escapes.
    """
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for sign in "<>\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _differences(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


def _differences(values: npt.NDArray[Any]) -> dict[str, Any]:
    """Take differences once, or twice where that makes the numbers shorter (steady movement)."""
    flat = values.astype(np.int64).ravel()
    once = np.diff(flat, prepend=0)
    twice = np.diff(once, prepend=0)
    if np.abs(twice).sum() < np.abs(once).sum():
        return {"twice": twice.tolist()}
    return {"once": once.tolist()}
