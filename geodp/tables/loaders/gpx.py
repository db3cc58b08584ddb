"""Tracks of GPS receivers: GPX files, one or a folder of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from geodp.storage.gpx import WAYPOINT, read_gpx
from geodp.tables.gpx_tables import name_line
from geodp.tables.loaders import Dropped
from geodp.tables.loaders.tracks import TrackLoader, constant
from geodp.tables.time_columns import read_time_column

_WAYPOINTS = "waypoints, which are part of no track"


class Gpx(TrackLoader):
    """Tracks and routes of GPX files: a file, or a folder of them.

    A file is one person's (`person: file`), or a folder is. Segments of a track are trajectories of their own.
    """

    kind: ClassVar[str] = "gpx"
    files: ClassVar[str] = "*.gpx"
    track_files: ClassVar[str | None] = "*.gpx"

    person: Literal["file", "folder"] = "file"
    """Whose a track is: a person has a file, or a folder."""
    time_zone: str = "UTC"
    """Zone of times that state none, e.g. Asia/Shanghai; by the standard they end in Z."""

    def fixes(self, file: Path, dropped: Dropped, *, counted: Dropped) -> Iterator[dict[str, Any]]:  # noqa: ARG002
        """Yield the points of tracks and routes."""
        import pyarrow as pa

        user = file.stem if self.person == "file" else file.resolve().parent.name
        for points in read_gpx(file):
            rows = [point for point in points if point.kind != WAYPOINT]
            counted.note(_WAYPOINTS, len(points) - len(rows))
            names = [name_line(point) for point in rows]
            times = read_time_column(pa.array([point.time for point in rows], pa.string()), self.time_zone)
            yield {
                "user": constant(user, len(rows)),
                "trajectory": pa.array([f"{file.stem} {name}" for name in names], pa.string()),
                "time_s": pa.array(times.seconds, from_pandas=True),
                "lon": pa.array(np.array([point.lon for point in rows], dtype=np.float64), from_pandas=True),
                "lat": pa.array(np.array([point.lat for point in rows], dtype=np.float64), from_pandas=True),
            }
