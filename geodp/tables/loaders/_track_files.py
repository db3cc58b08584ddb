"""Folders of track files: which belong to a format, each checked by itself, so that an error names the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import DataError
from geodp.storage.files import is_regular
from geodp.tables.loaders import TRAJECTORIES, Dropped
from geodp.tables.loaders._checks import Checker

if TYPE_CHECKING:
    import pyarrow as pa

EMPTY = "files without a row"
TRACK = "track"
"""Column of the number of a track: two that share a name and stand side by side are two all the same."""


def files_of(path: Path, pattern: str, what: str, *, total: bool) -> list[Path]:
    """Return the file itself, or the files of a folder (and those below it) whose names fit a pattern, in order."""
    if is_regular(path):
        return [path]
    if not path.is_dir():
        raise DataError(f"{path}: no such file or folder")
    found = sorted(file for file in path.rglob(pattern) if file.is_file())
    if not found and not total:
        raise DataError(f"{path}: holds no file called {pattern} ({what})")
    return found


def each_file(
    files: list[Path],
    dropped: Dropped,
    read: Callable[[Path, Dropped], Iterator[dict[str, Any]]],
    check: Callable[[Path, Dropped], Checker],
) -> Iterator[pa.RecordBatch]:
    """Yield the checked rows of all files, with a number per track; empty ones are counted when there are others.

    A reader of a single file may number its tracks itself (`TRACK`); otherwise the number is that of the file.
    """
    for number, file in enumerate(files):
        if len(files) > 1 and file.stat().st_size == 0:
            dropped.note(EMPTY, 1)
            continue
        own = Dropped(lenient=dropped.lenient)
        try:
            yield from check(file, own).checked(_numbered(part, number) for part in read(file, own))
        except DataError:
            if not dropped.lenient:  # a file is often one person's: what is wrong with it is nobody else's business
                raise
        dropped.rows += own.rows
        for reason, count in own.reasons.items():
            dropped.drop(reason, count)
        for what, count in own.notes.items():
            dropped.note(what, count)


def _numbered(part: dict[str, Any], number: int) -> pa.RecordBatch:
    import pyarrow as pa

    track = part.get(TRACK, pa.repeat(pa.scalar(number, pa.int64()), len(part["user"])))
    return pa.record_batch([*(part[name] for name in TRAJECTORIES), track], [*TRAJECTORIES, TRACK])


def constant(value: str, count: int) -> Any:
    """Return a column that says the same in every row."""
    import pyarrow as pa

    return pa.repeat(pa.scalar(value, pa.string()), count)
