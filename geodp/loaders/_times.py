"""Times as people write them: seconds, timestamps, or dates as text, with a time zone or without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.loaders import Dropped
from geodp.loaders._text_files import numbers

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_TOO_FINE = r"(\.[0-9]{6})[0-9]+"
_ZONE = r"(Z|[+-][0-9]{2}:?[0-9]{2})\s*$"


def zoned_seconds(column: pa.Array, zone: str, dropped: Dropped) -> pa.Array:
    """Return seconds since 1970 (UTC); NaN or null where a cell holds no time.

    Dates that state no time zone are taken as of `zone`, and counted; seconds are taken as they are.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_temporal(column.type):
        moments = column.to_pandas()
        return pa.array(_utc(moments) if moments.dt.tz is not None else _local(moments, zone, dropped))
    if not pa.types.is_string(column.type):
        return column.cast(pa.float64(), safe=False)
    plain = np.asarray(numbers(column).to_numpy(zero_copy_only=False), dtype=np.float64)
    if np.isfinite(plain).all():  # numbers written as text, as in csv
        return pa.array(plain)
    # Finer digits of one time would make all of them nanoseconds, in which years beyond 2262 are no times.
    text = pd.Series(pc.replace_substring_regex(column, _TOO_FINE, r"\1").to_pylist(), dtype=object)
    stated = np.asarray(pc.fill_null(pc.match_substring_regex(column, _ZONE), False))
    seconds = np.full(len(text), np.nan)
    seconds[stated] = _utc(pd.to_datetime(text[stated], format="ISO8601", utc=True, errors="coerce"))
    seconds[~stated] = _local(pd.to_datetime(text[~stated], format="ISO8601", errors="coerce"), zone, dropped)
    return pa.array(np.where(np.isfinite(plain), plain, seconds))  # every cell by itself: no row decides for another


def _utc(moments: pd.Series) -> Array:
    import pandas as pd

    return np.asarray((moments - pd.Timestamp(0, tz="UTC")).dt.total_seconds(), dtype=np.float64)


def _local(moments: pd.Series, zone: str, dropped: Dropped) -> Array:
    """Return seconds of dates on the clock of a zone; hours that the clock skips or repeats are no times."""
    assumed = int(moments.notna().sum())
    if not assumed:
        return np.full(len(moments), np.nan)
    dropped.note(f"no time zone stated: taken as {zone}", assumed)
    try:
        return _utc(moments.dt.tz_localize(zone, ambiguous="NaT", nonexistent="NaT").dt.tz_convert("UTC"))
    except (KeyError, ValueError) as error:
        raise UsageError(f"time_zone: no zone called '{zone}' ({error})") from None
