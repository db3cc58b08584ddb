"""The public list of venues as a file: venue, lon, lat, columns of the hierarchy with any names, category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import DataError, UsageError
from geodp.tables.formats import GEOMETRY, column_names
from geodp.tables.reader import PLACE, open_table, words_of
from geodp.tables.row_checks import check_batches
from geodp.tables.visits.hierarchy import AreaFile
from geodp.tables.visits.histories import Names, Venues

_NOT_LEVELS = {"venue", "lon", "lat", "category", "name", "venue_id", "category_id", GEOMETRY}
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
    places: bool = True,
) -> Venues:
    """Read a venue list.

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
    places
        Whether the list must say where its venues are.
    """
    found, stated = column_names(path), dict(columns or {})
    named = {stated.get(part, part) for part in PARTS}
    wanted = [] if areas else list(levels) if levels is not None else [n for n in found if n not in _NOT_LEVELS | named]
    if finest is not None and finest not in wanted and not areas:
        wanted.append(finest)
    table = open_table(
        path,
        [*PARTS, *(_level(name) for name in wanted)],
        called=stated | {_level(name): name for name in wanted},
        optional=("category",) if places or {*PLACE} & {*stated} else ("category", *PLACE),
        gaps=("category", *(_level(name) for name in wanted)),
        name_it=lambda part: f"call it '{part}' in the list (or say --venue-column {part}=NAME)",
    )
    parts = list(check_batches(table, what="venues"))
    text = {part: _names(parts, part) for part in table.called if part not in PLACE}
    nowhere = np.full(len(text["venue"]), np.nan)
    lon, lat = (np.concatenate([part[name] for part in parts]) if table.placed else nowhere for name in PLACE)
    try:
        listed = Venues(text["venue"], lon, lat, {}, text.get("category"))
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None
    if areas:
        known = area_levels(areas, finest)
        values = {area.level: area.units(lon, lat, gaps=leave_out) for area in known}
        return _with_levels(listed, values, [area.level for area in known], leave_out=leave_out)
    values = {name: text[_level(name)] for name in wanted}
    usable = _complete(values, [finest]) if leave_out and finest is not None else np.ones(listed.size, dtype=np.bool_)
    chain = wanted if levels is not None else find_nested_columns({k: v[usable] for k, v in values.items()}, finest)
    return _with_levels(listed, values, chain, leave_out=leave_out)


def read_venue_list(path: Path, called: Mapping[str, str] | None = None) -> Venues:
    """Read a list of venues whose visitors are counted: names, and places where it has them."""
    return read_venues(path, (), columns=called, places=False)


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


def find_nested_columns(columns: dict[str, Names], finest: str | None) -> list[str]:
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
    return venues.select(complete)


def _complete(values: dict[str, Names], chain: Sequence[str]) -> np.ndarray:
    """Tell which venues have a unit of every level of the chain."""
    return np.asarray(np.all([[value is not None for value in values[name]] for name in chain], axis=0))


def _level(name: str) -> str:
    """Return what a column of the hierarchy is called among the parts of the list: it may have any name."""
    return f"level {name}"


def _names(parts: list[dict[str, Any]], part: str) -> Names:
    return np.array(words_of(parts, part).to_pylist(), dtype=np.object_)
