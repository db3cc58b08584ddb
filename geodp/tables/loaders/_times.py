"""Times of visits and fixes: read as people write them, and what had to be assumed is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geodp.tables.loaders import Dropped
from geodp.tables.time_columns import read_time_column

if TYPE_CHECKING:
    import pyarrow as pa


def zoned_seconds(column: Any, zone: str, dropped: Dropped) -> pa.Array:
    """Return seconds since 1970 (UTC); NaN where a cell holds no time.

    Dates that state no time zone are taken as of `zone`, and counted; seconds are taken as they are.
    """
    import pyarrow as pa

    times = read_time_column(column, zone)
    if times.local:
        dropped.note(f"no time zone stated: taken as {zone}", times.local)
    for unit, count in times.finer.items():
        dropped.note(f"times too large for seconds: taken as {unit} since 1970", count)
    return pa.array(times.seconds)
