"""Porto taxi trips: one csv with a polyline per trip."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.errors import DataError
from geodp.tables.formats import column_names
from geodp.tables.loaders import Dataset, Dropped
from geodp.tables.loaders.text_files import require_file
from geodp.tables.loaders.tracks import TRACK, TrackLoader, each_file
from geodp.tables.reader import read_batches

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = {"TRIP_ID": "trajectory", "TAXI_ID": "user", "TIMESTAMP": "time_s", "POLYLINE": "lon and lat"}
_EVERY_S = 15.0
_MISSING = "trips whose polyline is marked as incomplete (MISSING_DATA)"
_PAIR = r"\s*\[\s*-?[0-9]{1,3}(\.[0-9]{1,30})?\s*,\s*-?[0-9]{1,3}(\.[0-9]{1,30})?\s*\]\s*"
_NUMBERS_ONLY = rf"^\s*\[({_PAIR}(,{_PAIR})*)?\]\s*$"
_POLYLINE = r"^\s*\[(\s*\[[^\[\],]*,[^\[\],]*\]\s*,?)*\s*\]\s*$"


class PortoTaxi(TrackLoader):
    """Porto taxi trips of the ECML/PKDD 2015 challenge: `train.csv` with a POLYLINE of fixes every 15 seconds.

    Trips that the data mark as incomplete (MISSING_DATA) are kept and counted; where fixes are missing, the times of
    the later ones are too early. They are trips already: silences and stays do not cut them.

    Reference
    ---------
    Moreira-Matias, Gama, Ferreira, Mendes-Moreira, Damas 2013, Predicting taxi-passenger demand using streaming data,
    IEEE Transactions on Intelligent Transportation Systems 14.
    """

    kind: ClassVar[str] = "porto_taxi"
    files: ClassVar[str] = "train.csv, train.csv.gz, test.csv, test.csv.gz"
    told_by: ClassVar[frozenset[str]] = frozenset({"TAXI_ID", "POLYLINE"})
    datasets: ClassVar[tuple[Dataset, ...]] = (
        Dataset(
            "porto_taxi",
            "a year of taxi trips in Porto, July 2013 to June 2014, every 15 seconds",
            "UCI machine learning repository: Taxi Service Trajectory, ECML/PKDD 2015: train.csv",
            "1,710,670 trips, 442 taxis",
        ),
    )

    gap_s: float | None = Field(default=None, gt=0)
    """A new trip begins after a silence longer than this (s); null never cuts."""
    stay_s: float | None = Field(default=None, gt=0)
    """Who stays this long (s) within `stay_m` has ended a trip; null never cuts."""

    def rows(self, path: Path, dropped: Dropped) -> Iterator[pa.RecordBatch]:
        """Yield the fixes, one trip after the other."""
        require_file(path)
        found = column_names(path)
        missing = [name for name in _COLUMNS if name not in found]
        if missing:
            raise DataError(f"{path.name}: no column '{missing[0]}': is it the train.csv of the Porto taxi data?")
        more = ["MISSING_DATA"] if "MISSING_DATA" in found else []
        return each_file([path], dropped, partial(_fixes, more=more), partial(self.checker, whole=True))


def _fixes(file: Path, dropped: Dropped, *, more: list[str]) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    before = 0
    words = ["TRIP_ID", "TAXI_ID", "POLYLINE", *more]
    for batch in read_batches(file, ["TIMESTAMP"], words, total=dropped.lenient):
        count, numbers = _polylines(file, batch["POLYLINE"], total=dropped.lenient)
        if more:
            marked = pc.equal(pc.utf8_lower(batch["MISSING_DATA"].cast(pa.string())), "true")
            dropped.note(_MISSING, pc.sum(marked).as_py() or 0)
        first = np.append(0, np.cumsum(count))
        owner = np.repeat(np.arange(count.size), count)
        rank = np.arange(first[-1]) - first[:-1][owner]
        yield {
            "user": batch["TAXI_ID"].cast(pa.string()).take(pa.array(owner)),
            "trajectory": batch["TRIP_ID"].cast(pa.string()).take(pa.array(owner)),
            "time_s": pa.array(batch["TIMESTAMP"][owner] + rank * _EVERY_S),
            "lon": pa.array(numbers[0::2].copy()),
            "lat": pa.array(numbers[1::2].copy()),
            TRACK: pa.array(before + owner),  # some trips of a taxi share their name
        }
        before += count.size


def _polylines(file: Path, column: Any, *, total: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of fixes of each polyline, and longitude and latitude of all in turn.

    With `total` a polyline that is none has no fixes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.fill_null(column.cast(pa.string()), "[]")
    if total:
        text = pc.if_else(pc.match_substring_regex(text, _NUMBERS_ONLY), text, "[]")
    elif not pc.all(pc.match_substring_regex(text, _POLYLINE)).as_py():
        raise DataError(f"{file.name}: a POLYLINE is not of the form [[lon,lat],[lon,lat],…]")
    count = np.maximum(np.asarray(pc.count_substring(text, "[")) - 1, 0).astype(np.int64)
    bare = pc.replace_substring_regex(text, r"[\[\]\s]", "")
    joined = ",".join(part for part in bare.to_pylist() if part)
    try:
        numbers = np.array(joined.split(","), dtype=np.float64) if joined else np.empty(0)
    except ValueError:
        raise DataError(f"{file.name}: a POLYLINE holds something that is no number") from None
    return count, numbers
