"""Trajectories of Brinkhoff's generator as AdaTrace writes them: `.dat` files of point lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.errors import DataError
from geodp.geometry import Projection
from geodp.tables.loaders import Dropped
from geodp.tables.loaders.tracks import TRACK, TrackLoader, constant

_LISTS_AT_ONCE = 2_000


class PointLists(TrackLoader):
    """Point lists (`.dat` of Brinkhoff's generator or AdaTrace): `#0:` and, on the next line, `>0:x,y;x,y;…`.

    Every list is a trajectory of a person of its own. The format has no times: a fix stands for every `step_s`
    seconds. Coordinates are degrees, or plane units when an origin is given.
    """

    kind: ClassVar[str] = "point_lists"
    files: ClassVar[str] = "*.dat"

    order: Literal["lonlat", "latlon"] = "lonlat"
    """What stands first in `x,y`: the longitude (or x) or the latitude (or y)."""
    step_s: float = Field(default=60.0, gt=0)
    """Time from a point to the next (s): an assumption, since the format has none."""
    origin: str | None = None
    """`lon,lat` of the point 0,0 for coordinates in plane units; null when they are degrees."""
    unit_m: float = Field(default=1.0, gt=0)
    """Length of a plane unit (m)."""
    gap_s: float | None = Field(default=None, gt=0)
    """A new trip begins after a silence longer than this (s); null never cuts."""
    stay_s: float | None = Field(default=None, gt=0)
    """Who stays this long (s) within `stay_m` has ended a trip; null never cuts."""

    def idle_fields(self) -> dict[str, str]:
        """Return the length of plane units where coordinates are degrees, too."""
        return super().idle_fields() | ({} if self.origin is not None else {"unit_m": "without an origin"})

    def fixes(self, file: Path, dropped: Dropped, *, counted: Dropped) -> Iterator[dict[str, Any]]:  # noqa: ARG002
        """Yield the points, one list after the other."""
        import pyarrow as pa

        before = 0
        for names, lists in _lists(file, total=dropped.lenient):
            count, numbers = _numbers(file, names, lists)
            x, y = (numbers[0::2], numbers[1::2]) if self.order == "lonlat" else (numbers[1::2], numbers[0::2])
            owner = np.repeat(np.arange(count.size), count)
            rank = np.arange(owner.size) - np.append(0, np.cumsum(count))[owner]
            lon, lat = self._degrees(file, x, y, total=dropped.lenient)
            name = pa.array(names, pa.string()).take(pa.array(owner))
            yield {
                "user": name,
                "trajectory": constant("0", owner.size),
                "time_s": pa.array(rank * self.step_s),
                "lon": pa.array(lon),
                "lat": pa.array(lat),
                TRACK: pa.array(before + owner),
            }
            before += count.size

    def _degrees(self, file: Path, x: np.ndarray, y: np.ndarray, *, total: bool) -> tuple[np.ndarray, np.ndarray]:
        if self.origin is None:
            if not total and x.size and np.median(np.abs(x)) > 180:
                raise DataError(
                    f"{file.name}: its coordinates are no degrees (the first is {x[0]:g},{y[0]:g}). They are plane "
                    "units: set origin=LON,LAT of the point 0,0 and, if it is not a metre, unit_m (`geodp publish "
                    "trajectories --read origin=0,0`, `geodp datasets convert --set origin=0,0`)."
                )
            return x.copy(), y.copy()
        try:
            lon, lat = (float(part) for part in self.origin.split(","))
        except ValueError:
            raise DataError(f"origin: write lon,lat in degrees, got '{self.origin}'") from None
        return Projection(lon, lat).to_lonlat(x_m=x * self.unit_m, y_m=y * self.unit_m)


def _lists(file: Path, *, total: bool) -> Iterator[tuple[list[str], list[str]]]:
    """Yield names and point lists, some at a time; with `total` (a release) lines that are neither are passed over."""
    name: str | None = None
    names: list[str] = []
    lists: list[str] = []
    with file.open(encoding="utf-8", errors="replace") as stream:
        for number, line in enumerate(stream, start=1):
            text = line.strip()
            points = text.partition(":")[2].strip().rstrip(";")
            if text.startswith("#") and text.endswith(":") and (total or name is None):
                name = text[1:-1]
            elif text.startswith(">") and ":" in text and name is not None and (not total or _is_some(points)):
                names.append(name)
                lists.append(points)
                name = None
            elif text and not total:
                raise DataError(
                    f"{file.name}: line {number} is neither '#number:' nor the '>0:x,y;x,y;…' that must follow it"
                )
            if len(lists) == _LISTS_AT_ONCE:
                yield names, lists
                names, lists = [], []
    if name is not None and not total:
        raise DataError(f"{file.name}: breaks off: trajectory '{name}' has no points. Is the file complete?")
    if names:
        yield names, lists


def _is_some(text: str) -> bool:
    return bool(text) and _is_list(text)


def _numbers(file: Path, names: list[str], lists: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of points of each list, and both coordinates of all in turn."""
    count = np.array([text.count(";") + 1 if text else 0 for text in lists], dtype=np.int64)
    joined = ";".join(text for text in lists if text)
    try:
        numbers = np.array(joined.replace(";", ",").split(","), dtype=np.float64) if joined else np.empty(0)
    except ValueError:
        numbers = np.empty(0)
    marks = re.sub("[^,;]+", "", joined)
    if numbers.size != 2 * count.sum() or marks != (",;" * int(count.sum()))[:-1]:
        bad = next((name for name, text in zip(names, lists, strict=True) if not _is_list(text)), names[0])
        raise DataError(f"{file.name}: trajectory '{bad}' is not a list of points 'x,y;x,y;…'")
    return count, numbers


def _is_list(text: str) -> bool:
    try:
        return all(len([float(part) for part in point.split(",")]) == 2 for point in text.split(";")) if text else True
    except ValueError:
        return False
