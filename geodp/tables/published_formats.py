"""Which published format a file is of, by its name, its columns or what is in its folder, and the loader for it."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any, cast

from geodp.errors import UsageError
from geodp.registry import find, plugins
from geodp.storage.files import is_regular
from geodp.tables.loaders import Loader

_LOOKED_AT = 1000  # files of a folder, to tell its format


def loaders() -> dict[str, type[Loader]]:
    """Return the loaders by kind."""
    return cast("dict[str, type[Loader]]", plugins("loader"))


def loader_for(path: Path, kind: str | None, fields: dict[str, Any], *, option: str = "--set") -> Loader:
    """Return the loader that is named, or the one whose files are called like this one (`option` states its fields)."""
    if kind is None:
        fitting = list(_list_fitting(path, fields))
        if len(fitting) != 1:
            known = ", ".join(loaders())
            why = "more than one format has files of this name" if fitting else "its name tells no format"
            raise UsageError(f"{path.name}: {why}. Name one with --format: {', '.join(fitting) or known}.")
        kind = fitting[0]
    cls = cast("type[Loader]", find(kind, "loader"))
    return cls.from_options(fields, f"{option} for {kind}")


def _list_fitting(path: Path, fields: dict[str, Any]) -> Iterator[str]:
    """Yield the formats whose files are called so; tables with named columns last, if nothing else fits.

    A folder whose own name says nothing is known by the names of the files in it.
    """
    fitting = _find_formats_by_name(path.name)
    special = [kind for kind in fitting if not kind.endswith("_table")] or find_formats_by_columns(path)
    if not special and path.is_dir():
        inside = islice((file.name for file in path.rglob("*") if file.is_file()), _LOOKED_AT)
        found = dict.fromkeys(kind for name in inside for kind in _find_formats_by_name(name))
        special = [kind for kind in found if not kind.endswith("_table")]
    if special:
        yield from special
    elif is_regular(path):
        yield from [kind for kind in fitting if _has_columns(path, kind, fields)] or fitting
    else:
        yield from fitting[-1:]  # whichever: it will say that there is no such file


def find_formats_by_columns(path: Path) -> list[str]:
    """Return the published formats that a csv or Parquet file is of by its columns, whatever it is called."""
    from geodp.tables.formats import column_names, is_table

    if not (is_regular(path) and path.stat().st_size and is_table(path)):
        return []
    found = set(column_names(path))
    return [kind for kind, cls in loaders().items() if cls.told_by and cls.told_by <= found]


def _find_formats_by_name(name: str) -> list[str]:
    """Return the formats whose files are called so."""
    return [
        kind
        for kind, cls in loaders().items()
        if any(fnmatch(name.lower(), part.strip().lower()) for part in cls.files.split(","))
    ]


def _has_columns(path: Path, kind: str, fields: dict[str, Any]) -> bool:
    """Tell whether a table may be of this format: visits have a column of venues, trajectories one of trajectories."""
    from geodp.tables.formats import column_names

    cls = loaders()[kind]
    if not set(fields) <= set(cls.model_fields):
        return False
    key = "venue_column" if cls.loads == "visits" else "trajectory_column"
    if key in fields:
        return True
    return cls.model_fields[key].default in column_names(path)
