"""GPX files of GPS receivers: their tracks, routes and waypoints, point by point, in bounded memory.

The parser of the standard library reads them as a stream. Declarations of entities, by which a small file could grow
without bounds, are refused: no GPX file has any.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from geodp.errors import DataError

ENDING = ".gpx"
WAYPOINT, ROUTE, TRACK = "waypoint", "route", "track"
_POINTS = {"wpt": WAYPOINT, "rtept": ROUTE, "trkpt": TRACK}
_TEXTS = ("name", "time")
_READ_BYTES = 1 << 18
_DEEPEST = 100
_LONGEST_TEXT = 1000


class GpxPoint(NamedTuple):
    """A point of a GPX file."""

    kind: str
    """`waypoint`, `route` or `track`."""
    path: str
    """Which line it is part of: number of the route, or of track and segment (`1.2`); a waypoint is part of none."""
    name: str | None
    time: str | None
    """The moment, as it is written."""
    lon: float
    """Degrees; NaN where the file states no number."""
    lat: float


def is_gpx(path: Path) -> bool:
    """Tell by its name whether a file is GPX."""
    return path.name.lower().endswith(ENDING)


def read_gpx(path: Path) -> Iterator[list[GpxPoint]]:
    """Yield the points of a file in their order, some at a time.

    Parameters
    ----------
    path
        The file.

    Yields
    ------
    list of GpxPoint
        Points that were read together; never an empty list.

    Raises
    ------
    DataError
        If it cannot be read, or is no GPX.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from geodp.storage.gpx import read_gpx
    >>> file = Path(tempfile.mkdtemp(), "cafes.gpx")
    >>> _ = file.write_text('<gpx><wpt lon="8.5" lat="47.4"><name>Cafe</name></wpt></gpx>')
    >>> [(point.name, point.lon) for points in read_gpx(file) for point in points]
    [('Cafe', 8.5)]
    """
    reading = _GpxReading()
    try:
        with path.open("rb") as stream:
            while block := stream.read(_READ_BYTES):
                reading.parser.Parse(block, False)
                if points := reading.take_points():
                    yield points
            reading.parser.Parse(b"", True)
    except (expat.ExpatError, _NotGpx) as error:
        raise DataError(f"{path.name}: cannot be read as GPX ({error})") from error
    except OSError as error:
        raise DataError(f"{path.name}: cannot be read ({error.strerror or error})") from error


class _NotGpx(Exception):
    """Something that no GPX file has."""


class _GpxReading:
    """A file being read: where it is, and the points that are complete."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._hear
        self.parser.StartDoctypeDeclHandler = self._refuse
        self._points: list[GpxPoint] = []
        self._open: list[str] = []
        self._tracks = self._segments = self._routes = 0
        self._place = (float("nan"), float("nan"))
        self._texts: dict[str, str] = {}

    def take_points(self) -> list[GpxPoint]:
        """Return the points that were completed since the last call."""
        points, self._points = self._points, []
        return points

    def _refuse(self, *_: object) -> None:
        raise _NotGpx("it declares a document type")

    def _start(self, called: str, attributes: dict[str, str]) -> None:
        name = called.rpartition(" ")[2]
        if not self._open and name != "gpx":
            raise _NotGpx(f"its outermost element is '{name[:40]}', not 'gpx'")
        if len(self._open) >= _DEEPEST:
            raise _NotGpx("its elements lie too deep in one another")
        self._open.append(name)
        if name in _POINTS:
            self._place = _number(attributes.get("lon")), _number(attributes.get("lat"))
            self._texts = {}
        elif name == "trk":
            self._tracks, self._segments = self._tracks + 1, 0
        elif name == "trkseg":
            self._segments += 1
        elif name == "rte":
            self._routes += 1

    def _hear(self, text: str) -> None:
        if len(self._open) > 1 and self._open[-1] in _TEXTS and self._open[-2] in _POINTS:
            self._texts[self._open[-1]] = (self._texts.get(self._open[-1], "") + text)[:_LONGEST_TEXT]

    def _end(self, _called: str) -> None:
        kind = _POINTS.get(self._open.pop())
        if kind is None:
            return
        texts = {key: text.strip() or None for key, text in self._texts.items()}
        path = {TRACK: f"{self._tracks}.{self._segments}", ROUTE: f"{self._routes}"}.get(kind, "")
        self._points.append(GpxPoint(kind, path, texts.get("name"), texts.get("time"), *self._place))
        self._texts = {}


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
