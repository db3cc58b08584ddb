"""The public list of venues as a file: venue, lon, lat, columns of the hierarchy with any names, category."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from geodp.errors import DataError
from geodp.visits.histories import Names, Venues
from geodp.world import columns_file

_NOT_LEVELS = {"venue", "lon", "lat", "category", "name", "venue_id", "category_id"}


def read_venues(path: Path, levels: Sequence[str] | None = None, finest: str | None = None) -> Venues:
    """Read a venue list (csv or Parquet).

    Parameters
    ----------
    path
        The file: columns venue, lon, lat; optionally category and the columns of the hierarchy.
    levels
        Columns of the hierarchy, coarsest first. Default: `finest` and every column that it is nested in.
    finest
        The finest level to use. Default: the column with the most units.
    """
    found = columns_file.column_names(path)
    columns_file.require_columns(path, {f"{name} of the venue list": name for name in ("venue", "lon", "lat")}, found)
    wanted = [name for name in found if name not in _NOT_LEVELS] if levels is None else list(levels)
    if finest is not None and finest not in wanted:
        wanted.append(finest)
    columns_file.require_columns(path, {f"level {name}": name for name in wanted}, found)
    more = ["category"] if "category" in found else []
    parts = list(columns_file.batches(path, ["lon", "lat"], ["venue", *wanted, *more]))
    if not parts:
        raise DataError(f"{path.name}: has column names but no venues")
    text = {name: _words(parts, name) for name in ["venue", *wanted, *more]}
    lon, lat = (np.concatenate([part[name] for part in parts]) for name in ("lon", "lat"))
    if any(value in ("", None) for value in text["venue"]):
        raise DataError(f"{path.name}: some venues have no name")
    chain = wanted if levels is not None else nested_columns({name: text[name] for name in wanted}, finest)
    _look_swapped(path, lon, lat)
    return Venues(text["venue"], lon, lat, {name: text[name] for name in chain}, text.get("category"))


def nested_columns(columns: dict[str, Names], finest: str | None) -> list[str]:
    """Return the columns that hold the finest one nested in them, coarsest first, and it."""
    units = {name: len(set(values.tolist())) for name, values in columns.items()}
    if finest is None:
        complete = [name for name, values in columns.items() if units[name] < len(values) and None not in values]
        finest = max(complete, key=lambda name: units[name], default=None)
    if finest is None or finest not in columns:
        return []
    coarser = [name for name in columns if name != finest and units[name] < units[finest]]
    nested = [
        name
        for name in coarser
        if len(set(zip(columns[finest].tolist(), columns[name].tolist(), strict=True))) == units[finest]
    ]
    return [*sorted(nested, key=lambda name: units[name]), finest]


def _words(parts: list[dict[str, object]], name: str) -> Names:
    """Return a column as words (None where there is none)."""
    import pyarrow as pa

    column = pa.chunked_array([pa.array(part[name]).cast(pa.string()) for part in parts])
    return np.array([value if value != "" else None for value in column.to_pylist()], dtype=np.object_)


def _look_swapped(path: Path, lon: np.ndarray, lat: np.ndarray) -> None:
    if np.isnan(lon).any() or np.isnan(lat).any():
        raise DataError(f"{path.name}: some venues have no place (lon, lat)")
    if (np.abs(lat) > 90).any() and not (np.abs(lon) > 90).any():
        raise DataError(
            f"{path.name}: {np.count_nonzero(np.abs(lat) > 90):,} latitudes lie beyond ±90 and no longitude does: lat "
            "and lon seem to be swapped. Swap the names of the two columns."
        )
