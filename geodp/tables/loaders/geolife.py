"""GeoLife trajectories: folders of `.plt` files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from geodp.errors import DataError
from geodp.tables.loaders import Dataset, Dropped
from geodp.tables.loaders.text_files import numbers, text_batches
from geodp.tables.loaders.tracks import TrackLoader, constant

_COLUMNS = ("lat", "lon", "zero", "altitude", "days", "date", "time")
_HEADER_LINES = 6
_EPOCH_DAYS = 25_569  # 1970-01-01, counted from 1899-12-30
_DAY_S = 86_400


class GeoLife(TrackLoader):
    """GeoLife GPS trajectories: one `.plt` file per recording, in a folder per person.

    Name the folder that holds everything, one person's folder, or a single file. A line is latitude, longitude, 0,
    altitude, days since 1899-12-30 (GMT), date, time; six lines of heading stand before them.

    Reference
    ---------
    Zheng, Zhang, Xie, Ma 2009, Mining interesting locations and travel sequences from GPS trajectories, WWW.
    """

    kind: ClassVar[str] = "geolife"
    files: ClassVar[str] = "*.plt, geolife*"
    track_files: ClassVar[str | None] = "*.plt"
    datasets: ClassVar[tuple[Dataset, ...]] = (
        Dataset(
            "geolife",
            "GPS tracks of 182 people, mostly in Beijing, April 2007 to August 2012, every 1 to 5 seconds",
            "Microsoft Research: Geolife Trajectories 1.3.zip; name the unpacked folder",
            "24,876,978 points, 17,621 trajectories, 182 users",
        ),
    )

    def fixes(self, file: Path, dropped: Dropped, *, counted: Dropped) -> Iterator[dict[str, Any]]:  # noqa: ARG002
        """Yield the fixes of a recording."""
        import pyarrow.compute as pc

        _require_heading(file)
        folder = file.parent.parent if file.parent.name.lower() == "trajectory" else file.parent
        for batch in text_batches(file, _COLUMNS, dropped, delimiter=",", skip_lines=_HEADER_LINES):
            since = pc.multiply(pc.subtract(numbers(batch.column("days")), float(_EPOCH_DAYS)), float(_DAY_S))
            yield {
                "user": constant(folder.name, batch.num_rows),
                "trajectory": constant(file.stem, batch.num_rows),
                "time_s": pc.round(since),  # days have ten decimals: the second is exact
                "lon": numbers(batch.column("lon")),
                "lat": numbers(batch.column("lat")),
            }


def _require_heading(file: Path) -> None:
    with file.open("rb") as stream:
        heading = [stream.readline() for _ in range(_HEADER_LINES)]
    if not heading[0].strip().lower().startswith(b"geolife"):
        raise DataError(f"{file}: is not a GeoLife file: its first line is not 'Geolife trajectory'")
