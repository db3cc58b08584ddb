"""Times as people write them: seconds, milliseconds, timestamps, or dates as text, with a time zone or without.

Every cell is read by itself: what one row holds never changes how another is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.tables.total_rows import as_numbers

_FINER = ((1e9, "nanoseconds"), (1e6, "microseconds"), (1e3, "milliseconds"))
_FROM_S, _TO_S = 6.3e8, 4.1e9
"""A number that is no time in seconds, and one of the years 1990 to 2099 in a finer unit, is meant in that unit."""
_EPOCH_S = 6e8
"""Times that lie beyond this (1989) count from 1970, not from the start of a run: no run lasts 19 years."""
DAY_S = 86_400.0


@dataclass(frozen=True)
class Times:
    """A column of times."""

    seconds: Array
    """Seconds since 1970 (UTC) of dates, and numbers in seconds as they are; NaN where a cell holds no time."""
    dated: bool = False
    """Whether some of them are dates."""
    local: int = 0
    """How many dates state no time zone."""
    finer: Mapping[str, int] = field(default_factory=dict)
    """Units finer than a second, with how many numbers are given in each."""


def read_time_column(column: Any, zone: str = "UTC") -> Times:
    """Read a column (pyarrow) of numbers, timestamps or text; dates that state no time zone are taken as of `zone`."""
    import pyarrow as pa

    known = pa.types
    if known.is_timestamp(column.type) or known.is_date(column.type):
        return _timestamps(column, zone)
    if known.is_time(column.type) or known.is_duration(column.type):
        unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
        whole = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())
        return Times(_floats(whole) / unit)
    if not (known.is_string(column.type) or known.is_large_string(column.type)):
        return _in_seconds(_floats(column))
    return _words(column, zone)


def wall_clock(seconds: Array, zone: str) -> Array:
    """Return what the clocks of a zone show at moments in seconds since 1970 (UTC), as seconds of that clock."""
    if zone == "UTC":
        return seconds
    _zone(zone)
    import pandas as pd

    moments = pd.to_datetime(pd.Series(seconds), unit="s", utc=True, errors="coerce").dt.tz_convert(zone)
    return np.asarray((moments.dt.tz_localize(None) - pd.Timestamp(0)).dt.total_seconds(), dtype=np.float64)


def counts_from_1970(times: Array) -> bool:
    """Tell whether most numbers are seconds since 1970 rather than since the start of a run."""
    return bool(times.size) and float(np.median(times)) > _EPOCH_S


def midnight_of(day: date) -> float:
    """Return the beginning of a day in seconds since 1970 on the same clock."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def day_of(midnight_s: float) -> str:
    """Name the day that begins at a midnight."""
    return f"{datetime.fromtimestamp(midnight_s, UTC):%Y-%m-%d}" if _common(midnight_s) else f"{midnight_s:g} s"


def usual_midnight(first_s: Array) -> float:
    """Return the beginning of the day on which half of them have begun: a single absurd time hardly moves it."""
    days = np.sort(np.floor(first_s / DAY_S))
    return float(days[(days.size - 1) // 2] * DAY_S)


def _timestamps(column: Any, zone: str) -> Times:
    import pyarrow as pa

    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
    seconds = _floats(column.cast(pa.int64())) / unit
    local = 0 if column.type.tz is not None else len(column) - column.null_count
    if local and zone != "UTC":
        seconds = np.array([_moment(datetime.fromtimestamp(s, UTC).replace(tzinfo=None), zone) if _common(s) else np.nan
                            for s in seconds])  # fmt: skip
    return Times(seconds, dated=True, local=local)


def _words(column: Any, zone: str) -> Times:
    """Read text cell by cell: a number is a number, whatever stands in the other rows."""
    import pyarrow as pa

    numbers = _in_seconds(_floats(as_numbers(column)))
    seconds, rest = numbers.seconds, np.flatnonzero(np.isnan(numbers.seconds))
    coded = column.take(pa.array(rest)).dictionary_encode()
    moments = [_parse_time(text) for text in coded.dictionary.to_pylist()]
    index = np.asarray(coded.indices.fill_null(len(moments)), dtype=np.int64)
    seconds[rest] = np.array([*(_moment(moment, zone) for moment in moments), np.nan])[index]
    local = np.array([*(moment is not None and moment.tzinfo is None for moment in moments), False])
    dated = any(moment is not None for moment in moments)
    return Times(seconds, dated=dated, local=int(np.count_nonzero(local[index])), finer=numbers.finer)


def _parse_time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat((text or "").strip())
    except ValueError:
        return None


def _moment(moment: datetime | None, zone: str) -> float:
    """Return seconds since 1970; NaN for no moment, and for an hour that the clock of the zone skips or repeats."""
    if moment is None:
        return float("nan")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC if zone == "UTC" else _zone(zone))
        if zone != "UTC" and moment.utcoffset() != moment.replace(fold=1).utcoffset():
            return float("nan")
    return moment.timestamp()


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(f"time_zone: no zone called '{name}' ({error})") from None


def _common(seconds: float) -> bool:
    return bool(np.isfinite(seconds)) and -6.2e10 < seconds < 2.5e11  # the years 5 to 9892


def _in_seconds(numbers: Array) -> Times:
    """Return numbers in seconds, those that are too large for it by what they must be instead."""
    seconds, finer = numbers.copy(), {}
    left: npt.NDArray[np.bool_] = np.isfinite(numbers)
    for unit, name in _FINER:
        large = left & (numbers >= _FROM_S * unit) & (numbers < _TO_S * unit)
        if large.any():
            seconds[large], left = numbers[large] / unit, left & ~large
            finer[name] = int(np.count_nonzero(large))
    return Times(seconds, finer=finer)


def _floats(column: Any) -> Array:
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
