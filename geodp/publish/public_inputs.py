"""Public inputs: what a publication may know without paying. They are given; reading one off the data is a leak."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Region, region_from_file, region_problems
from geodp.public.guarantee import Guarantee, Unit
from geodp.publish.request import Request
from geodp.storage.files import is_regular
from geodp.tables.visits.histories import Venues

T = TypeVar("T")
_NOBODY_SOUTH_OF = -60.0


@dataclass
class PublicInputs:
    """The public inputs of one publication, and which of them were read off the private data after all."""

    releasing: bool
    values: dict[str, Any] = field(default_factory=dict)
    """Plain values, for the guarantee file."""
    derived: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def settle(self, name: str, option: str, given: T | None, derive: Callable[[], T]) -> T:
        """Return what was given; otherwise derive it with a warning when simulating, and refuse when releasing."""
        if given is None and self.releasing:
            raise UsageError(
                f"{name}: must be public and given in release mode: use {option}. Reading it off the private data "
                f"would disclose something about them."
            )
        value = derive() if given is None else given
        if given is None:
            self.derived.append(name)
            self.warnings.append(
                f"{name}: read off the private data ({_shown(value)}), so no privacy guarantee holds. "
                f"A release needs {option}."
            )
        self.values[name.replace(" ", "_")] = _plain(value)
        return value

    def region(self, request: Request, derive: Callable[[], Region]) -> Region:
        """Return the public region."""
        given = None if request.region is None else parse_region(request.region)
        region = self.settle("region", "--region W,S,E,N", given, derive)
        require_sound(region)
        if given is not None:
            _require_inhabited(given)
        return region

    def venues_within(self, request: Request, venues: Venues) -> npt.NDArray[np.bool_] | None:
        """Tell which venues of a public list lie in the region that was asked for (None: no region, all are used)."""
        if request.region is None:
            return None
        if not venues.placed:
            raise UsageError("--region: chooses among venues by place: give --venues with columns lon and lat.")
        region = parse_region(request.region)
        require_sound(region)
        self.values["region"] = _plain(region)
        inside = region.contains(*region.projection.to_m(lon=venues.lon, lat=venues.lat))
        if not inside.any():
            raise UsageError(f"--region {request.region}: no venue of the public list lies inside.")
        return inside

    def honest(self, guarantee: Guarantee) -> Guarantee:
        """Return a promise that does not hold where public inputs were derived."""
        if not self.derived or guarantee.unit is Unit.NOTHING:
            return guarantee
        why = f"read off the private data: {', '.join(self.derived)}"
        return replace(guarantee, holds=False, why_not="; ".join(filter(None, [guarantee.why_not, why])))


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
        raise UsageError(f"region {_shown(region)}: {'; '.join(problems)}.{meant}")


def _require_inhabited(region: Region) -> None:
    """Refuse a box in Antarctica before anything is charged: a release would be of nobody, and say not a word."""
    if region.polygon is None and region.north < _NOBODY_SOUTH_OF:
        raise UsageError(
            f"region {_shown(region)}: lies in Antarctica.{_probably_meant(region)} If Antarctica is meant, name a "
            "file of polygons."
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


def _plain(value: Any) -> Any:
    if isinstance(value, Region):
        box = [value.west, value.south, value.east, value.north]
        return box if value.polygon is None else {"box": box, "polygon": value.polygon.wkt}
    return value


def _shown(value: Any) -> str:
    if isinstance(value, Region):
        return ",".join(f"{edge:.6g}" for edge in (value.west, value.south, value.east, value.north))
    return f"{value:,.10g}" if isinstance(value, int | float) else str(value)
