"""T-Drive taxi trajectories: text files, one per taxi."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from geodp.tables.loaders import TRAJECTORIES, Dataset, Dropped
from geodp.tables.loaders.text_files import numbers, seconds, text_batches, words
from geodp.tables.loaders.tracks import TrackLoader

_COLUMNS = ("taxi", "time", "lon", "lat")


class TDrive(TrackLoader):
    """T-Drive taxi trajectories: lines of taxi, date and time, longitude, latitude; a file per taxi.

    Name a folder or a single file. The published times state no zone and are taken as they stand. A taxi's week is
    one track, cut into trips at silences and stays.

    Reference
    ---------
    Yuan, Zheng, Zhang, Xie, Xie, Sun, Huang 2010, T-Drive: driving directions based on taxi trajectories, GIS.
    """

    kind: ClassVar[str] = "tdrive"
    files: ClassVar[str] = "taxi_log_2008_by_id*, t-drive*"
    track_files: ClassVar[str | None] = "*.txt"
    datasets: ClassVar[tuple[Dataset, ...]] = (
        Dataset(
            "tdrive",
            "a week of taxis in Beijing, February 2008, every 3 minutes on average",
            "Microsoft Research: T-Drive trajectory data sample; name the folder taxi_log_2008_by_id",
            "about 15 million points, 10,357 taxis",
        ),
    )

    def fixes(self, file: Path, dropped: Dropped, *, counted: Dropped) -> Iterator[dict[str, Any]]:  # noqa: ARG002
        """Yield the fixes of a file taxi by taxi: where several share a file, their lines may stand in any order."""
        import pyarrow as pa

        parts = [pa.table(part) for part in _lines(file, dropped)]
        if not parts:
            return
        lines = pa.concat_tables(parts).combine_chunks()
        code = np.asarray(lines.column("user").combine_chunks().dictionary_encode().indices.fill_null(-1))
        if (np.diff(code) < 0).any():
            lines = lines.take(pa.array(np.argsort(code, kind="stable")))
        for batch in lines.to_batches():
            yield {name: batch.column(name) for name in TRAJECTORIES}


def _lines(file: Path, dropped: Dropped) -> Iterator[dict[str, Any]]:
    for batch in text_batches(file, _COLUMNS, dropped, delimiter=","):
        taxi = words(batch.column("taxi"))
        yield {
            "user": taxi,
            "trajectory": taxi,
            "time_s": seconds(batch.column("time"), "%Y-%m-%d %H:%M:%S"),
            "lon": numbers(batch.column("lon")),
            "lat": numbers(batch.column("lat")),
        }
