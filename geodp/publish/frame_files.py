"""Frames of a caller as files that the commands read: private ones with the columns that are used, public ones whole.

Every cell is written by itself, so that no row of a private frame changes what becomes of another's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.errors import UsageError
from geodp.frames.places import as_frame, read_degrees, read_numbers, require_column, write_names
from geodp.tables.usual_columns import candidates

if TYPE_CHECKING:
    import pandas as pd

PRIVATE = "geodp-frame-of-data.parquet"
_PUBLIC = ("venues", "users", "personal_levels", "areas")
_NUMBERS = frozenset({"lon", "lat"})
_NAMES = frozenset({"user", "venue", "trajectory"})


def name_public(what: str) -> str:
    """Return the name of the file of a public frame."""
    return f"geodp-frame-of-{what}.parquet"


FRAME_NAMES = ((PRIVATE, "the data"), *((name_public(what), what) for what in _PUBLIC))
"""Names of files that the caller never sees, each with what messages call it instead."""


def same_frame(one: Any, other: Any) -> bool:
    """Tell whether two frames are one, or copies."""
    import pandas as pd

    if not (isinstance(one, pd.DataFrame) and isinstance(other, pd.DataFrame)):
        return one is other
    return one is other or (list(one.columns) == list(other.columns) and bool(one.equals(other)))


def write_private_frame(
    data: Any, folder: Path, parts: Sequence[str], named: Mapping[str, str], *, releasing: bool
) -> Path:
    """Write the columns of a private frame that a publication may use.

    Parameters
    ----------
    data
        A DataFrame, or a GeoDataFrame whose points take the place of columns lon and lat.
    folder
        Where to: a folder that is the caller's alone.
    parts
        What the publication uses: user, lon, lat, venue, …
    named
        What columns are called, where the caller says so.
    releasing
        Whether cells that cannot be used are left empty without a word.

    Returns
    -------
    pathlib.Path
        The file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    frame = as_frame(data)
    for part, column in named.items():
        require_column(frame, column, f"columns={{{part!r}: {column!r}}}")
    placed = {"lon", "lat"} <= set(parts) and not {"lon", "lat"} & set(named) and hasattr(frame, "to_crs")
    columns: dict[str, Any] = {}
    if placed:
        lon, lat = read_degrees(frame, total=releasing)
        columns |= {"lon": pa.array(lon, from_pandas=True), "lat": pa.array(lat, from_pandas=True)}
    found = [name for name in frame.columns if isinstance(name, str)]
    for part in parts:
        if placed and part in _NUMBERS:
            continue
        for name in [named[part]] if part in named else candidates(part, found):
            if name not in columns:
                columns[name] = _write_column(frame[name], part, total=releasing)
    if not columns:
        raise UsageError(f"the data: none of the columns {', '.join(parts)}. Found: {', '.join(found) or 'none'}.")
    path = folder / PRIVATE
    pq.write_table(pa.table(columns), path)
    path.chmod(0o600)
    return path


def _write_column(cells: pd.Series, part: str, *, total: bool) -> Any:
    """Return a column as pyarrow has it; of mixed cells each is written by itself."""
    import pandas as pd
    import pyarrow as pa

    if part in _NAMES:
        if pd.api.types.is_integer_dtype(cells.dtype) or isinstance(cells.dtype, pd.StringDtype):
            return pa.Array.from_pandas(cells.astype("string"))
        words, known = write_names(cells)
        return pa.array(words, pa.string(), mask=~known)
    if part in _NUMBERS:
        found = read_numbers(cells)
        if total or not (np.isnan(found) & cells.notna().to_numpy()).any():
            return pa.array(found, from_pandas=True)
    elif cells.dtype != object:
        return pa.Array.from_pandas(cells)
    words, known = write_names(cells)
    return pa.array(words, pa.string(), mask=~known)


def write_public_frame(data: Any, folder: Path, what: str) -> Path:
    """Write a public frame whole, with points as lon and lat, so that the commands read it as they read a file.

    Parameters
    ----------
    data
        A DataFrame, or a GeoDataFrame of points.
    folder
        Where to.
    what
        What it is: `venues`, `users`, `personal_levels`.

    Returns
    -------
    pathlib.Path
        The file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    frame = as_frame(data, what)
    if hasattr(frame, "to_crs"):
        places = dict(zip(("lon", "lat"), read_degrees(frame, total=False, what=what), strict=True))
        frame = frame.drop(columns=frame.active_geometry_name).assign(**places)
    columns = {str(name): _write_public(frame[name]) for name in frame.columns}
    path = folder / name_public(what)
    pq.write_table(pa.table(columns), path)
    return path


def _write_public(cells: pd.Series) -> Any:
    import pyarrow as pa

    if cells.dtype != object:
        return pa.Array.from_pandas(cells)
    words, known = write_names(cells)
    return pa.array(words, pa.string(), mask=~known)
