"""The public list of venues as a file: venue, lon, lat, columns of the hierarchy with any names, category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from geodp.errors import DataError, UsageError
from geodp.tables import reader
from geodp.tables.usual_columns import named_columns
from geodp.tables.visits.hierarchy import AreaFile
from geodp.tables.visits.histories import Names, Venues

_NOT_LEVELS = {"venue", "lon", "lat", "category", "name", "venue_id", "category_id"}
PARTS = ("venue", "lon", "lat", "category")
"""What a venue list holds besides its levels."""


def read_venues(
    path: Path,
    levels: Sequence[str] | None = None,
    finest: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    areas: Sequence[AreaFile] = (),
    leave_out: bool = False,
) -> Venues:
    """Read a venue list (csv or Parquet).

    Parameters
    ----------
    path
        The file: columns venue, lon, lat; optionally category and the columns of the hierarchy.
    levels
        Columns of the hierarchy, coarsest first. Default: `finest` and every column that it is nested in.
    finest
        The finest level to use. Default: the column with the most units.
    columns
        Names of the columns venue, lon, lat and category where they differ.
    areas
        Files of areas that give the levels instead of columns, coarsest first.
    leave_out
        Leave out venues that have no unit of a level that is used, instead of refusing the list.
    """
    found = reader.column_names(path)
    named = {"category": "category"} | named_columns(
        path, PARTS[:3], found, columns, name_it="call it '{}' in the list (or say --venue-column {}=NAME)"
    )
    reader.require_columns(path, {f"{part} of the venue list": named[part] for part in PARTS[:3]}, found)
    free = [name for name in found if name not in _NOT_LEVELS | set(named.values())]
    wanted = [] if areas else list(levels) if levels is not None else free
    if finest is not None and finest not in wanted and not areas:
        wanted.append(finest)
    reader.require_columns(path, {f"level {name}": name for name in wanted}, found)
    more = [named["category"]] if named["category"] in found else []
    places = [named["lon"], named["lat"]]
    parts = list(reader.batches(path, places, [named["venue"], *wanted, *more]))
    if not sum(len(part[places[0]]) for part in parts):
        raise DataError(f"{path.name}: has column names but no venues")
    text = {name: _words(parts, name) for name in [named["venue"], *wanted, *more]}
    lon, lat = (np.concatenate([part[name] for part in parts]) for name in places)
    if any(value in ("", None) for value in text[named["venue"]]):
        raise DataError(f"{path.name}: some venues have no name")
    _look_swapped(path, lon, lat)
    try:
        listed = Venues(text[named["venue"]], lon, lat, {}, text.get(named["category"]))
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None
    if areas:
        known = area_levels(areas, finest)
        values = {area.level: area.units(lon, lat, gaps=leave_out) for area in known}
        return _with_levels(listed, values, [area.level for area in known], leave_out=leave_out)
    values = {name: text[name] for name in wanted}
    usable = _complete(values, [finest]) if leave_out and finest is not None else np.ones(listed.size, dtype=np.bool_)
    chain = wanted if levels is not None else nested_columns({k: v[usable] for k, v in values.items()}, finest)
    return _with_levels(listed, {name: text[name] for name in chain}, chain, leave_out=leave_out)


def area_levels(areas: Sequence[AreaFile], finest: str | None) -> list[AreaFile]:
    """Return the levels down to the finest that is used."""
    names = [area.level for area in areas]
    if len(set(names)) != len(names):
        raise UsageError(f"--areas: a level is named twice: {', '.join(names)}")
    if finest is None:
        return list(areas)
    if finest not in names:
        raise UsageError(f"no areas are given for level '{finest}'. Levels with areas: {', '.join(names)}.")
    return list(areas[: names.index(finest) + 1])


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


def _with_levels(listed: Venues, values: dict[str, Names], chain: list[str], *, leave_out: bool) -> Venues:
    venues = Venues(listed.name, listed.lon, listed.lat, {name: values[name] for name in chain}, listed.category)
    if not leave_out or not chain:
        return venues
    complete = _complete(values, chain)
    if not complete.any():
        raise DataError(f"no venue has a unit of every level: {', '.join(chain)}")
    return venues.chosen(complete)


def _complete(values: dict[str, Names], chain: Sequence[str]) -> np.ndarray:
    """Tell which venues have a unit of every level of the chain."""
    return np.asarray(np.all([[value is not None for value in values[name]] for name in chain], axis=0))


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
