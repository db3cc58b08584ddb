"""Cabspotting: San Francisco cabs, one text file each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from geodp.errors import DataError
from geodp.tables.loaders import Dataset, Dropped
from geodp.tables.loaders.text_files import numbers, text_batches, words
from geodp.tables.loaders.tracks import TrackLoader, constant

_COLUMNS = ("lat", "lon", "occupied", "time")
_EMPTY_CAB = "the cab is empty: not part of a fare"


class Cabspotting(TrackLoader):
    """Cabspotting: lines of latitude, longitude, occupied (0 or 1) and Unix time, newest first; a file per cab.

    Name the folder or a single file. A trip ends where a fare gets in or out, and at silences and stays.

    Reference
    ---------
    Piorkowski, Sarafijanovic-Djukic, Grossglauser 2009, A parsimonious model of mobile partitioned networks with
    clustering, COMSNETS.
    """

    kind: ClassVar[str] = "cabspotting"
    files: ClassVar[str] = "new_*.txt, cabspottingdata*"
    track_files: ClassVar[str | None] = "new_*.txt"
    datasets: ClassVar[tuple[Dataset, ...]] = (
        Dataset(
            "cabspotting",
            "cabs in San Francisco, May to June 2008, about every minute, with whether a fare is in the cab",
            "CRAWDAD epfl/mobility: cabspottingdata.tar.gz; name the unpacked folder",
            "11,219,955 points, 536 cabs",
        ),
    )

    trips: Literal["all", "fares"] = "all"
    """Which trips count: all, or those with a fare in the cab."""

    def fixes(self, file: Path, dropped: Dropped, *, counted: Dropped) -> Iterator[dict[str, Any]]:
        """Yield the fixes of a cab, ride by ride."""
        import pyarrow as pa
        import pyarrow.compute as pc

        cab, run, last = file.stem.removeprefix("new_"), 0, -1
        for batch in text_batches(file, _COLUMNS, dropped, delimiter=" "):
            state = np.asarray(pc.fill_null(pc.index_in(words(batch.column("occupied")), pa.array(["0", "1"])), -1))
            if (state < 0).any():
                if not dropped.lenient:
                    raise DataError(
                        f"{file.name}: is not a Cabspotting file: the third column of a line must be 0 or 1"
                    )
                batch, state = batch.filter(pa.array(state >= 0)), state[state >= 0]  # noqa: PLW2901
            if not state.size:
                continue
            fare = np.cumsum(np.diff(state, prepend=last) != 0) + run  # a number per ride, with a fare or without
            run, last = int(fare[-1]), int(state[-1])
            columns = {
                "user": constant(cab, batch.num_rows),
                "trajectory": pc.binary_join_element_wise(cab, pa.array(fare.astype(str), pa.string()), "-"),
                "time_s": numbers(batch.column("time")),
                "lon": numbers(batch.column("lon")),
                "lat": numbers(batch.column("lat")),
            }
            if self.trips == "fares":
                with_fare = pa.array(state == 1)
                without = int(np.count_nonzero(state == 0))
                counted.rows += without  # not `dropped`: a choice of rows says nothing against the file
                counted.drop(_EMPTY_CAB, without)
                columns = {name: column.filter(with_fare) for name, column in columns.items()}
            yield columns
