"""Public regions as people state them: a box in degrees, in words, or a file of polygons."""

from __future__ import annotations

import math
from pathlib import Path

from geodp.errors import UsageError
from geodp.geometry import Region, region_from_file, region_problems
from geodp.storage.files import is_regular

_NOBODY_SOUTH_OF = -60.0


def parse_region(text: str) -> Region:
    """Read `W,S,E,N` in degrees, or the path of a file of polygons."""
    parts = text.split(",")
    if len(parts) != 4 and is_regular(Path(text)):
        return region_from_file(Path(text))
    try:
        west, south, east, north = (_finite(part) for part in parts)
    except ValueError:
        raise UsageError(
            f"--region {text}: write west,south,east,north in degrees, for example -74.05,40.68,-73.90,40.83, or name "
            "a file of polygons."
        ) from None
    return Region(west, south, east, north)


def require_sound(region: Region) -> None:
    """Refuse a box that is empty, inside out or off the globe."""
    problems = region_problems(region.west, region.south, region.east, region.north)
    if problems:
        meant = "" if region.polygon is not None else _probably_meant(region)
        raise UsageError(f"region {format_region(region)}: {'; '.join(problems)}.{meant}")


def require_inhabited(region: Region) -> None:
    """Refuse a box in Antarctica before anything is charged: a release would be of nobody, and say not a word."""
    if region.polygon is None and region.north < _NOBODY_SOUTH_OF:
        raise UsageError(
            f"region {format_region(region)}: lies in Antarctica.{_probably_meant(region)} If Antarctica is meant, "
            "name a file of polygons."
        )


_ORDERS = {"south,west,north,east": (1, 0, 3, 2), "west,east,south,north": (0, 2, 1, 3),
           "south,north,west,east": (2, 0, 3, 1), "north,west,south,east": (1, 2, 3, 0),
           "east,south,west,north": (2, 1, 0, 3), "west,north,east,south": (0, 3, 2, 1)}  # fmt: skip
"""Other orders in which people write a box, and where west, south, east and north stand in them."""


def _probably_meant(region: Region) -> str:
    """Say in which other order the four numbers would be a box; of several, the one where most people live."""
    given = (region.west, region.south, region.east, region.north)
    boxes = {order: [given[place] for place in places] for order, places in _ORDERS.items()}
    sound = {order: edges for order, edges in boxes.items() if not region_problems(*edges)}
    if not sound:
        return " The order is west,south,east,north."
    order, edges = min(sound.items(), key=lambda item: max(abs(item[1][1]), abs(item[1][3])))
    written = ",".join(f"{edge:g}" for edge in edges)
    return f" The order is west,south,east,north; this looks like {order}: did you mean {written}?"


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def format_region(region: Region) -> str:
    """Return the edges of a region's box as they are written: west,south,east,north."""
    return ",".join(f"{edge:.6g}" for edge in (region.west, region.south, region.east, region.north))
