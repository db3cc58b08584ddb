"""GPX files as tables: a row per point of their tracks and routes, or per waypoint where there are no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from geodp.errors import DataError
from geodp.storage.gpx import ROUTE, WAYPOINT, GpxPoint, read_gpx
from geodp.tables import total_rows
from geodp.tables.notices import notice

LINES = ("user", "trajectory", "time_s", "lon", "lat")
"""Columns of a file with tracks or routes; whose they are is told by its name: a file is one person's."""
WAYPOINTS = ("user", "venue", "time_s", "lon", "lat")
"""Columns of a file with waypoints alone: places by their names."""


def list_gpx_columns(path: Path) -> tuple[str, ...]:
    """Return the columns of a GPX file."""
    state = path.stat()
    return _columns(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=8)  # a scenario asks several times
def _columns(path: Path, size: int, changed_ns: int) -> tuple[str, ...]:  # noqa: ARG001 - they tell states apart
    any_point = False
    for points in read_gpx(path):
        any_point = True
        if any(point.kind != WAYPOINT for point in points):
            return LINES
    if not any_point:
        raise DataError(f"{path.name}: holds no track, no route and no waypoint.")
    return WAYPOINTS


def gpx_batches(path: Path, columns: Sequence[str], *, total: bool = False) -> Iterator[Any]:
    """Yield columns of a GPX file batch by batch; times are dates as text.

    With `total` the first batch is empty, and a file that breaks off is an error that quotes nothing of it.
    """
    listed = list_gpx_columns(path)
    if total:
        yield _batch([], columns, path.stem)
    left = 0
    try:
        for points in read_gpx(path):
            rows = points if listed == WAYPOINTS else [point for point in points if point.kind != WAYPOINT]
            left += len(points) - len(rows)
            yield _batch(rows, columns, path.stem)
    except DataError:
        if total:
            raise total_rows.unreadable(path) from None
        raise
    if left and not total:
        notice(f"{path.name}: {left:,} waypoints beside its tracks and routes are not read.")


def name_line(point: GpxPoint) -> str:
    """Name the line that a point is part of: `1.2` is the second segment of the first track."""
    return f"route {point.path}" if point.kind == ROUTE else point.path


def _batch(rows: list[GpxPoint], columns: Sequence[str], user: str) -> Any:
    import pyarrow as pa

    made = {
        "user": lambda: pa.array([user] * len(rows), pa.string()),
        "trajectory": lambda: pa.array([name_line(point) for point in rows], pa.string()),
        "venue": lambda: pa.array([point.name for point in rows], pa.string()),
        "time_s": lambda: pa.array([point.time for point in rows], pa.string()),
        "lon": lambda: pa.array([point.lon for point in rows], pa.float64()),
        "lat": lambda: pa.array([point.lat for point in rows], pa.float64()),
    }
    return pa.record_batch([made[name]() for name in columns], list(columns))


def count_gpx_rows(path: Path) -> float:
    """Count the points of a file."""
    return float(sum(map(len, chain(read_gpx(path)))))
